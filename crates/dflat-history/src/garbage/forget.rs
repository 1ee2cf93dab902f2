//! Forgets the history of a type.

use std::ops::ControlFlow;
use std::rc::Rc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::{Snapshot, StepId, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;
use dflat_model::record;

use crate::commits::forget_table;
use crate::received::without_table;
use crate::steps::{end, unreadable};

/// Ends the history of a table, and deletes its changes from all steps and from the received
/// changes. The commits that have it note that its objects are lost. `tables` are all versioned
/// tables.
///
/// # Errors
/// [`ErrorKind::NotFound`] if the table is not versioned; otherwise those of
/// [`Engine::perform_here`].
pub fn forget(engine: &Engine, tables: &[Table], table: &Table) -> Result<()> {
    let stored = tables.iter().find(|stored| stored.is_stored_as(table));
    let (Some(history), Some(stored)) = (engine.history(), stored) else {
        let message = format!(
            "cannot forget the history of {}: the type is not versioned",
            table.type_name
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    history.want(stored, false);
    engine.ask_for_versioned();
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| {
        transaction.write_history(stored, |writer| {
            delete(writer, &stored.name)?;
            without_table(writer, &stored.name)?;
            forget_table(writer, &stored.name)?;
            end(writer, &stored.name)?;
            writer.forget_notes(stored, true)
        })
    };
    let done = engine.perform_here(tables.iter().cloned(), options, handler, |_| ());
    match done {
        // From now on the file decides: another program may begin a new history.
        Ok(()) => history.follow_file(stored),
        Err(_) => history.want(stored, true),
    }
    engine.ask_for_versioned();
    done
}

/// Deletes the changes of a table. A step without changes is deleted, except for the latest one:
/// no later step may get its number.
fn delete(writer: &mut dyn WriteTransaction, name: &str) -> Result<()> {
    let mut below = None;
    let mut is_latest = true;
    while let Some((id, record)) = next(writer, below)? {
        below = Some(id);
        let shorter =
            record::without_table(&record, name).map_err(|error| unreadable(id, &error))?;
        if let Some((shorter, has_rows)) = shorter {
            let kept = (has_rows || is_latest || is_of_parts(&shorter)).then_some(&shorter[..]);
            writer.replace_step(id, kept)?;
        }
        is_latest = false;
    }
    Ok(())
}

/// Whether a record is a part of a large transaction, which needs all of its parts.
fn is_of_parts(record: &[u8]) -> bool {
    use dflat_model::record::{ChangeRecord, Part};
    ChangeRecord::decode(record).is_ok_and(|record| record.head.part != Part::Whole)
}

fn next(
    snapshot: &mut (dyn WriteTransaction + '_),
    below: Option<StepId>,
) -> Result<Option<(StepId, Vec<u8>)>> {
    let mut found = None;
    Snapshot::steps(snapshot, below, &mut |row| {
        found = Some((row.id, row.record.to_vec()));
        ControlFlow::Break(())
    })?;
    Ok(found)
}
