//! Converts comments of the schema to documentation comments without warnings or doc tests.
//!
//! A comment in a schema is not written for rustdoc: `[ubyte]` is not a link, `<id>` is not HTML,
//! and an indented example is not a doc test. Markdown is kept: links, lists, code and emphasis.

/// Lines of code between two fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence<'c> {
    /// The characters before the code, three or more of one kind.
    run: &'c str,
    /// The text behind them, such as the language of the code.
    info: &'c str,
}

impl<'c> Fence<'c> {
    /// The fence that begins a line.
    fn of(content: &'c str) -> Option<Self> {
        let first = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = content.trim_start_matches(first);
        let run = &content[..content.len() - info.len()];
        let is_fence = run.len() >= 3 && !(first == '`' && info.contains('`'));
        is_fence.then_some(Self { run, info })
    }

    fn is_closed_by(self, content: &str) -> bool {
        Fence::of(content.trim_end())
            .is_some_and(|end| end.run.starts_with(self.run) && end.info.is_empty())
    }
}

/// A comment as Markdown that has been read up to a line.
#[derive(Default)]
struct Comment<'c> {
    out: Vec<String>,
    /// The column of the text of the current list item, which a line may continue.
    item: Option<usize>,
    /// The open fence, and whether it is written. One inside a list or a quote becomes text.
    fence: Option<(Fence<'c>, bool)>,
}

impl<'c> Comment<'c> {
    fn line(&mut self, line: &'c str) {
        let content = line.trim_start();
        match self.fence {
            Some((fence, true)) if fence.is_closed_by(content) => {
                self.fence = None;
                self.out.push(fence.run.to_owned());
            }
            Some((_, true)) => self.out.push(line.to_owned()),
            _ => self.text(line, content),
        }
    }

    /// A line outside of written fences.
    fn text(&mut self, line: &str, content: &'c str) {
        let (markers, rest) = containers(content);
        let opened = match self.fence {
            None => Fence::of(rest),
            Some(_) => None,
        };
        if let (Some(fence), true) = (opened, markers.is_empty()) {
            // A block without a language would be Rust.
            self.fence = Some((fence, true));
            self.item = None;
            self.out.push(format!("{}text", fence.run));
            return;
        }
        match self.fence {
            Some((fence, _)) if fence.is_closed_by(rest) => self.fence = None,
            Some(_) => {}
            None => self.fence = opened.map(|fence| (fence, false)),
        }
        if content.is_empty() {
            self.item = None;
            self.out.push(String::new());
            return;
        }
        let indent = (line.len() - content.len()).min(self.item.unwrap_or(0));
        let indent = match marker(content) {
            Some(width) => {
                self.item = Some(indent + width);
                indent
            }
            None if content.starts_with('>') => {
                self.item = None;
                0
            }
            None => self.item.unwrap_or(0),
        };
        let rest = match Fence::of(rest) {
            Some(_) => without_fence(rest),
            None => escaped(rest),
        };
        self.out
            .push(format!("{}{markers}{rest}", " ".repeat(indent)));
    }
}

/// The lines of a comment, to be written after `/// `.
pub(crate) fn lines(written: &[String]) -> Vec<String> {
    let written = written.iter().flat_map(|line| line.split(['\n', '\r']));
    let cleaned: Vec<String> = written.map(cleaned).collect();
    let mut comment = Comment::default();
    for line in &cleaned {
        comment.line(line);
    }
    let Comment { mut out, fence, .. } = comment;
    if let Some((fence, true)) = fence {
        out.push(fence.run.to_owned());
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    let blank = out.iter().take_while(|line| line.is_empty()).count();
    out.drain(..blank);
    out
}

/// The markers of list items and quotes that begin a line, each with one blank, and the rest. More
/// blanks would begin a block of code.
fn containers(content: &str) -> (String, &str) {
    let (mut markers, mut rest) = (String::new(), content);
    loop {
        let width = match marker(rest) {
            Some(width) => width,
            None if rest.starts_with('>') => 1,
            None => return (markers, rest),
        };
        let (marker, behind) = rest.split_at(width);
        markers.push_str(marker.trim_end());
        markers.push(' ');
        rest = behind.trim_start();
    }
}

/// The text with a backslash before each character of a fence.
fn without_fence(content: &str) -> String {
    let mut out = String::new();
    for character in content.chars() {
        if matches!(character, '`' | '~') {
            out.push('\\');
        }
        out.push(character);
    }
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
    let mut fenced: Option<Fence<'_>> = None;
    let mut code = false;
    for line in lines {
        match fenced {
            Some(fence) if fence.is_closed_by(line) => fenced = None,
            Some(_) => {}
            // A word inside backticks may reach this test too: the lint is then allowed without
            // need.
            None => {
                fenced = Fence::of(line);
                code |= fenced.is_none() && line.split_whitespace().any(is_like_code);
            }
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
    fn no_block_of_code_is_a_test() {
        check("~~~\nx\n```\n~~~\nend", "~~~text\nx\n```\n~~~\nend");
        check("````\n```\n````", "````text\n```\n````");
        check("```rust\nx\n```", "```text\nx\n```");
        check("``` should_panic\nx", "```text\nx\n```");
        check(
            "- ```\n  x\n  ```\n- b",
            "- \\`\\`\\`\n  x\n  \\`\\`\\`\n- b",
        );
        check("> ~~~\n> x\n> ~~~", "> \\~\\~\\~\n> x\n> \\~\\~\\~");
        check("-     x\n>      y", "- x\n> y");
        check("> -     x", "> - x");
        // Text after a list of wide markers is no block of code.
        check("100. a\n> # b\nc", "100. a\n> # b\nc");
        check("100. a\n```\nb\n```\nc", "100. a\n```text\nb\n```\nc");
        check("```a``` b", "```a``` b");
    }

    #[test]
    fn characters_that_reorder_text_are_dropped() {
        check("a\u{202E}b", "ab");
    }
}
