//! Undo of a step.

use dflat_history::steps::{Author, Mode, Scope, StepId, Target, Undo, notice};

use super::{versioned, without_history};
use crate::arguments::UndoArguments;
use crate::failure::{Found, Outcome, note};
use crate::file::OpenFile;
use crate::record::report;

/// Undoes the latest change, or a step.
pub(crate) fn undo(arguments: &UndoArguments) -> Outcome {
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let tables = versioned(&file)?;
    let target = match arguments.step {
        Some(step) => Target::Step(StepId(step)),
        None => Target::Latest(Scope {
            author: Author::Everyone,
            table: None,
            label: None,
        }),
    };
    let mode = match arguments.rest {
        true => Mode::Rest,
        false => Mode::Whole,
    };
    let engine = file.workspace.engine();
    let undone =
        notice(engine, &tables).and_then(|()| Undo { target, mode }.perform(engine, &tables))?;
    let shown = tables.is_empty().then(|| without_history(&file));
    file.close()?;
    let Some(undone) = undone else {
        note(shown.as_deref().unwrap_or("there is nothing to undo"));
        return Ok(Found::No);
    };
    for conflict in &undone.conflicts {
        let key: Vec<String> = conflict.key.iter().map(ToString::to_string).collect();
        let (type_name, key) = (&conflict.type_name, key.join(", "));
        note(&format!(
            "the object {key} of {type_name} was changed since, and stays"
        ));
    }
    for table in &undone.remaining {
        note(&format!("{table} is not versioned: its changes remain"));
    }
    let left = undone.conflicts.len() as u64;
    let counts = [("changed", undone.changed), ("left", left)];
    report(
        arguments.write.format.get(),
        arguments.write.dry_run,
        &counts,
    )?;
    Ok(Found::Yes)
}
