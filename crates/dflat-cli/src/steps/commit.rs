//! Commits.

use std::io::Write;

use dflat_history::commits::commit as make;
use dflat_history::steps::notice;

use super::history;
use super::version::shown;
use crate::arguments::{CommitArguments, Format};
use crate::display::Alignment;
use crate::failure::{Found, Outcome};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter, dry_note};
use crate::session::Session;

/// Commits the present state.
pub(crate) fn commit(arguments: &CommitArguments, session: &Session) -> Outcome {
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let tables = history(&file)?;
    let engine = file.workspace.engine();
    notice(engine, &tables)?;
    let id = make(engine, &tables, arguments.label.as_deref())?;
    file.close()?;
    let mut out = session.out();
    match arguments.write.format.get() {
        Format::Table => {
            let dry = dry_note(arguments.write.dry_run);
            writeln!(out, "{}{dry}", shown(&id))?;
        }
        format => {
            let columns = vec![("commit".to_owned(), Alignment::Left)];
            let mut writer = RecordWriter::new(format, &mut out, columns)?;
            writer.row(&[Cell::Text(id.to_string())])?;
            writer.end()?;
        }
    }
    out.flush()?;
    Ok(Found::Yes)
}
