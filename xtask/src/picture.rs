//! `cargo xtask picture`: the terminal of the example `inbox` as `docs/inbox.svg`.
//!
//! The example writes a frame with the escape sequences that a terminal gets. This module obeys the
//! few sequences that the example uses, refuses all others, and draws the cells as SVG. The same
//! frame gives the same bytes.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, workspace};

/// The help of the task.
pub const HELP: &str = "\
Runs the example `inbox` and draws its terminal as docs/inbox.svg, the picture in README.md.

Usage: cargo xtask picture [--check]

Options:
  --check  write nothing, and fail if the file would change
";

/// The file of the picture.
pub const PATH: &str = "docs/inbox.svg";

/// The width and the height of a cell, and the margin around all cells.
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 16.0;
/// The height of the bar above the cells.
const BAR: f32 = 32.0;

/// The colours for a light and for a dark page: those of the program that shows the file.
const STYLE: &str = "\
  <style>
    .page { fill: #ffffff; stroke: #d1d9e0 }
    .ink { fill: #1f2328 }
    .faint { fill: #818b98 }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }
    .bold { font-weight: bold }
    .reverse { fill: #ffffff }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #3d444d }
      .ink { fill: #e6edf3 }
      .reverse { fill: #0d1117 }
    }
  </style>
";

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    is_bold: bool,
    is_reverse: bool,
}

/// The cells of a terminal, row by row.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cells {
    rows: Vec<Vec<(char, Look)>>,
}

impl Cells {
    /// Obeys the text and the escape sequences of a frame.
    ///
    /// # Errors
    /// An error that names the sequence, if it is not one of those that the example writes.
    pub fn of(frame: &str) -> Result<Self> {
        let mut cells = Self::default();
        let (mut row, mut column, mut look) = (0, 0, Look::default());
        let mut rest = frame;
        while let Some(character) = rest.chars().next() {
            if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
                let end = sequence.find(|c: char| c.is_ascii_alphabetic());
                let end = end.ok_or("an escape sequence has no end")?;
                match (&sequence[..end], &sequence[end..=end]) {
                    ("2", "J") => cells.rows.clear(),
                    (position, "H") => (row, column) = position_of(position)?,
                    ("0", "m") => look = Look::default(),
                    ("1", "m") => look.is_bold = true,
                    ("7", "m") => look.is_reverse = true,
                    (arguments, name) => {
                        return Err(format!("unknown escape sequence `[{arguments}{name}`").into());
                    }
                }
                rest = &sequence[end + 1..];
            } else {
                cells.put(row, column, (character, look));
                column += 1;
                rest = &rest[character.len_utf8()..];
            }
        }
        Ok(cells)
    }

    fn put(&mut self, row: usize, column: usize, cell: (char, Look)) {
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        let cells = &mut self.rows[row];
        if cells.len() <= column {
            cells.resize(column + 1, (' ', Look::default()));
        }
        cells[column] = cell;
    }

    /// The picture. It has no script, no font and no link.
    pub fn svg(&self, title: &str) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = across(columns) + MARGIN;
        let height = down(self.rows.len()) + MARGIN;
        let (inner_width, inner_height) = (width - 1.0, height - 1.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n  <title>{}</title>\n{STYLE}  \
             <rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"{inner_width:.0}\" \
             height=\"{inner_height:.0}\" rx=\"8\"/>\n",
            escaped(title)
        );
        for dot in [18, 36, 54] {
            let _ = writeln!(
                svg,
                "  <circle class=\"faint\" cx=\"{dot}\" cy=\"18\" r=\"5\"/>"
            );
        }
        let _ = writeln!(
            svg,
            "  <text class=\"faint\" x=\"74\" y=\"23\">{}</text>",
            escaped(title)
        );
        for (number, row) in self.rows.iter().enumerate() {
            let mut column = 0;
            for run in row.chunk_by(|a, b| a.1 == b.1) {
                draw(&mut svg, run, (number, column));
                column += run.len();
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Draws cells of one look. Each word is stretched to its cells, because fonts differ in width.
fn draw(svg: &mut String, run: &[(char, Look)], (row, column): (usize, usize)) {
    let look = run[0].1;
    if look.is_reverse {
        let (x, y) = (across(column), down(row));
        let (width, height) = (across(column + run.len()) - x, CELL.1);
        let _ = writeln!(
            svg,
            "  <rect class=\"ink\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"/>"
        );
    }
    let bold = if look.is_bold { " bold" } else { "" };
    let ink = if look.is_reverse { "reverse" } else { "ink" };
    let mut start = 0;
    for word in run.split(|cell| cell.0 == ' ') {
        if !word.is_empty() {
            let text: String = word.iter().map(|cell| cell.0).collect();
            let x = across(column + start);
            let length = across(word.len()) - across(0);
            let _ = writeln!(
                svg,
                "  <text class=\"{ink}{bold}\" x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" \
                 lengthAdjust=\"spacingAndGlyphs\">{}</text>",
                down(row) + 13.5,
                escaped(&text)
            );
        }
        start += word.len() + 1;
    }
}

/// The row and the column, from 0, of `row;column` from 1.
fn position_of(text: &str) -> Result<(usize, usize)> {
    let (row, column) = text.split_once(';').ok_or("a position has two numbers")?;
    let (row, column) = (row.parse::<usize>()?, column.parse::<usize>()?);
    Ok((row.saturating_sub(1), column.saturating_sub(1)))
}

fn across(columns: usize) -> f32 {
    MARGIN + CELL.0 * f32::from(u16::try_from(columns).unwrap_or(u16::MAX))
}

fn down(rows: usize) -> f32 {
    MARGIN + BAR + CELL.1 * f32::from(u16::try_from(rows).unwrap_or(u16::MAX))
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// Builds the example, and returns its path. With the features of the whole workspace, nothing is
/// compiled again after a build of the workspace.
fn example(root: &Path) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    let cargo = cargo.args(["build", "--quiet", "--workspace", "--bin", "inbox"]);
    if !cargo.current_dir(root).status()?.success() {
        return Err("the example `inbox` cannot be built".into());
    }
    let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let target = PathBuf::from(workspace::text(&metadata["target_directory"]));
    Ok(target.join("debug/inbox"))
}

/// Runs the example and writes the picture; with `is_checked`, compares it.
///
/// # Errors
/// An error if the example fails, writes an unknown sequence, or the file differs.
pub fn run(root: &Path, is_checked: bool) -> Result<()> {
    let output = Command::new(example(root)?).arg("--frame").output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let svg = Cells::of(&String::from_utf8(output.stdout)?)?.svg("cargo run -p inbox");
    let path = root.join(PATH);
    if !is_checked {
        return Ok(fs::write(path, svg)?);
    }
    if fs::read_to_string(path)? == svg {
        Ok(())
    } else {
        Err(format!("{PATH} differs from the example; `cargo xtask picture` draws it").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_becomes_cells() {
        let cells = Cells::of("\u{1b}[2J\u{1b}[2;3H\u{1b}[7ma<\u{1b}[0m b").unwrap();
        let line: String = cells.rows[1].iter().map(|cell| cell.0).collect();
        assert_eq!((cells.rows[0].len(), line.as_str()), (0, "  a< b"));
        assert!(cells.rows[1][3].1.is_reverse && !cells.rows[1][5].1.is_reverse);
        let svg = cells.svg("a & b");
        assert!(svg.contains(">a&lt;</text>") && svg.contains("<title>a &amp; b</title>"));
    }

    #[test]
    fn unknown_sequence_is_refused() {
        let error = Cells::of("\u{1b}[31m").unwrap_err().to_string();
        assert_eq!(error, "unknown escape sequence `[31m`");
        assert!(Cells::of("\u{1b}[3").is_err());
    }

    #[test]
    fn picture_of_the_readme_is_closed_and_has_both_lists() {
        let svg = fs::read_to_string(workspace::root().join(PATH)).unwrap();
        for element in ["svg", "title", "style", "text"] {
            let opened = svg.matches(&format!("<{element}")).count();
            let closed = svg.matches(&format!("</{element}>")).count();
            assert!(opened == closed && opened > 0, "{element}");
        }
        for text in [">Newest<", ">Starred<", "prefers-color-scheme: dark"] {
            assert!(svg.contains(text), "{text}");
        }
        let readme = fs::read_to_string(workspace::root().join("README.md")).unwrap();
        assert!(readme.contains(&format!("]({PATH})")));
    }
}
