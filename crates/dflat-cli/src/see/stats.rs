//! The sizes of objects, with bars.

use std::io::Write;

use serde_json::json;

use super::measure::Sizes;
use crate::arguments::{Format, StatsArguments};
use crate::display::{Alignment, bar, bytes, escaped};
use crate::failure::{Failure, Found, Outcome};
use crate::file::FileType;
use crate::record::{Cell, RecordWriter, counted};
use crate::session::Session;

/// The width of a bar.
const BAR: usize = 40;

/// Prints the sizes of objects.
pub(crate) fn stats(arguments: &StatsArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let chosen = file.types.chosen(&arguments.types)?;
    let mut measured = Vec::new();
    for known in chosen {
        measured.push((known, Sizes::of((&file, session), &known.table)?));
    }
    let mut out = session.out();
    match arguments.format.get() {
        Format::Table => print(&measured, &mut out)?,
        format => records(&measured, format, &mut out)?,
    }
    out.flush()?;
    file.close()?;
    Ok(Found::Yes)
}

fn print(measured: &[(&FileType, Sizes)], out: &mut dyn Write) -> Result<(), Failure> {
    let whole = measured.iter().map(|(_, sizes)| sizes.bytes).sum();
    for (position, (known, sizes)) in measured.iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        writeln!(
            out,
            "{}: {}, {}",
            escaped(&known.table.type_name),
            counted(sizes.objects, "objects"),
            bytes(sizes.bytes)
        )?;
        writeln!(out, "  of all bytes   {}", bar(sizes.bytes, whole, BAR))?;
        let most = sizes.powers.iter().copied().max().unwrap_or_default();
        let filled = |count: &u64| *count > 0;
        let first = sizes.powers.iter().position(filled).unwrap_or_default();
        let last = sizes.powers.iter().rposition(filled);
        let end = last.map_or(first, |last| last + 1);
        for power in first..end {
            let count = sizes.powers[power];
            let bar = bar(count, most, BAR);
            let line = format!("  up to {:>9}  {bar} {count}", bytes(1 << power));
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}

fn records(
    measured: &[(&FileType, Sizes)],
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let names = ["type", "objects", "bytes", "largest", "up_to"];
    let columns = names.map(|name| (name.to_owned(), Alignment::Left));
    let mut writer = RecordWriter::new(format, out, columns.to_vec())?;
    for (known, sizes) in measured {
        let filled = sizes.powers.iter().enumerate();
        let filled = filled.filter(|(_, count)| **count > 0);
        let powers = filled.map(|(power, count)| json!([1_u64 << power, count]));
        writer.row(&[
            Cell::Text(known.table.type_name.to_string()),
            Cell::of(&sizes.objects),
            Cell::of(&sizes.bytes),
            Cell::of(&sizes.largest),
            Cell::of(&powers.collect::<Vec<_>>()),
        ])?;
    }
    writer.end()
}
