//! Text to tokens.

use super::characters::{Characters, begins_word, continues_word};
use super::literal::{number, quoted, raw_quoted};
use super::{Delimiter, Parsed, Placeholder, SyntaxError, Token, TokenKind};

/// Splits text into tokens.
///
/// # Errors
/// A character that begins no token, a string without its end, or a malformed number.
pub fn tokens(text: &str) -> Parsed<Vec<Token>> {
    let mut lexer = Lexer {
        characters: Characters::new(text),
        placeholders: 0,
    };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

/// The characters that become tokens.
struct Lexer<'t> {
    characters: Characters<'t>,
    /// The largest number of a placeholder.
    placeholders: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Parsed<Option<Token>> {
        self.characters.take_while(char::is_whitespace);
        let start = self.characters.at();
        let Some(first) = self.characters.peek() else {
            return Ok(None);
        };
        let kind = match first {
            '"' => TokenKind::Literal(quoted(&mut self.characters)?),
            'r' if self.begins_raw_string() => {
                TokenKind::Literal(raw_quoted(&mut self.characters)?)
            }
            'r' if self.begins_raw_word() => {
                self.characters.advance(2);
                TokenKind::Word(self.characters.take_while(continues_word).to_owned())
            }
            '0'..='9' => TokenKind::Literal(number(&mut self.characters)?),
            '?' => TokenKind::Placeholder(self.placeholder()?),
            ':' if self.begins_named_placeholder() => {
                self.characters.advance(1);
                let name = self.characters.take_while(continues_word);
                TokenKind::Placeholder(Placeholder::Name(name.to_owned()))
            }
            c if begins_word(c) => {
                TokenKind::Word(self.characters.take_while(continues_word).to_owned())
            }
            _ => self.punctuation(first)?,
        };
        let span = self.characters.span_from(start);
        Ok(Some(Token { kind, span }))
    }

    fn begins_raw_string(&self) -> bool {
        let after = self.characters.rest().trim_start_matches('r');
        let hashes = after.trim_start_matches('#');
        self.characters.rest().len() - after.len() == 1 && hashes.starts_with('"')
    }

    fn begins_raw_word(&self) -> bool {
        let after = self.characters.rest().strip_prefix("r#");
        after.is_some_and(|after| after.starts_with(begins_word))
    }

    fn begins_named_placeholder(&self) -> bool {
        let is_separator = self.characters.before().ends_with(':');
        let after = self.characters.rest().strip_prefix(':');
        !is_separator && after.is_some_and(|after| after.starts_with(begins_word))
    }

    fn placeholder(&mut self) -> Parsed<Placeholder> {
        let start = self.characters.at();
        self.characters.advance(1);
        let digits = self.characters.take_while(|c| c.is_ascii_digit());
        let number = match digits {
            "" => Some(self.placeholders + 1),
            digits => digits.parse().ok(),
        };
        match number {
            Some(number) if (1..=u16::MAX.into()).contains(&number) => {
                self.placeholders = self.placeholders.max(number);
                Ok(Placeholder::Number(number))
            }
            _ => Err(SyntaxError::new(
                "the number of a placeholder is from 1 to 65535",
                self.characters.span_from(start),
            )),
        }
    }

    fn punctuation(&mut self, first: char) -> Parsed<TokenKind> {
        let start = self.characters.at();
        self.characters.advance(first.len_utf8());
        let is_mark = |c: char| "|&=!<>+-*/%.,:;".contains(c);
        Ok(match first {
            '(' => TokenKind::Open(Delimiter::Parenthesis),
            ')' => TokenKind::Close(Delimiter::Parenthesis),
            '[' => TokenKind::Open(Delimiter::Bracket),
            ']' => TokenKind::Close(Delimiter::Bracket),
            c if is_mark(c) => TokenKind::Mark(c, self.characters.peek().is_some_and(is_mark)),
            '\'' => {
                let error = SyntaxError::new(
                    "a string is in double quotes",
                    self.characters.span_from(start),
                );
                return Err(error);
            }
            '{' | '}' => {
                let message = "braces are for Rust values in the macro `query!`";
                let error = SyntaxError::new(message, self.characters.span_from(start));
                return Err(error.with_help("write a literal, or a placeholder such as `?1`"));
            }
            other => {
                let message = format!("unexpected character `{}`", other.escape_debug());
                return Err(SyntaxError::new(message, self.characters.span_from(start)));
            }
        })
    }
}
