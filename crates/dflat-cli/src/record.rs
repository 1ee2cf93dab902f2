//! Rows of values in one of the forms of the output.

use std::io::Write;

use anstyle::Style;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::arguments::Format;
use crate::display::{Alignment, TableWriter, controls_terminal, escaped, write_json};
use crate::failure::Failure;

/// A value of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// No value.
    Missing,
    /// A text.
    Text(String),
    /// Any other value, as JSON whose text cannot control a terminal.
    Json(Box<RawValue>),
}

impl Cell {
    /// A number, or another value without text, as JSON.
    pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        serde_json::value::to_raw_value(value).map_or(Self::Missing, Self::Json)
    }

    /// The value for people. Text that could control a terminal is escaped.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Text(text) => escaped(text).into_owned(),
            Self::Json(json) => escaped(json.get()).into_owned(),
        }
    }

    /// The value in CSV. A text that CSV cannot tell from other values is a JSON string: an empty
    /// one, one that begins with a quote, and one that could control a terminal.
    fn comma_separated(&self) -> Result<String, Failure> {
        let unsafe_in_csv = |text: &str| {
            let controls = |c: char| c != '\n' && controls_terminal(c);
            text.is_empty() || text.starts_with('"') || text.contains(controls)
        };
        Ok(match self {
            Self::Missing => String::new(),
            Self::Text(text) if unsafe_in_csv(text) => as_json(text)?,
            Self::Text(text) => text.clone(),
            Self::Json(json) => json.get().to_owned(),
        })
    }
}

fn as_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    let mut out = Vec::new();
    write_json(&mut out, value).map_err(json_failure)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Json(json) => json.serialize(serializer),
        }
    }
}

/// An error of writing JSON: that of the output, or that of a value.
pub(crate) fn json_failure(error: serde_json::Error) -> Failure {
    match error.is_io() {
        true => Failure::from(std::io::Error::from(error)),
        false => Failure::file(error.to_string()),
    }
}

/// Writes rows of named values.
pub(crate) enum RecordWriter<W: Write> {
    Table(TableWriter<W>),
    Jsonl(W, Vec<String>),
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> RecordWriter<W> {
    pub(crate) fn new(
        format: Format,
        out: W,
        columns: Vec<(String, Alignment)>,
    ) -> Result<Self, Failure> {
        let names = |columns: Vec<(String, Alignment)>| -> Vec<String> {
            columns.into_iter().map(|(name, _)| name).collect()
        };
        Ok(match format {
            Format::Table => {
                let shown = columns.into_iter();
                let shown = shown.map(|(name, side)| (escaped(&name).into_owned(), side));
                Self::Table(TableWriter::new(out, shown.collect()))
            }
            Format::Jsonl => Self::Jsonl(out, names(columns)),
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                let names = names(columns);
                let names = names.iter().map(|name| escaped(name).into_owned());
                writer.write_record(names).map_err(csv_failure)?;
                Self::Csv(Box::new(writer))
            }
        })
    }

    pub(crate) fn row(&mut self, row: &[Cell]) -> Result<(), Failure> {
        self.styled_row(row, Style::new())
    }

    /// Writes a row, in a style if the form is a table.
    pub(crate) fn styled_row(&mut self, row: &[Cell], style: Style) -> Result<(), Failure> {
        match self {
            Self::Table(table) => Ok(table.row(row.iter().map(Cell::shown).collect(), style)?),
            Self::Jsonl(out, names) => {
                write_json(&mut *out, &Row(names, row)).map_err(json_failure)?;
                Ok(out.write_all(b"\n")?)
            }
            Self::Csv(writer) => {
                let cells = row.iter().map(Cell::comma_separated);
                let cells = cells.collect::<Result<Vec<_>, _>>()?;
                writer.write_record(cells).map_err(csv_failure)
            }
        }
    }

    /// Writes the rows so far.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Table(table) => table.flush()?,
            Self::Jsonl(out, _) => out.flush()?,
            Self::Csv(writer) => writer.flush()?,
        }
        Ok(())
    }

    pub(crate) fn end(self) -> Result<(), Failure> {
        match self {
            Self::Table(table) => Ok(table.end()?),
            Self::Jsonl(mut out, _) => Ok(out.flush()?),
            Self::Csv(mut writer) => Ok(writer.flush()?),
        }
    }
}

fn csv_failure(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        error => Failure::file(format!("cannot write CSV: {error:?}")),
    }
}

/// A row as a JSON object.
struct Row<'r>(&'r [String], &'r [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in self.0.iter().zip(self.1) {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}

/// The words behind the output for people of a command that has changed nothing.
pub(crate) const fn dry_note(is_dry: bool) -> &'static str {
    match is_dry {
        true => " (dry run: nothing was changed)",
        false => "",
    }
}

/// A number with a noun in the plural, which becomes the singular for 1. Words may follow the noun.
pub(crate) fn counted(count: u64, name: &str) -> String {
    let (noun, rest) = name.split_at(name.find(' ').unwrap_or(name.len()));
    match (count, noun.strip_suffix('s')) {
        (1, Some(singular)) => format!("1 {singular}{rest}"),
        _ => format!("{count} {name}"),
    }
}

/// Prints counts, such as `2 inserted, 1 updated`.
pub(crate) fn report(format: Format, is_dry: bool, counts: &[(&str, u64)]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match format {
        Format::Table => {
            let several = counts.iter().filter(|(_, count)| *count > 0);
            let mut parts: Vec<String> =
                several.map(|(name, count)| counted(*count, name)).collect();
            if parts.is_empty()
                && let Some((name, _)) = counts.first()
            {
                parts.push(format!("0 {name}"));
            }
            writeln!(out, "{}{}", parts.join(", "), dry_note(is_dry))?;
        }
        format => {
            let names = counts.iter();
            let names = names.map(|(name, _)| ((*name).to_owned(), Alignment::Right));
            let mut writer = RecordWriter::new(format, &mut out, names.collect())?;
            let cells: Vec<Cell> = counts.iter().map(|(_, count)| Cell::of(count)).collect();
            writer.row(&cells)?;
            writer.end()?;
        }
    }
    Ok(out.flush()?)
}
