//! Numbers and strings, in Rust's forms.

use super::characters::{Characters, begins_word, continues_word};
use super::{Literal, Parsed, Span, SyntaxError};

/// Reads a number: decimal with an optional fraction and exponent, or after `0x`, `0o` or `0b`;
/// with `_` between digits, and the name of a type at its end.
pub(super) fn number(characters: &mut Characters<'_>) -> Parsed<Literal> {
    let start = characters.at();
    let rest = characters.rest();
    let radix = match rest.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if radix != 10 {
        characters.advance(2);
    }
    let whole = characters.take_while(|c| c == '_' || c.is_digit(radix));
    if radix == 10 && is_float(characters.rest()) {
        return float(characters, start, rest);
    }
    let digits = whole.replace('_', "");
    let suffix = suffix(characters);
    if radix == 10 && matches!(suffix.as_deref(), Some("f32" | "f64")) {
        return Ok(Literal::Float(digits.parse().unwrap_or(f64::NAN), suffix));
    }
    if digits.is_empty() {
        let message = "a number has digits after its prefix";
        return Err(SyntaxError::new(message, characters.span_from(start)));
    }
    match i128::from_str_radix(&digits, radix) {
        Ok(value) => Ok(Literal::Integer(value, suffix)),
        Err(_) => Err(SyntaxError::new(
            "the number is too large",
            characters.span_from(start),
        )),
    }
}

/// Whether a fraction or an exponent follows the digits.
fn is_float(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        Some('.') => !chars.next().is_some_and(|c| c == '.' || begins_word(c)),
        Some('e' | 'E') => {
            let rest = chars.as_str();
            rest.trim_start_matches(['+', '-', '_'])
                .starts_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    }
}

fn float(characters: &mut Characters<'_>, start: usize, text: &str) -> Parsed<Literal> {
    let is_digit = |c: char| c == '_' || c.is_ascii_digit();
    if characters.peek() == Some('.') {
        characters.advance(1);
        characters.take_while(is_digit);
    }
    if matches!(characters.peek(), Some('e' | 'E')) && is_float(characters.rest()) {
        characters.advance(1);
        if matches!(characters.peek(), Some('+' | '-')) {
            characters.advance(1);
        }
        characters.take_while(is_digit);
    }
    let digits = text.get(..characters.at() - start).unwrap_or_default();
    let digits = digits.replace('_', "");
    let suffix = suffix(characters);
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Literal::Float(value, suffix)),
        Ok(_) => Err(SyntaxError::new(
            "the number is too large",
            characters.span_from(start),
        )),
        Err(_) => Err(SyntaxError::new(
            "malformed number",
            characters.span_from(start),
        )),
    }
}

fn suffix(characters: &mut Characters<'_>) -> Option<String> {
    let suffix = characters.take_while(continues_word);
    (!suffix.is_empty()).then(|| suffix.to_owned())
}

/// Reads a string in quotes, with Rust's escapes.
pub(super) fn quoted(characters: &mut Characters<'_>) -> Parsed<Literal> {
    let start = characters.at();
    characters.advance(1);
    let mut text = String::new();
    loop {
        text.push_str(characters.take_while(|c| c != '"' && c != '\\'));
        match characters.peek() {
            None => return Err(no_end(start)),
            Some('"') => {
                characters.advance(1);
                return Ok(Literal::Text(text));
            }
            Some(_) => text.extend(escape(characters)?),
        }
    }
}

fn no_end(start: usize) -> Box<SyntaxError> {
    let span = Span {
        start,
        end: start + 1,
    };
    SyntaxError::new("the string has no end", span)
}

/// Reads an escape; `None` for the end of a line and the blanks after it.
fn escape(characters: &mut Characters<'_>) -> Parsed<Option<char>> {
    let start = characters.at();
    characters.advance(1);
    let Some(kind) = characters.peek() else {
        return Ok(None);
    };
    characters.advance(kind.len_utf8());
    let found = match kind {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        '\\' | '"' | '\'' => Some(kind),
        '\n' => {
            characters.take_while(char::is_whitespace);
            return Ok(None);
        }
        'x' => {
            let digits = characters.rest().get(..2).unwrap_or_default();
            characters.advance(digits.len());
            let code = u8::from_str_radix(digits, 16).ok();
            code.filter(u8::is_ascii).map(char::from)
        }
        'u' => unicode(characters),
        _ => None,
    };
    let Some(found) = found else {
        let message = "unknown escape in a string";
        let error = SyntaxError::new(message, characters.span_from(start));
        let help = r#"the escapes are `\n \r \t \0 \\ \" \'`, `\x41` and `\u{E9}`"#;
        return Err(error.with_help(help));
    };
    Ok(Some(found))
}

fn unicode(characters: &mut Characters<'_>) -> Option<char> {
    let digits = characters.rest().strip_prefix('{')?;
    // At most six digits and the underscores between them.
    let end = digits.char_indices().take(12).find(|(_, c)| *c == '}')?.0;
    let digits = digits.get(..end)?;
    characters.advance(end + 2);
    let code = u32::from_str_radix(&digits.replace('_', ""), 16).ok()?;
    char::from_u32(code)
}

/// Reads a string such as `r"a\b"` or `r#"a"b"#`.
pub(super) fn raw_quoted(characters: &mut Characters<'_>) -> Parsed<Literal> {
    let start = characters.at();
    characters.advance(1);
    let hashes = characters.take_while(|c| c == '#');
    characters.advance(1);
    let end = format!("\"{hashes}");
    let Some((text, _)) = characters.rest().split_once(&end) else {
        return Err(no_end(start));
    };
    characters.advance(text.len() + end.len());
    Ok(Literal::Text(text.to_owned()))
}
