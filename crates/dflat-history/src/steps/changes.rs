//! The changes of one step, with their states.

use dflat_engine::Result;
use dflat_engine::storage::{Snapshot, StepId};
use dflat_model::{RowId, Table, Value};

use super::reverse::reverse;

/// A change of one object by a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepChange {
    /// The name of the table in the file.
    pub table: String,
    /// The row id.
    pub row_id: RowId,
    /// The primary key after the step; of a deleted object, before it.
    pub key: Vec<Value>,
    /// The bytes before the step; `None` for an insertion, and if they are lost.
    pub before: Option<Vec<u8>>,
    /// The bytes after the step; `None` for a deletion, and if they are lost.
    pub after: Option<Vec<u8>>,
    /// Whether the history lacks the bytes before, after, or both: a program has changed the
    /// object, or may have changed it, and has prevented that its state was noted.
    pub is_lost: bool,
}

/// The changes of a step, by table and row id. `tables` are all versioned tables.
///
/// # Errors
/// [`ErrorKind::NotFound`](dflat_engine::ErrorKind::NotFound) if there is no such step;
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if the later steps do not fit the
/// objects; otherwise the errors of reading.
pub fn changes(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    id: StepId,
) -> Result<Vec<StepChange>> {
    let rows = reverse(snapshot, tables, &[id])?.into_iter();
    let changes = rows.flat_map(|(table, rows)| {
        rows.into_iter().map(move |(row_id, row)| StepChange {
            table: table.clone(),
            row_id,
            key: row.key,
            is_lost: row.target.lost().is_some() || row.reached.lost().is_some(),
            before: row.target.payload().map(<[u8]>::to_vec),
            after: row.reached.payload().map(<[u8]>::to_vec),
        })
    });
    Ok(changes.collect())
}
