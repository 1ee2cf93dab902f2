//! Merges.

use std::io::Write;

use dflat_engine::engine::Engine;
use dflat_history::branches::{Merge, Merged, ObjectConflict};
use dflat_history::steps::notice;
use dflat_model::Table;

use super::history;
use super::version::shown;
use crate::arguments::{Format, Keep, MergeArguments};
use crate::display::Alignment;
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter, report};
use crate::session::Session;

/// Merges a branch into the current one.
pub(crate) fn merge(arguments: &MergeArguments, session: &Session) -> Outcome {
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let tables = history(&file)?;
    let engine = file.workspace.engine();
    notice(engine, &tables)?;
    let merged = merge_keeping(engine, &tables, (&arguments.branch, arguments.keep))?;
    file.close()?;
    let write = &arguments.write;
    let (commit, changed) = match merged {
        Merged::Conflicts(conflicts) => {
            print(write.format.get(), session, &conflicts)?;
            return Ok(Found::No);
        }
        Merged::Forward { commit, changed } | Merged::Commit { commit, changed } => {
            (commit, changed)
        }
        Merged::UpToDate(commit) => (commit, 0),
        _ => return Ok(Found::No),
    };
    note(&format!("the current branch is at {}", shown(&commit)));
    report(write.format.get(), write.dry_run, &[("changed", changed)])?;
    Ok(Found::Yes)
}

/// Merges a branch. `keep` decides about objects in conflict.
pub(super) fn merge_keeping(
    engine: &Engine,
    tables: &[Table],
    (branch, keep): (&str, Option<Keep>),
) -> Result<Merged, Failure> {
    let mut merge = Merge::of(branch);
    let merged = merge.perform(engine, tables)?;
    let (Merged::Conflicts(conflicts), Some(keep)) = (&merged, keep) else {
        return Ok(merged);
    };
    for conflict in conflicts {
        let payload = match keep {
            Keep::Ours => conflict.ours.clone(),
            Keep::Theirs => conflict.theirs.clone(),
        };
        merge.decide(conflict, payload);
    }
    Ok(merge.perform(engine, tables)?)
}

/// Prints objects in conflict, and says how to decide.
pub(super) fn print(
    format: Format,
    session: &Session,
    conflicts: &[ObjectConflict],
) -> Result<(), Failure> {
    let mut out = session.out();
    let columns = ["type", "key", "conflict", "fields"];
    let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
    let mut writer = RecordWriter::new(format, &mut out, columns.to_vec())?;
    for conflict in conflicts {
        let key: Vec<String> = conflict.key.iter().map(ToString::to_string).collect();
        writer.row(&[
            Cell::Text(conflict.type_name.clone()),
            Cell::Text(key.join(", ")),
            Cell::Text(conflict.reason.to_string()),
            Cell::Text(conflict.fields.join(", ")),
        ])?;
    }
    writer.end()?;
    out.flush()?;
    note("nothing was merged; --keep ours or --keep theirs decides about these objects");
    Ok(())
}
