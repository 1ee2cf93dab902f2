//! Strings and numbers.

use super::{Lexer, TokenKind, is_name};
use crate::diagnostic::{Diagnostic, code};
use crate::schema::Span;

impl Lexer<'_> {
    pub(super) fn string(&mut self, quote: char) {
        let start = self.offset;
        let body = &self.text[start + 1..];
        let mut escaped = false;
        let end = body.find(|c: char| {
            let ends = c == '\n' || (c == quote && !escaped);
            escaped = c == '\\' && !escaped;
            ends
        });
        let length = end.unwrap_or(body.len());
        self.offset = start + 1 + length;
        if !body[length..].starts_with(quote) {
            let span = self.span(start);
            self.report(
                Diagnostic::error(code::UNTERMINATED_STRING, "this string has no end")
                    .at(&span, "no closing quote on this line")
                    .help(format!("end it with `{quote}`")),
            );
            self.push(TokenKind::Invalid, start);
            return;
        }
        self.offset += 1;
        match unescaped(&body[..length]) {
            Ok(text) => self.push(TokenKind::Text(text), start),
            Err(mistake) => {
                let range = start + 1 + mistake.start..start + 1 + mistake.end;
                let span = Span {
                    file: self.file,
                    range,
                };
                self.report(
                    Diagnostic::error(code::MALFORMED_STRING, mistake.message)
                        .at(&span, mistake.label)
                        .help("write `\\\\` for a backslash, `\\xHH` or `\\uHHHH` for other characters"),
                );
                self.push(TokenKind::Invalid, start);
            }
        }
    }

    pub(super) fn number(&mut self) {
        let start = self.offset;
        let length = number_length(&self.text[start..]);
        let digits = &self.text[start..start + length];
        self.offset += length;
        if let Some(kind) = number_value(digits) {
            self.push(kind, start);
            return;
        }
        let span = self.span(start);
        let mut diagnostic =
            Diagnostic::error(code::MALFORMED_NUMBER, "this number cannot be read").at(&span, "");
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            diagnostic =
                diagnostic.help("no type of the schema language can hold a number this large");
        } else if digits
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .starts_with(|c: char| is_name(c) && !"eExX".contains(c))
        {
            diagnostic = diagnostic.help("names begin with a letter or `_`");
        }
        self.report(diagnostic);
        self.push(TokenKind::Invalid, start);
    }
}

/// The length of a number, including letters that do not belong to it.
fn number_length(text: &str) -> usize {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let exponents = if hexadecimal { ['p', 'P'] } else { ['e', 'E'] };
    let mut previous = ' ';
    text.find(|c: char| {
        let belongs =
            is_name(c) || c == '.' || (matches!(c, '+' | '-') && exponents.contains(&previous));
        previous = c;
        !belongs
    })
    .unwrap_or(text.len())
}

fn number_value(digits: &str) -> Option<TokenKind> {
    if digits.contains('_') {
        return None;
    }
    if let Some(hexadecimal) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        if hexadecimal.contains(['.', 'p', 'P']) {
            return hexadecimal_float(hexadecimal).map(TokenKind::Float);
        }
        let plain = hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = plain.then(|| i128::from_str_radix(hexadecimal, 16).ok())??;
        return Some(TokenKind::Integer(value));
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse().ok().map(TokenKind::Integer);
    }
    // Rust's parser also accepts names such as `infinity`, but these do not begin with a digit.
    let value: f64 = digits.parse().ok()?;
    value.is_finite().then_some(TokenKind::Float(value))
}

/// Reads `1.8p3` (the part after `0x`), which is 1.5 times 2 to the third.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().ok()?;
    // Sixteen digits are more than the precision of a double.
    if whole.len() + fraction.len() > 16 || whole.len() + fraction.len() == 0 {
        return None;
    }
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let value = digits as f64 * 2f64.powi(exponent.checked_sub(shift)?);
    value.is_finite().then_some(value)
}

/// An error in a string, with its range in bytes of the string's body.
struct StringError {
    start: usize,
    end: usize,
    message: String,
    label: &'static str,
}

/// Replaces the escapes of a string's body.
fn unescaped(body: &str) -> Result<String, StringError> {
    let mut bytes: Vec<u8> = Vec::with_capacity(body.len());
    let mut offset = 0;
    while let Some(character) = body[offset..].chars().next() {
        let end = offset + character.len_utf8();
        if character == '\\' {
            let escape = &body[offset..];
            let Some(length) = push_escaped(&mut bytes, escape) else {
                let escaped = escape[1..].chars().next();
                let end = offset + 1 + escaped.map_or(0, char::len_utf8);
                let shown = escaped.map_or_else(String::new, |c| c.escape_debug().to_string());
                let message = format!("unknown or incomplete escape `\\{shown}`");
                return Err(StringError {
                    start: offset,
                    end,
                    message,
                    label: "",
                });
            };
            offset += length;
            continue;
        }
        if character.is_control() && !matches!(character, '\t' | '\r') {
            let message = format!(
                "unexpected character `{}` in a string",
                character.escape_debug()
            );
            return Err(StringError {
                start: offset,
                end,
                message,
                label: "write it as an escape",
            });
        }
        bytes.extend_from_slice(&body.as_bytes()[offset..end]);
        offset = end;
    }
    String::from_utf8(bytes).map_err(|_| StringError {
        start: 0,
        end: body.len(),
        message: "the escapes of this string do not form UTF-8".to_owned(),
        label: "",
    })
}

/// Decodes the escape at the beginning of `text`, and returns its length.
fn push_escaped(bytes: &mut Vec<u8>, text: &str) -> Option<usize> {
    let byte = match text.as_bytes().get(1)? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'x' => {
            bytes.push(u8::try_from(hexadecimal(text, 2..4)?).ok()?);
            return Some(4);
        }
        b'u' => return push_unicode(bytes, text),
        byte @ (b'"' | b'\'' | b'\\' | b'/') => *byte,
        _ => return None,
    };
    bytes.push(byte);
    Some(2)
}

fn push_unicode(bytes: &mut Vec<u8>, text: &str) -> Option<usize> {
    let unit = hexadecimal(text, 2..6)?;
    let (code, length) = if (0xD800..0xDC00).contains(&unit) {
        let low = text[6..]
            .starts_with("\\u")
            .then(|| hexadecimal(text, 8..12))??;
        let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        (0x10000 + ((unit - 0xD800) << 10) + low, 12)
    } else {
        (unit, 6)
    };
    let character = char::from_u32(code)?;
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(length)
}

fn hexadecimal(text: &str, range: std::ops::Range<usize>) -> Option<u32> {
    let digits = text.get(range)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok())?
}
