//! Converts comments of the schema to documentation comments without warnings or doc tests.
//!
//! A comment in a schema is not written for rustdoc: `[ubyte]` is not a link, `<id>` is not HTML,
//! and an indented example is not a doc test. Markdown is kept: links, lists, code and emphasis.

/// The lines of a comment, to be written after `/// `.
pub(crate) fn lines(written: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut fenced = false;
    // The column of the text of the current list item, which a line may continue.
    let mut item: Option<usize> = None;
    for line in written.iter().flat_map(|line| line.split(['\n', '\r'])) {
        let line = cleaned(line);
        let content = line.trim_start();
        if content.starts_with("```") {
            let fence = content.trim_end_matches(|c: char| c != '`');
            let opens_plain = !fenced && content.trim() == "```";
            fenced = !fenced;
            out.push(if opens_plain {
                format!("{fence}text")
            } else {
                content.to_owned()
            });
        } else if fenced {
            out.push(line);
        } else if content.is_empty() {
            item = None;
            out.push(String::new());
        } else if let Some(width) = marker(content) {
            let indent = (line.len() - content.len()).min(item.unwrap_or(0));
            item = Some(indent + width);
            out.push(format!("{}{}", " ".repeat(indent), escaped(content)));
        } else {
            let quoted = content.starts_with('>');
            let indent = if quoted { 0 } else { item.unwrap_or(0) };
            out.push(format!("{}{}", " ".repeat(indent), escaped(content)));
        }
    }
    if fenced {
        out.push("```".to_owned());
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    let blank = out.iter().take_while(|line| line.is_empty()).count();
    out.drain(..blank);
    out
}

/// Removes tabs, control characters, trailing blanks, and characters that reorder text, which the
/// Rust compiler refuses in comments.
fn cleaned(line: &str) -> String {
    let reorders = |c| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let line = line.replace('\t', "    ");
    let kept: String = line
        .chars()
        .filter(|c| !c.is_control() && !reorders(*c))
        .collect();
    kept.trim_end().to_owned()
}

/// The width of a list item's marker with its blank.
fn marker(content: &str) -> Option<usize> {
    let digits = content.chars().take_while(char::is_ascii_digit).count();
    let rest = &content[digits..];
    let width = match digits {
        0 if rest.starts_with(['-', '*', '+']) => 1,
        1..=9 if rest.starts_with(['.', ')']) => digits + 1,
        _ => return None,
    };
    content[width..].starts_with(' ').then_some(width + 1)
}

/// Adds a backslash before brackets that do not begin a link, and before characters that would
/// begin HTML.
fn escaped(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    let mut code = false;
    for (position, character) in content.char_indices() {
        let rest = &content[position..];
        let special = match character {
            '`' => {
                code = !code && rest[1..].contains('`');
                false
            }
            '[' => !rest
                .split_once(']')
                .is_some_and(|(_, after)| after.starts_with('(')),
            '<' => true,
            _ => false,
        };
        if special && !code && !out.ends_with('\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// The lints by which clippy would change the lines of a comment.
pub(crate) fn lints(lines: &[String]) -> Vec<&'static str> {
    let mut lints = Vec::new();
    let mut fenced = false;
    let mut code = false;
    for line in lines {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // A word inside backticks may reach this test too: the lint is then allowed without
            // need.
            code |= line.split_whitespace().any(is_like_code);
        }
    }
    if code {
        lints.push("clippy::doc_markdown");
    }
    let first = lines.iter().take_while(|line| !line.is_empty());
    if first.map(|line| line.len() + 1).sum::<usize>() > PARAGRAPH_MAX {
        lints.push("clippy::too_long_first_doc_paragraph");
    }
    let quoted = |line: &String| {
        ["['", "[\"", "\\['", "\\[\""]
            .iter()
            .any(|q| line.contains(q))
    };
    if lines.iter().any(quoted) {
        lints.push("clippy::doc_link_with_quotes");
    }
    lints
}

/// The characters of a first paragraph above which its lint is allowed; clippy's limit is 200.
const PARAGRAPH_MAX: usize = 150;

/// Whether a word looks like a name in code.
fn is_like_code(word: &str) -> bool {
    let mut letters = word.chars().zip(word.chars().skip(1));
    word.contains('_')
        || word.contains("::")
        || letters.any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let written: Vec<String> = written.lines().map(str::to_owned).collect();
        assert_eq!(lines(&written).join("\n"), expected);
    }

    #[test]
    fn markdown_is_kept_and_other_markup_is_escaped() {
        check(
            "See [the page](https://a.b).",
            "See [the page](https://a.b).",
        );
        check(
            "A `[ubyte]` is not [ubyte].",
            "A `[ubyte]` is not \\[ubyte].",
        );
        check("At most <n> items.", "At most \\<n> items.");
        check("    let x = 1;", "let x = 1;");
        check("```\nx\n```", "```text\nx\n```");
        check("```", "```text\n```");
    }

    #[test]
    fn continued_list_items_are_indented() {
        check("- one\ncontinued\n- two", "- one\n  continued\n- two");
        check(
            "1. one\n      continued\n\nEnd.",
            "1. one\n   continued\n\nEnd.",
        );
    }

    #[test]
    fn characters_that_reorder_text_are_dropped() {
        check("a\u{202E}b", "ab");
    }
}
