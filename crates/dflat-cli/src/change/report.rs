//! The counts that a command reports.

use std::io::{Write, stdout};

use crate::arguments::{Format, WriteArguments};
use crate::display::Alignment;
use crate::failure::Failure;
use crate::record::{Cell, RecordWriter};

/// Prints counts, such as `2 inserted, 1 updated`.
pub(super) fn report(arguments: &WriteArguments, counts: &[(&str, u64)]) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match arguments.format.get() {
        Format::Table => {
            let several = counts.iter().filter(|(_, count)| *count > 0);
            let mut parts: Vec<String> = several
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            if parts.is_empty()
                && let Some((name, _)) = counts.first()
            {
                parts.push(format!("0 {name}"));
            }
            let dry = match arguments.dry_run {
                true => " (dry run: nothing was changed)",
                false => "",
            };
            writeln!(out, "{}{dry}", parts.join(", "))?;
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
