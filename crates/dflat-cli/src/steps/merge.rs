//! Merges.

use std::io::Write;

use dflat_history::branches::{Merge, Merged, ObjectConflict};
use dflat_history::steps::notice;

use super::version::shown;
use super::versioned;
use crate::arguments::{Keep, MergeArguments};
use crate::display::Alignment;
use crate::failure::{Found, Outcome, note};
use crate::file::OpenFile;
use crate::record::{Cell, RecordWriter, report};
use crate::session::Session;

/// Merges a branch into the current one.
pub(crate) fn merge(arguments: &MergeArguments, session: &Session) -> Outcome {
    let file = OpenFile::write(&arguments.file, arguments.write.dry_run)?;
    let tables = versioned(&file)?;
    let engine = file.workspace.engine();
    notice(engine, &tables)?;
    let mut merge = Merge::of(&arguments.branch);
    let mut merged = merge.perform(engine, &tables)?;
    if let (Merged::Conflicts(conflicts), Some(keep)) = (&merged, arguments.keep) {
        for conflict in conflicts {
            let payload = match keep {
                Keep::Ours => conflict.ours.clone(),
                Keep::Theirs => conflict.theirs.clone(),
            };
            merge.decide(conflict, payload);
        }
        merged = merge.perform(engine, &tables)?;
    }
    file.close()?;
    let write = &arguments.write;
    let (commit, changed) = match merged {
        Merged::Conflicts(conflicts) => {
            print(arguments, session, &conflicts)?;
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

fn print(
    arguments: &MergeArguments,
    session: &Session,
    conflicts: &[ObjectConflict],
) -> Result<(), crate::failure::Failure> {
    let mut out = session.out();
    let columns = ["type", "key", "conflict", "fields"];
    let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
    let format = arguments.write.format.get();
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
    Ok(())
}
