//! Splits the text of a file into tokens.
//!
//! It never fails. Text that is not part of any token is reported and becomes
//! [`TokenKind::Invalid`], so that the parser does not report it again. The last token is always
//! [`TokenKind::End`].

mod literal;
mod token;

pub(crate) use token::{Token, TokenKind};

use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{FileId, Span};

/// The tokens of a file.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    /// The lines of `///` comments, each with the index of the token that follows.
    pub(crate) docs: Vec<(usize, String)>,
    pub(crate) diagnostics: Sink,
}

/// Splits a text into tokens.
pub(crate) fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        offset: 0,
        line_is_empty: true,
        lexed: Lexed {
            tokens: Vec::new(),
            docs: Vec::new(),
            diagnostics: Sink::default(),
        },
    };
    // A byte order mark is not part of the schema.
    lexer.offset = text.len() - text.trim_start_matches('\u{feff}').len();
    while lexer.offset < text.len() && !lexer.lexed.diagnostics.is_full() {
        lexer.step();
    }
    lexer.offset = text.len();
    lexer.push(TokenKind::End, text.len());
    lexer.lexed
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    offset: usize,
    /// Whether no token is before `offset` on its line.
    line_is_empty: bool,
    lexed: Lexed,
}

impl Lexer<'_> {
    /// Reads one token, comment or blank.
    fn step(&mut self) {
        let start = self.offset;
        let rest = &self.text[start..];
        let Some(character) = rest.chars().next() else {
            return;
        };
        match character {
            '\n' => {
                self.offset += 1;
                self.line_is_empty = true;
            }
            ' ' | '\t' | '\r' => self.offset += 1,
            '/' if rest.starts_with("//") => self.line_comment(),
            '/' if rest.starts_with("/*") => self.block_comment(),
            '"' | '\'' => self.string(character),
            '0'..='9' => self.number(),
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => self.number(),
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                self.offset += length;
                self.push(TokenKind::Name(rest[..length].to_owned()), start);
            }
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | ';' | ',' | '=' | '.' | '+' | '-' => {
                self.offset += 1;
                self.push(TokenKind::Symbol(character), start);
            }
            _ => self.unexpected(start, character),
        }
    }

    fn unexpected(&mut self, start: usize, character: char) {
        // A run of such characters is reported once.
        let rest = &self.text[start..];
        let stop = |c: char| c.is_ascii() && (is_name(c) || "{}()[]:;,=.+-/\"' \t\r\n".contains(c));
        self.offset += rest.find(stop).unwrap_or(rest.len());
        let shown = character.escape_debug();
        let mut diagnostic = Diagnostic::error(
            code::UNEXPECTED_CHARACTER,
            format!("unexpected character `{shown}`"),
        )
        .at(&self.span(start), "");
        if character.is_alphanumeric() {
            diagnostic =
                diagnostic.help("write names with the letters a-z and A-Z, digits and `_`");
        }
        self.report(diagnostic);
        self.push(TokenKind::Invalid, start);
    }

    fn line_comment(&mut self) {
        let rest = &self.text[self.offset..];
        // As in `flatc`, a carriage return alone ends a comment too.
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let comment = &rest[..length];
        self.offset += length;
        // A comment after a token on the same line would document the next declaration. A longer
        // row of slashes is a separator.
        if self.line_is_empty
            && let Some(doc) = comment.strip_prefix("///")
            && !doc.starts_with('/')
        {
            let doc = doc.strip_prefix(' ').unwrap_or(doc).trim_end();
            self.lexed
                .docs
                .push((self.lexed.tokens.len(), doc.to_owned()));
        }
    }

    fn block_comment(&mut self) {
        let start = self.offset;
        if let Some(length) = self.text[start + 2..].find("*/") {
            let end = start + 2 + length + 2;
            self.line_is_empty |= self.text[start..end].contains('\n');
            self.offset = end;
        } else {
            self.offset = start + 2;
            let span = self.span(start);
            self.report(
                Diagnostic::error(code::UNTERMINATED_COMMENT, "this comment has no end")
                    .at(&span, "it begins here")
                    .help("end it with `*/`"),
            );
            self.offset = self.text.len();
        }
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let range = start..self.offset;
        self.lexed.tokens.push(Token {
            kind,
            range,
            first_on_line: self.line_is_empty,
        });
        self.line_is_empty = false;
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.lexed.diagnostics.push(diagnostic);
    }

    /// The span from `start` to the current offset.
    fn span(&self, start: usize) -> Span {
        Span {
            file: self.file,
            range: start..self.offset,
        }
    }
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
