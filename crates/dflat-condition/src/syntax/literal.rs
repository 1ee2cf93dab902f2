//! Numbers and strings, in Rust's forms.

use super::lexer::{Lexer, begins_word, continues_word};
use super::{Literal, Parsed, Span, SyntaxError};

/// Reads a number: decimal with an optional fraction and exponent, or after `0x`, `0o` or `0b`;
/// with `_` between digits, and the name of a type at its end.
pub(super) fn number(lexer: &mut Lexer<'_>) -> Parsed<Literal> {
    let start = lexer.at();
    let rest = lexer.rest();
    let radix = match rest.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if radix != 10 {
        lexer.advance(2);
    }
    let whole = lexer.take_while(|c| c == '_' || c.is_digit(radix));
    if radix == 10 && is_float(lexer.rest()) {
        return float(lexer, start, rest);
    }
    let digits = whole.replace('_', "");
    let suffix = suffix(lexer);
    if radix == 10 && matches!(suffix.as_deref(), Some("f32" | "f64")) {
        return Ok(Literal::Float(digits.parse().unwrap_or(f64::NAN), suffix));
    }
    if digits.is_empty() {
        let message = "a number has digits after its prefix";
        return Err(SyntaxError::new(message, lexer.span_from(start)));
    }
    match i128::from_str_radix(&digits, radix) {
        Ok(value) => Ok(Literal::Integer(value, suffix)),
        Err(_) => Err(SyntaxError::new(
            "the number is too large",
            lexer.span_from(start),
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

fn float(lexer: &mut Lexer<'_>, start: usize, text: &str) -> Parsed<Literal> {
    let is_digit = |c: char| c == '_' || c.is_ascii_digit();
    if lexer.peek() == Some('.') {
        lexer.advance(1);
        lexer.take_while(is_digit);
    }
    if matches!(lexer.peek(), Some('e' | 'E')) && is_float(lexer.rest()) {
        lexer.advance(1);
        if matches!(lexer.peek(), Some('+' | '-')) {
            lexer.advance(1);
        }
        lexer.take_while(is_digit);
    }
    let digits = text.get(..lexer.at() - start).unwrap_or_default();
    let digits = digits.replace('_', "");
    let suffix = suffix(lexer);
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Literal::Float(value, suffix)),
        Ok(_) => Err(SyntaxError::new(
            "the number is too large",
            lexer.span_from(start),
        )),
        Err(_) => Err(SyntaxError::new("malformed number", lexer.span_from(start))),
    }
}

fn suffix(lexer: &mut Lexer<'_>) -> Option<String> {
    let suffix = lexer.take_while(continues_word);
    (!suffix.is_empty()).then(|| suffix.to_owned())
}

/// Reads a string in quotes, with Rust's escapes.
pub(super) fn quoted(lexer: &mut Lexer<'_>) -> Parsed<Literal> {
    let start = lexer.at();
    lexer.advance(1);
    let mut text = String::new();
    loop {
        text.push_str(lexer.take_while(|c| c != '"' && c != '\\'));
        match lexer.peek() {
            None => return Err(no_end(start)),
            Some('"') => {
                lexer.advance(1);
                return Ok(Literal::Text(text));
            }
            Some(_) => text.extend(escape(lexer)?),
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
fn escape(lexer: &mut Lexer<'_>) -> Parsed<Option<char>> {
    let start = lexer.at();
    lexer.advance(1);
    let Some(kind) = lexer.peek() else {
        return Ok(None);
    };
    lexer.advance(kind.len_utf8());
    let found = match kind {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        '\\' | '"' | '\'' => Some(kind),
        '\n' => {
            lexer.take_while(char::is_whitespace);
            return Ok(None);
        }
        'x' => {
            let digits = lexer.rest().get(..2).unwrap_or_default();
            lexer.advance(digits.len());
            let code = u8::from_str_radix(digits, 16).ok();
            code.filter(u8::is_ascii).map(char::from)
        }
        'u' => unicode(lexer),
        _ => None,
    };
    let Some(found) = found else {
        let message = "unknown escape in a string";
        let error = SyntaxError::new(message, lexer.span_from(start));
        let help = r#"the escapes are `\n \r \t \0 \\ \" \'`, `\x41` and `\u{E9}`"#;
        return Err(error.with_help(help));
    };
    Ok(Some(found))
}

fn unicode(lexer: &mut Lexer<'_>) -> Option<char> {
    let digits = lexer.rest().strip_prefix('{')?;
    // At most six digits and the underscores between them.
    let end = digits.char_indices().take(12).find(|(_, c)| *c == '}')?.0;
    let digits = digits.get(..end)?;
    lexer.advance(end + 2);
    let code = u32::from_str_radix(&digits.replace('_', ""), 16).ok()?;
    char::from_u32(code)
}

/// Reads a string such as `r"a\b"` or `r#"a"b"#`.
pub(super) fn raw_quoted(lexer: &mut Lexer<'_>) -> Parsed<Literal> {
    let start = lexer.at();
    lexer.advance(1);
    let hashes = lexer.take_while(|c| c == '#');
    lexer.advance(1);
    let end = format!("\"{hashes}");
    let Some((text, _)) = lexer.rest().split_once(&end) else {
        return Err(no_end(start));
    };
    lexer.advance(text.len() + end.len());
    Ok(Literal::Text(text.to_owned()))
}
