//! Finds sentences that begin with a pronoun where a noun is clearer, as in "What a write costs is
//! ..".

use crate::finding::Finding;
use crate::rust::{Kind, tokens};
use crate::workspace::File;

/// Words that may begin only questions.
const OPENINGS: [&str; 3] = ["What ", "Who ", "That which "];

/// Checks the comments of a Rust file, or the text of a Markdown file.
pub fn check(file: &File) -> Option<Finding> {
    let lines = if file.is_test_data() || file.is_generated() {
        return None;
    } else if file.has_extension("rs") {
        comments(&file.text)
    } else if file.has_extension("md") {
        file.text.lines().zip(1..).collect()
    } else {
        return None;
    };
    let found = openings(&lines);
    let first = *found.first()?;
    let all: Vec<_> = found.iter().map(ToString::to_string).collect();
    let message = format!(
        "a sentence begins with `What`, `Who` or `That which`: name the thing (lines {})",
        all.join(", ")
    );
    Some(Finding::error(&file.path, first, message))
}

/// The lines of the comments, without their marks. An empty line separates blocks.
fn comments(source: &str) -> Vec<(&str, usize)> {
    let mut lines: Vec<(&str, usize)> = Vec::new();
    for token in tokens(source) {
        if token.kind != Kind::Comment {
            continue;
        }
        if lines.last().is_some_and(|&(_, last)| last + 1 < token.line) {
            lines.push(("", token.line - 1));
        }
        for (line, number) in token.text.lines().zip(token.line..) {
            let text = line.trim_start().trim_start_matches(['/', '!', '*']);
            lines.push((text, number));
        }
    }
    lines
}

/// The numbers of the lines on which a sentence begins with such a word.
fn openings(lines: &[(&str, usize)]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut fence = false;
    // Whether a sentence is not finished, and the line of an opening that may be a question's.
    let (mut inside, mut begun) = (false, None);
    for &(line, number) in lines {
        let text = line.trim();
        let is_fence = text.starts_with("```") || text.starts_with("~~~");
        fence ^= is_fence;
        if fence || is_fence || text.is_empty() || text.starts_with(['#', '|']) {
            found.extend(begun.take());
            inside = false;
            continue;
        }
        let item = item(text);
        inside &= item.is_none();
        let text = item.unwrap_or(text);
        for sentence in sentences(text) {
            if !inside {
                found.extend(begun.take());
                let opens = OPENINGS.iter().any(|opening| sentence.starts_with(opening));
                begun = opens.then_some(number);
            }
            inside = !sentence.trim_end().ends_with(['.', '!', '?']);
            if sentence.trim_end().ends_with('?') {
                begun = None;
            }
        }
    }
    found.extend(begun);
    found
}

/// The text of a list's item.
fn item(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits
        .strip_prefix(". ")
        .filter(|_| digits.len() < text.len());
    numbered
        .or_else(|| text.strip_prefix("- "))
        .or_else(|| text.strip_prefix("* "))
        .map(|item| item.trim_start_matches(['*', ' ']))
}

/// The sentences of a line; each but the last has its end.
fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ') {
        let ends = text[..at]
            .trim_end_matches(['*', ')', '"'])
            .ends_with(['.', '!', '?']);
        if ends && !text[..at].ends_with("..") {
            parts.push(text[start..at].trim_start());
            start = at + 1;
        }
    }
    parts.push(text[start..].trim_start());
    parts
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::finding::Finding;
    use crate::workspace::File;

    fn first(path: &str, text: &str) -> Option<(usize, bool)> {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&file).map(|finding: Finding| (finding.line, finding.message.contains(", ")))
    }

    #[test]
    fn sentences_that_begin_with_what_or_who_are_found() {
        for (text, line) in [
            ("# A\nWhat is it.", 2),
            ("A.\nB. Who calls waits.", 2),
            ("A\nb. That which is\nold goes.", 2),
            ("- A\n- What a write\n  costs.", 2),
            ("1. What a write costs.", 1),
            ("```sh\n# What it is.\n```\nWhat it is.", 4),
        ] {
            assert_eq!(
                first("a.md", text).map(|(line, _)| line),
                Some(line),
                "{text}"
            );
        }
        let code = "let a = \"What a\";\n/// A\n/// b. What c does.\nlet b; // Who calls.";
        assert_eq!(first("a.rs", code).map(|(line, _)| line), Some(3));
        let separate = "let a; // The first\n\n// What b is.";
        assert_eq!(first("a.rs", separate).map(|(line, _)| line), Some(3));
    }

    #[test]
    fn questions_headings_code_and_words_inside_sentences_are_allowed() {
        for text in [
            "# What a write costs",
            "What is it? It is\nWhat it is.",
            "What is\nit? This.",
            "It is\nWhat it is.",
            "| What | Who calls |",
            "Whatever it is. Whose it is. A .. What.",
            "```\nWhat it is.\n```",
        ] {
            assert_eq!(first("a.md", text), None, "{text}");
        }
        assert_eq!(first("a.rs", "let a = \"What it is\";"), None);
        assert_eq!(first("crates/a/tests/data/a.rs", "// What it is."), None);
    }
}
