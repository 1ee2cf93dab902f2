//! Markdown files have one title, and each code block is closed.

use crate::finding::Finding;
use crate::workspace::File;

/// Checks a Markdown file; ignores others.
pub fn check(file: &File) -> Vec<Finding> {
    if !file.has_extension("md") || file.is_test_data() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut fence: Option<(&str, usize)> = None;
    let mut titles = 0;
    for (line, number) in file.text.lines().zip(1..) {
        let text = line.trim_start();
        let marks =
            ["`", "~"].map(|mark| &text[..text.len() - text.trim_start_matches(mark).len()]);
        let mark = marks.into_iter().find(|mark| mark.len() >= 3);
        match (fence, mark) {
            (None, Some(mark)) => fence = Some((mark, number)),
            (Some((open, _)), Some(mark)) if mark.starts_with(open) && text.trim_end() == mark => {
                fence = None;
            }
            (None, None) if line.starts_with("# ") => {
                titles += 1;
                if titles > 1 {
                    let message = "a second title: a file has one";
                    findings.push(Finding::error(&file.path, number, message));
                }
            }
            _ => {}
        }
    }
    if titles == 0 {
        findings.push(Finding::error(
            &file.path,
            0,
            "no title: the first line is `# Title`",
        ));
    }
    if let Some((_, line)) = fence {
        findings.push(Finding::error(
            &file.path,
            line,
            "this code block is not closed",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::File;

    const NOWHERE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let file = File {
            path: "a.md".to_owned(),
            text: text.to_owned(),
        };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn page_needs_exactly_one_title() {
        assert_eq!(lines("# A\n\n## B\n"), NOWHERE);
        assert_eq!(lines("## B\n"), [0]);
        assert_eq!(lines("# A\n# B\n"), [2]);
        assert_eq!(lines("# A\n```sh\n# a comment\n```\n"), NOWHERE);
    }

    #[test]
    fn unclosed_code_block_is_found() {
        assert_eq!(lines("# A\n```rust\nlet a;\n"), [2]);
        assert_eq!(lines("# A\n````md\n```\n````\n"), NOWHERE);
        assert_eq!(lines("# A\n~~~\n```\n~~~\n"), NOWHERE);
    }
}
