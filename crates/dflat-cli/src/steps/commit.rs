//! Commits.

use std::io::Write;

use dflat_history::commits::commit as make;
use dflat_history::steps::notice;
use serde_json::json;

use super::history;
use super::version::shown;
use crate::arguments::{CommitArguments, Format};
use crate::failure::{Found, Outcome};
use crate::file::OpenFile;
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
        Format::Jsonl => writeln!(out, "{}", json!({ "commit": id.to_string() }))?,
        Format::Table | Format::Csv => writeln!(out, "{}", shown(&id))?,
    }
    out.flush()?;
    Ok(Found::Yes)
}
