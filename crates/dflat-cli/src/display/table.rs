//! Columns for people.

use std::io::{self, IsTerminal, Write};

use anstream::ColorChoice;
use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The number of rows from which the widths of columns are computed. Later rows may be wider.
const ROWS_MEASURED: usize = 1000;

/// The narrowest column to which the width of a terminal cuts.
const WIDTH_MIN: usize = 8;

/// The side of its column at which a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Right,
}

/// Writes rows below a line of names. Keeps at most 1,000 rows in memory.
pub(crate) struct TableWriter<W: Write> {
    out: W,
    names: Vec<String>,
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
    /// Known after the first rows.
    widths: Option<Vec<usize>>,
    /// The width of the terminal, to which rows are cut.
    limit: Option<usize>,
    has_colours: bool,
}

impl<W: Write> TableWriter<W> {
    /// A table. Values must not control a terminal. If standard output is a terminal, rows are cut
    /// to its width.
    pub(crate) fn new(out: W, columns: Vec<(String, Alignment)>) -> Self {
        let (names, alignments) = columns.into_iter().unzip();
        Self {
            out,
            names,
            alignments,
            rows: Vec::new(),
            widths: None,
            limit: terminal_width(),
            has_colours: has_colours(),
        }
    }

    pub(crate) fn row(&mut self, row: Vec<String>, style: Style) -> io::Result<()> {
        match self.widths.is_some() {
            true => {
                self.widen(&row);
                self.write(&row, Some(style))
            }
            false => {
                self.rows.push(row);
                match self.rows.len() >= ROWS_MEASURED {
                    true => self.measure(),
                    false => Ok(()),
                }
            }
        }
    }

    /// Writes the rows so far. Later rows may be wider.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.widths.is_none() {
            self.measure()?;
        }
        self.out.flush()
    }

    /// Writes the rest. Without a row, nothing is written.
    pub(crate) fn end(mut self) -> io::Result<()> {
        if self.widths.is_none() && !self.rows.is_empty() {
            self.measure()?;
        }
        self.out.flush()
    }

    /// Computes the widths, and writes the rows so far.
    fn measure(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.width()).collect();
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        if let Some(limit) = self.limit {
            narrow(&mut widths, limit);
        }
        self.widths = Some(widths);
        let names = std::mem::take(&mut self.names);
        self.write(&names, Some(Style::new().bold()))?;
        rows.iter().try_for_each(|row| self.write(row, None))
    }

    /// Makes columns wider for a later row, as far as the terminal has room: the rows that were
    /// measured may have been short, or none.
    fn widen(&mut self, row: &[String]) {
        let (Some(limit), Some(widths)) = (self.limit, &mut self.widths) else {
            return;
        };
        let mut is_wider = false;
        for (width, cell) in widths.iter_mut().zip(row) {
            is_wider |= cell.width() > *width;
            *width = (*width).max(cell.width());
        }
        if is_wider {
            narrow(widths, limit);
        }
    }

    fn write(&mut self, row: &[String], style: Option<Style>) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let style = style.filter(|_| self.has_colours).unwrap_or_default();
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let width = widths.get(column).copied().unwrap_or_default();
            let cut = match self.limit {
                Some(_) => cut(cell, width),
                None => cell.clone(),
            };
            let padding = " ".repeat(width.saturating_sub(cut.width()));
            match self.alignments.get(column) {
                Some(Alignment::Right) => line.extend([padding, cut]),
                _ => line.extend([cut, padding]),
            }
        }
        writeln!(self.out, "{style}{}{style:#}", line.trim_end())
    }
}

/// Makes the widest columns narrower until a row fits.
fn narrow(widths: &mut [usize], limit: usize) {
    let separators = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + separators > limit {
        match widths.iter_mut().max() {
            Some(widest) if *widest > WIDTH_MIN => *widest -= 1,
            _ => return,
        }
    }
}

/// The beginning of a text that is too wide, with a mark at its end. A character that consists of
/// several code points stays whole.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut taken = 1;
    for character in text.graphemes(true) {
        taken += character.width();
        if taken > width {
            break;
        }
        out.push_str(character);
    }
    out.push('…');
    out
}

/// Whether standard output shows colours.
pub(crate) fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// The width of the terminal; `None` if standard output is no terminal.
fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let (width, _) = terminal_size::terminal_size_of(&stdout)?;
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::{Alignment, Style, TableWriter, cut, narrow};

    fn written(rows: &[[&str; 2]], limit: Option<usize>) -> String {
        let mut out = Vec::new();
        let columns = vec![
            ("word".to_owned(), Alignment::Left),
            ("n".to_owned(), Alignment::Right),
        ];
        let mut table = TableWriter::new(&mut out, columns);
        table.limit = limit;
        for row in rows {
            table
                .row(row.map(str::to_owned).to_vec(), Style::new())
                .unwrap();
        }
        table.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_as_wide_as_they_look() {
        let rows = [["日本", "1"], ["e\u{301}", "20"], ["", "3"]];
        assert_eq!(
            written(&rows, None),
            "word   n\n日本   1\ne\u{301}     20\n       3\n"
        );
        let family = "👨\u{200d}👩\u{200d}👧";
        let rows = [[family, "1"], ["❤\u{fe0f}", "2"], ["می\u{200c}خواهم", "3"]];
        let expected = [
            "word     n".to_owned(),
            format!("{family}       1"),
            "❤\u{fe0f}       2".to_owned(),
            "می\u{200c}خواهم  3\n".to_owned(),
        ];
        assert_eq!(written(&rows, None), expected.join("\n"));
        assert_eq!(written(&[], None), "");
    }

    #[test]
    fn later_rows_are_cut_only_to_the_width_of_the_terminal() {
        let mut out = Vec::new();
        let columns = ["mark", "word"].map(|name| (name.to_owned(), Alignment::Left));
        let mut table = TableWriter::new(&mut out, columns.to_vec());
        table.limit = Some(20);
        table.flush().unwrap();
        for word in ["buy milk", "a very long text about milk"] {
            let row = ["+", word].map(str::to_owned);
            table.row(row.to_vec(), Style::new()).unwrap();
        }
        table.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "mark  word\n+     buy milk\n+     a very long t…\n");
    }

    #[test]
    fn rows_are_cut_to_the_width_of_a_terminal() {
        let rows = [["a long text with 日本 in it", "1"]];
        assert_eq!(written(&rows, Some(14)), "word         n\na long tex…  1\n");
        assert_eq!(cut("日本語", 4), "日…");
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(
            cut(&format!("{family}{family}abc"), 6),
            format!("{family}{family}a…")
        );
        assert_eq!(
            cut(&format!("{family}{family}abc"), 4),
            format!("{family}…")
        );
        assert_eq!(cut("❤\u{fe0f}❤\u{fe0f}ab", 5), "❤\u{fe0f}❤\u{fe0f}…");
        assert_eq!(cut("می\u{200c}خواهم", 4), "می\u{200c}خ…");
        let mut widths = [4, 100, 9];
        narrow(&mut widths, 10);
        assert_eq!(widths, [4, 8, 8]);
    }
}
