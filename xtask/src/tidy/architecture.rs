//! Reads the parts of `ARCHITECTURE.md` that are data: fenced blocks and tables.

/// The path of the document.
pub const PATH: &str = "ARCHITECTURE.md";

/// The lines, with their numbers, of the first fenced block whose language is `language`.
pub fn block<'a>(text: &'a str, language: &str) -> Option<Vec<(usize, &'a str)>> {
    let mut lines = text.lines().zip(1..).map(|(line, number)| (number, line));
    let opening = format!("```{language}");
    lines.find(|(_, line)| line.trim_end() == opening)?;
    Some(
        lines
            .take_while(|(_, line)| !line.starts_with("```"))
            .filter(|(_, line)| !line.trim().is_empty())
            .collect(),
    )
}

/// The first cells, with their lines, of the tables under the heading `heading`.
pub fn table<'a>(text: &'a str, heading: &str) -> Vec<(usize, &'a str)> {
    let title = |line: &'a str| line.trim_start_matches('#').trim();
    text.lines()
        .zip(1..)
        .skip_while(|(line, _)| !(line.starts_with('#') && title(line) == heading))
        .skip(1)
        .take_while(|(line, _)| !line.starts_with('#'))
        .filter_map(|(line, number)| {
            let cell = line.strip_prefix('|')?.split('|').next()?.trim();
            let name = cell.strip_prefix('`')?.strip_suffix('`')?;
            Some((number, name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{block, table};

    const TEXT: &str = "# T\n```floors\na: b\n\nc: d\n```\n## Dependencies\n\n| Crate | Why |\n\
                        |---|---|\n| `x` | y |\n## Other\n| `z` | |\n";

    #[test]
    fn blocks_and_tables_are_found() {
        assert_eq!(block(TEXT, "floors"), Some(vec![(3, "a: b"), (5, "c: d")]));
        assert_eq!(block(TEXT, "unsafe"), None);
        assert_eq!(table(TEXT, "Dependencies"), [(11, "x")]);
    }
}
