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

/// Checks that the objects of a table at a moment are not lost. The steps and received changes that
/// are left lead to other objects.
///
/// # Errors
/// [`ErrorKind::NotFound`] if they are lost; otherwise those of [`load`].
pub(crate) fn check_kept(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    moment: &Moment,
) -> Result<()> {
    let Moment::Commit(Place {
        commit, received, ..
    }) = moment
    else {
        return Ok(());
    };
    for id in commit.iter().chain(received) {
        let commit = load(snapshot, *id)?;
        let mut tables = commit.tables.iter();
        if tables.any(|of| of.name == *table.name && of.is_forgotten) {
            let message = format!(
                "cannot read the objects of {} in commit {id}: the history of the type was \
                 forgotten since",
                table.type_name
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
    }
    Ok(())
}

/// The state at a moment, without the tables whose objects are lost: to read one of them fails.
/// `tables` are all versioned tables.
///
/// # Errors
/// As [`PastBackend::open`].
pub fn past(engine: &Engine, tables: &[Table], moment: &Moment) -> Result<Arc<PastBackend>> {
    let mut past = PastBackend::open(engine, tables.to_vec(), moment)?;
    // Order: after the steps are read, so that it is known whether they led to the state.
    for table in tables {
        if let Err(error) = engine.read_history(|snapshot| check_kept(snapshot, table, moment)) {
            match error.kind() {
                ErrorKind::NotFound => past.lose(table, error),
                _ => return Err(error),
            }
        }
    }
    Ok(Arc::new(past))
}
