//! Splits Rust text into tokens.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or a keyword.
    Word,
    /// A lifetime or a label.
    Lifetime,
    /// A number.
    Number,
    /// A string, byte string, character or byte.
    Text,
    /// A comment, documentation included.
    Comment,
    /// One character of punctuation, or `::`.
    Mark,
}

/// A piece of Rust text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Its first byte's offset.
    pub start: usize,
    /// The line that it starts on, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// The offset behind its last byte.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether the token is this word or mark.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Mark) && self.text == text
    }
}

/// Splits `source` into tokens; white space is left out, comments are not.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut offset, mut line) = (0, 1);
    while let Some(rest) = source.get(offset..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = next(rest);
        let text = &rest[..length];
        if let Some(kind) = kind {
            found.push(Token {
                kind,
                text,
                start: offset,
                line,
            });
        }
        line += text.matches('\n').count();
        offset += length;
    }
    found
}

/// The kind and length of the first token of `rest`, which is not empty; no kind for white space.
fn next(rest: &str) -> (Option<Kind>, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if rest.starts_with("//") {
        return (Some(Kind::Comment), rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Some(Kind::Comment), block_comment(rest));
    }
    if let Some(length) = text_literal(rest) {
        return (Some(Kind::Text), length);
    }
    if first == '\'' {
        return (Some(Kind::Lifetime), 1 + word(&rest[1..]));
    }
    if first.is_ascii_digit() {
        return (Some(Kind::Number), word(rest));
    }
    if let Some(raw) = rest.strip_prefix("r#") {
        return (Some(Kind::Word), 2 + word(raw));
    }
    match word(rest) {
        0 if rest.starts_with("::") => (Some(Kind::Mark), 2),
        0 => (Some(Kind::Mark), first.len_utf8()),
        length => (Some(Kind::Word), length),
    }
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len())
}

/// The length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut offset = 0;
    while let Some(tail) = rest.get(offset..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            offset += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            offset += 2;
            if depth == 0 {
                return offset;
            }
        } else {
            offset += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of the string or character literal that `rest` starts with, if it does.
fn text_literal(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        rest.strip_prefix(prefix)
            .is_some_and(|tail| tail.starts_with(['"', '\'', '#']))
    })?;
    let tail = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = tail.len() - tail.trim_start_matches('#').len();
        let body = tail[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", &tail[..hashes]);
        let length = body.find(&end).map_or(body.len(), |at| at + end.len());
        return Some(prefix.len() + hashes + 1 + length);
    }
    let quote = tail.chars().next()?;
    if quote == '#' {
        return None;
    }
    if quote == '\'' && prefix != "b" && !is_character(tail) {
        return None;
    }
    Some(prefix.len() + quoted(tail, quote))
}

/// Whether the text after a single quote is a character rather than a lifetime.
fn is_character(tail: &str) -> bool {
    let mut characters = tail.chars().skip(1);
    match characters.next() {
        Some('\\') => true,
        Some(_) => characters.next() == Some('\''),
        None => false,
    }
}

fn quoted(tail: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in tail.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    tail.len()
}

#[cfg(test)]
mod tests {
    use super::{Kind, tokens};

    fn check(source: &str, expected: &[(Kind, &str)]) {
        let found: Vec<_> = tokens(source).iter().map(|t| (t.kind, t.text)).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn comments_strings_and_words_are_distinguished() {
        check(
            "use a::b; // use c",
            &[
                (Kind::Word, "use"),
                (Kind::Word, "a"),
                (Kind::Mark, "::"),
                (Kind::Word, "b"),
                (Kind::Mark, ";"),
                (Kind::Comment, "// use c"),
            ],
        );
        check(
            "/* a /* b */ c */x",
            &[(Kind::Comment, "/* a /* b */ c */"), (Kind::Word, "x")],
        );
        check(
            r#""a\"b" 'c' 'd b'\'' b"e""#,
            &[
                (Kind::Text, r#""a\"b""#),
                (Kind::Text, "'c'"),
                (Kind::Lifetime, "'d"),
                (Kind::Text, r"b'\''"),
                (Kind::Text, r#"b"e""#),
            ],
        );
        check(
            r###"r#"a"b"# r#type"###,
            &[(Kind::Text, r###"r#"a"b"#"###), (Kind::Word, "r#type")],
        );
    }

    #[test]
    fn lines_are_counted_inside_texts() {
        let lines: Vec<_> = tokens("a \"\n\n\" b\nc").iter().map(|t| t.line).collect();
        assert_eq!(lines, [1, 1, 3, 4]);
    }

    #[test]
    fn unfinished_text_ends_with_the_source() {
        for source in [
            "\"a",
            "'",
            "'\\",
            "r#\"a",
            "/* a",
            "b'",
            "r##",
            "\u{e9}'\u{e9}",
        ] {
            let length: usize = tokens(source).iter().map(|t| t.text.len()).sum();
            assert!(length <= source.len());
        }
    }
}
