//! Checks Rust files: their length, lines and characters, and marks of unfinished work.

use crate::finding::Finding;
use crate::rust::{Kind, Token, tokens};
use crate::tidy::columns;
use crate::workspace::File;

/// A file with more lines fails the check.
pub const LINES_MAX: usize = 1000;

/// A file with more lines gets a warning, because it may have a second subject.
pub const LINES_GOOD: usize = 500;

/// Checks a Rust file that is written by hand; ignores others.
pub fn check(file: &File) -> Vec<Finding> {
    if !file.has_extension("rs") || file.is_test_data() || file.is_generated() {
        return Vec::new();
    }
    let tokens = tokens(&file.text);
    let mut findings = columns::check(file, &tokens);
    findings.extend(length(file));
    findings.extend(tokens.iter().filter_map(|token| marker(file, token)));
    findings.extend(ignored_tests(file, &tokens));
    if !file.is_test() {
        findings.extend(
            tokens
                .iter()
                .filter_map(|token| foreign_character(file, token)),
        );
    }
    findings
}

fn length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    let message = format!("{lines} lines; move a second subject to a file of its own");
    if lines > LINES_MAX {
        Some(Finding::error(&file.path, 0, message))
    } else if lines > LINES_GOOD {
        Some(Finding::warning(&file.path, 0, message))
    } else {
        None
    }
}

fn marker(file: &File, token: &Token<'_>) -> Option<Finding> {
    if token.kind != Kind::Comment {
        return None;
    }
    let (line, _) = token
        .text
        .lines()
        .zip(token.line..)
        .find_map(|(text, line)| {
            let marked = ["TODO", "FIXME", "XXX"]
                .iter()
                .any(|mark| has_word(text, mark));
            (marked && !names_issue(text)).then_some((line, text))
        })?;
    let message = "left to do without an issue: name one, as in `TODO(#12)`";
    Some(Finding::error(&file.path, line, message))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|part| part == word)
}

fn names_issue(text: &str) -> bool {
    text.split('#')
        .skip(1)
        .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn ignored_tests(file: &File, tokens: &[Token<'_>]) -> Vec<Finding> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    let starts = |at: usize| is(at, "#") && is(at + 1, "[") && is(at + 2, "ignore");
    let message = "a test that does not run: mend it or delete it";
    (0..tokens.len())
        .filter(|&at| starts(at))
        .map(|at| Finding::error(&file.path, tokens[at].line, message))
        .collect()
}

fn foreign_character(file: &File, token: &Token<'_>) -> Option<Finding> {
    let c = token.text.chars().find(|c| !c.is_ascii())?;
    if token.kind == Kind::Text {
        return None;
    }
    let message = format!("`{c}` is not ASCII; outside of strings and tests, code is");
    Some(Finding::error(&file.path, token.line, message))
}

#[cfg(test)]
mod tests {
    use super::{LINES_GOOD, LINES_MAX, check};
    use crate::workspace::File;

    const NOWHERE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn long_files_are_found() {
        let file = |count: usize| File {
            path: "a.rs".to_owned(),
            text: "\n".repeat(count),
        };
        assert!(check(&file(LINES_GOOD)).is_empty());
        assert!(!check(&file(LINES_MAX))[0].is_error());
        assert!(check(&file(LINES_MAX + 1))[0].is_error());
    }

    #[test]
    fn long_lines_are_found_unless_a_text_makes_them_so() {
        let comment = format!("a\n// {}", "x".repeat(98));
        let text = format!("a(\"{}\", b)", "x".repeat(120));
        assert_eq!(lines("a.rs", &comment), [2]);
        assert_eq!(lines("a.rs", &text), NOWHERE);
        assert_eq!(lines("a.md", &comment), NOWHERE);
        assert_eq!(lines("crates/a/tests/data/x.rs", &comment), NOWHERE);
        assert_eq!(lines("a.rs", &format!("// @generated\n{comment}")), NOWHERE);
    }

    #[test]
    fn markers_need_an_issue() {
        assert_eq!(lines("a.rs", "// TODO: later"), [1]);
        assert_eq!(lines("a.rs", "/* a\nFIXME */"), [2]);
        assert_eq!(
            lines("a.rs", "// TODO(#12): later\nlet TODO = \"TODO\"; // TODOS"),
            NOWHERE
        );
    }

    #[test]
    fn ignored_tests_are_found() {
        assert_eq!(lines("a.rs", "\n#[ignore = \"slow\"]\nfn f() {}"), [2]);
        assert_eq!(lines("a.rs", "// #[ignore]\nlet ignore = 1;"), NOWHERE);
    }

    #[test]
    fn foreign_characters_stay_in_strings_and_tests() {
        assert_eq!(lines("a.rs", "// \u{e9}"), [1]);
        assert_eq!(lines("a.rs", "let a = \"\u{e9}\";"), NOWHERE);
        assert_eq!(lines("crates/a/tests/it/main.rs", "// \u{e9}"), NOWHERE);
    }
}
