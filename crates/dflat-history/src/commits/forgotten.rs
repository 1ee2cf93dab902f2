//! The commits whose objects of a type are lost, because the history of the type was forgotten.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::engine::Engine;
use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::commit::Commit;
use super::log::load;
use crate::past::{Moment, PastBackend, Place};

/// Notes in all commits that have a table that its objects are lost.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a commit is damaged; otherwise the errors of reading and writing.
pub(crate) fn forget_table(writer: &mut dyn WriteTransaction, table: &str) -> Result<()> {
    let mut below = None;
    loop {
        let mut found = None;
        writer.all_named(NamedTable::Commits, below, &mut |row| {
            found = Some((row.id, Commit::from_row(row.name, row.bytes)));
            ControlFlow::Break(())
        })?;
        let Some((id, commit)) = found else {
            return Ok(());
        };
        below = Some(id);
        let mut commit = commit?;
        let mut of_commit = commit.tables.iter_mut();
        if let Some(of_commit) = of_commit.find(|of| of.name == table && !of.is_forgotten) {
            of_commit.is_forgotten = true;
            let row = commit.to_row();
            writer.put_named(NamedTable::Commits, commit.id.as_bytes(), &row)?;
        }
    }
}

/// Checks that the objects of these tables at a moment are not lost. The steps and received changes
/// that are left lead to other objects.
///
/// # Errors
/// [`ErrorKind::NotFound`] if they are lost; otherwise those of [`load`].
pub(crate) fn check_kept(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    moment: &Moment,
) -> Result<()> {
    let lost = lost(snapshot, tables, moment)?;
    lost.into_iter().next().map_or(Ok(()), |(_, why)| Err(why))
}

/// The tables whose objects at a moment are lost, each with the error of reading them.
///
/// # Errors
/// Those of [`load`].
fn lost<'t>(
    snapshot: &mut dyn Snapshot,
    tables: &'t [Table],
    moment: &Moment,
) -> Result<Vec<(&'t Table, Error)>> {
    let mut lost = Vec::new();
    let Moment::Commit(Place {
        commit, received, ..
    }) = moment
    else {
        return Ok(lost);
    };
    for id in commit.iter().chain(received) {
        let commit = load(snapshot, *id)?;
        for of in commit.tables.iter().filter(|of| of.is_forgotten) {
            let Some(table) = tables.iter().find(|table| table.name == *of.name) else {
                continue;
            };
            let message = format!(
                "cannot read the objects of {} in commit {id}: the history of the type was \
                 forgotten since",
                table.type_name
            );
            lost.push((table, Error::new(ErrorKind::NotFound, message)));
        }
    }
    Ok(lost)
}

/// The state at a moment. A read of a table whose objects are lost fails. `tables` are all
/// versioned tables.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if there is no such step.
/// - [`ErrorKind::Corrupt`] if the steps do not fit the objects.
/// - Otherwise the errors of reading.
pub fn past(engine: &Engine, tables: &[Table], moment: &Moment) -> Result<Arc<PastBackend>> {
    let mut past = PastBackend::open(engine, tables.to_vec(), moment)?;
    // Order: after the steps are read, because a history that was forgotten before them is noted.
    for (table, why) in engine.read_history(|snapshot| lost(snapshot, tables, moment))? {
        past.lose(table, why);
    }
    Ok(Arc::new(past))
}
