//! Merges.

use std::collections::BTreeSet;

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
            print(write.format.get(), session, &conflicts, arguments.keep)?;
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

/// Merges a branch. `keep` decides about objects in conflict. Conflicts about unique values may be
/// left: the object that `keep` chooses has a value that another object has.
pub(super) fn merge_keeping(
    engine: &Engine,
    tables: &[Table],
    (branch, keep): (&str, Option<Keep>),
) -> Result<Merged, Failure> {
    let mut merge = Merge::of(branch);
    let mut decided = BTreeSet::new();
    loop {
        let merged = merge.perform(engine, tables)?;
        let (Merged::Conflicts(conflicts), Some(keep)) = (&merged, keep) else {
            return Ok(merged);
        };
        // A decision may lead to another object with the same unique value.
        let mut is_new = false;
        for conflict in conflicts {
            let key: Vec<String> = conflict.key.iter().map(ToString::to_string).collect();
            is_new |= decided.insert((conflict.table.clone(), key));
            let payload = match keep {
                Keep::Ours => conflict.ours.clone(),
                Keep::Theirs => conflict.theirs.clone(),
            };
            merge.decide(conflict, payload);
        }
        if !is_new {
            return Ok(merged);
        }
    }
}

/// Prints objects in conflict, about which `keep` has not decided, and says how to decide.
pub(super) fn print(
    format: Format,
    session: &Session,
    conflicts: &[ObjectConflict],
    keep: Option<Keep>,
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
    note(match keep {
        None => "nothing was merged; --keep ours or --keep theirs decides about these objects",
        Some(_) => {
            "nothing was merged; other objects have the unique values of these: change one of them \
             on either branch, or choose the other side"
        }
    });
    Ok(())
}
