//! Diagnostics as text, in the style of rustc.

mod row;

use std::ops::Range;

use self::row::{Row, Tint};
use super::{Diagnostic, Severity};
use crate::schema::{FileId, Span};
use crate::source::Sources;

/// Whether a rendered diagnostic has escape sequences for colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// Text with ANSI escape sequences.
    Coloured,
}

/// The limit on the bytes of a quoted line. Of a longer line only the position is printed.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The limit on the columns of a quoted line. A longer line is cut.
const COLUMNS_MAX: usize = 140;

/// The columns before a label that a cut line keeps.
const COLUMNS_BEFORE: usize = 20;

/// A label on one line of a file.
struct Mark<'a> {
    /// The line, from 1.
    line: usize,
    /// The range in the bytes of the line.
    range: Range<usize>,
    text: &'a str,
    tint: Tint,
}

impl Diagnostic {
    /// Writes the diagnostic with the lines that its labels point at, without a final newline.
    #[must_use]
    pub fn render(&self, sources: &Sources, style: Style) -> String {
        let mut title = Row::default();
        let level = format!("{}[{}]", self.severity.name(), self.code.name);
        title.push(&level, self.tint());
        title.push(&format!(": {}", self.message), Tint::Bold);
        let mut rows = vec![title];
        let last = self.labels().map(|label| position(sources, &label.span).0);
        let gutter = last.max().unwrap_or(1).to_string().len();
        for (position, file) in self.files().into_iter().enumerate() {
            if position > 0 {
                rows.push(Row::gutter("", gutter));
            }
            let arrow = if position == 0 { "-->" } else { ":::" };
            self.quote(sources, file, (gutter, arrow), &mut rows);
        }
        let notes = self.notes.iter().map(|note| ("note", note));
        let notes: Vec<_> = notes
            .chain(self.help.iter().map(|help| ("help", help)))
            .collect();
        if !notes.is_empty() {
            rows.push(Row::gutter("", gutter));
        }
        for (name, text) in notes {
            for (position, line) in text.lines().enumerate() {
                let mut row = Row::default();
                row.push(&" ".repeat(gutter + 1), Tint::None);
                if position == 0 {
                    row.push("= ", Tint::Place);
                    row.push(name, Tint::Bold);
                    row.push(&format!(": {line}"), Tint::None);
                } else {
                    let indent = " ".repeat("= ".len() + name.len() + ": ".len());
                    row.push(&format!("{indent}{line}"), Tint::None);
                }
                rows.push(row);
            }
        }
        let rows: Vec<String> = rows.iter().map(|row| row.text(style)).collect();
        rows.join("\n")
    }

    const fn tint(&self) -> Tint {
        match self.severity {
            Severity::Error => Tint::Error,
            Severity::Warning => Tint::Warning,
            Severity::Note => Tint::Note,
        }
    }

    /// The files of its labels, that of the primary label first.
    fn files(&self) -> Vec<FileId> {
        let mut files = Vec::new();
        for label in self.labels() {
            if !files.contains(&label.span.file) {
                files.push(label.span.file);
            }
        }
        files
    }

    /// Adds the position in a file and the lines that labels point at.
    fn quote(
        &self,
        sources: &Sources,
        file: FileId,
        (gutter, arrow): (usize, &str),
        rows: &mut Vec<Row>,
    ) {
        let marks = self.marks(sources, file);
        let Some(first) = self.labels().find(|label| label.span.file == file) else {
            return;
        };
        let (number, start) = position(sources, &first.span);
        let before = sources.line(file, number).get(..start).unwrap_or("");
        let column = before.chars().count() + 1;
        let mut row = Row::default();
        row.push(&format!("{}{arrow} ", " ".repeat(gutter)), Tint::Place);
        let place = format!("{}:{number}:{column}", sources.path(file));
        row.push(&place, Tint::None);
        rows.push(row);
        let line = |number| sources.line(file, number);
        if marks.iter().any(|m| line(m.line).len() > LINE_BYTES_MAX) {
            return;
        }
        rows.push(Row::gutter("", gutter));
        let mut before = None;
        for same_line in marks.chunk_by(|a, b| a.line == b.line) {
            let number = same_line[0].line;
            match before.map_or(0, |before| number - before) {
                0 | 1 => {}
                2 => rows.push(quoted(line(number - 1), number - 1, gutter, 0)),
                _ => rows.push(Row::of("...", Tint::Place)),
            }
            before = Some(number);
            quote_line(line(number), same_line, gutter, rows);
        }
    }

    /// The labels in a file, in the order of their positions.
    fn marks<'a>(&'a self, sources: &Sources, file: FileId) -> Vec<Mark<'a>> {
        let labels = self.labels().enumerate();
        let mut marks: Vec<_> = labels
            .filter(|(_, label)| label.span.file == file)
            .map(|(order, label)| {
                let is_primary = order == 0 && self.primary.is_some();
                let (line, start) = position(sources, &label.span);
                Mark {
                    line,
                    range: start..start + label.span.range.len(),
                    text: &label.text,
                    tint: if is_primary { self.tint() } else { Tint::Place },
                }
            })
            .collect();
        marks.sort_by_key(|mark| (mark.line, mark.range.start, mark.range.end));
        marks
    }
}

/// The line of a span, from 1, and the offset in this line. The end of a file is the end of its
/// last line with characters.
fn position(sources: &Sources, span: &Span) -> (usize, usize) {
    let number = sources.start(span).line;
    let start = sources.line_start(span.file, number);
    if number > 1 && sources.line(span.file, number).is_empty() {
        let before = sources.line(span.file, number - 1);
        return (number - 1, before.trim_end_matches(['\r', '\n']).len());
    }
    (number, span.range.start.saturating_sub(start))
}

/// One line of a file, from a column on.
fn quoted(line: &str, number: usize, gutter: usize, first_column: usize) -> Row {
    let mut row = Row::gutter(&number.to_string(), gutter);
    let source = Row::of(line, Tint::None);
    let end = source.width().min(first_column + COLUMNS_MAX);
    row.push(" ", Tint::None);
    if first_column > 0 {
        row.push("...", Tint::None);
    }
    row.append(&source, first_column..end);
    if end < source.width() {
        row.push("...", Tint::None);
    }
    row
}

/// Adds a line of a file, and its marks with their texts below.
fn quote_line(line: &str, marks: &[Mark<'_>], gutter: usize, rows: &mut Vec<Row>) {
    let columns = |range: &Range<usize>| {
        let column =
            |offset| Row::of(&line[..line.floor_char_boundary(offset)], Tint::None).width();
        let start = column(range.start);
        start..column(range.end).max(start + 1)
    };
    let columns: Vec<Range<usize>> = marks.iter().map(|mark| columns(&mark.range)).collect();
    let with_text = marks.iter().zip(&columns).map(|(mark, columns)| {
        let width = Row::of(mark.text, Tint::None).width();
        columns.end + width
    });
    let end = with_text.max().unwrap_or(0);
    let start = columns.iter().map(|range| range.start).min().unwrap_or(0);
    let cut = if end > COLUMNS_MAX {
        start.saturating_sub(COLUMNS_BEFORE)
    } else {
        0
    };
    rows.push(quoted(line, marks[0].line, gutter, cut));
    // The columns in a row: behind the gutter, and behind the dots of a cut line.
    let behind = gutter + " | ".len() + if cut > 0 { "...".len() } else { 0 };
    let place = |column: usize| column.saturating_sub(cut).min(COLUMNS_MAX) + behind;
    let mut row = Row::gutter("", gutter);
    for is_primary in [false, true] {
        for (mark, columns) in marks.iter().zip(&columns) {
            if (mark.tint != Tint::Place) == is_primary {
                let sign = if is_primary { '^' } else { '-' };
                let range = place(columns.start)..place(columns.end).max(place(columns.start) + 1);
                range.for_each(|column| row.put(column, sign, mark.tint));
            }
        }
    }
    let mut hanging = Vec::new();
    for (mark, columns) in marks.iter().zip(&columns).rev() {
        let start = place(columns.end);
        let width = Row::of(mark.text, Tint::None).width();
        if mark.text.is_empty() {
        } else if row.is_free(start..start + width + 2) {
            row.put_text(start + 1, mark.text, mark.tint);
        } else {
            hanging.push((mark, place(columns.start)));
        }
    }
    rows.push(row);
    for position in 0..hanging.len() {
        // Above the first text, a row of lines only.
        for has_text in [false, true] {
            if position > 0 && !has_text {
                continue;
            }
            let mut row = Row::gutter("", gutter);
            for (mark, column) in &hanging[position + usize::from(has_text)..] {
                row.put(*column, '|', mark.tint);
            }
            if has_text {
                let (mark, column) = hanging[position];
                row.put_text(column, mark.text, mark.tint);
            }
            rows.push(row);
        }
    }
}

#[cfg(test)]
mod tests;
