//! Finds the rows that other programs have written without change records.

use std::collections::BTreeSet;

use dflat_model::{CommitSeq, RowId, Table};

use super::Follow;
use super::collect::Collected;
use crate::change_set::{RereadTable, RowChange, TableChanges};
use crate::error::Result;
use crate::fetch::{self, Control};
use crate::object::{Object, Origin};
use crate::storage::Snapshot;

/// If more rows of a table may have been written than this, everything that is subscribed to in the
/// table is read again.
const ROWS_MAX: usize = 4096;

/// The tables that other programs, or commits with the collected records, may have written, with
/// the rows as the snapshot sees them.
///
/// # Errors
/// The errors of reading how far the indexes are complete.
pub(super) fn tables(
    follow: &Follow<'_>,
    snapshot: &mut dyn Snapshot,
    collected: &Collected,
    observed: Vec<Table>,
) -> Result<Vec<RereadTable>> {
    let mut tables = Vec::new();
    for table in observed {
        let rows = rows_of(snapshot, collected, &table)?;
        if rows.as_ref().is_some_and(BTreeSet::is_empty) {
            continue;
        }
        // A row that can't be read is met again when its readers read everything.
        let changes = rows.and_then(|rows| read(follow, snapshot, &table, rows).ok());
        tables.push(RereadTable { table, changes });
    }
    Ok(tables)
}

/// The rows of a table that may have been written; `None` if they are too many or not known.
fn rows_of(
    snapshot: &mut dyn Snapshot,
    collected: &Collected,
    table: &Table,
) -> Result<Option<BTreeSet<RowId>>> {
    let indexes = snapshot.indexes(table)?;
    let name = table.name.as_ref();
    if !indexes.is_noted || collected.foreign_tables.iter().any(|other| other == name) {
        return Ok(None);
    }
    let mut rows: BTreeSet<RowId> = indexes.foreign.into_iter().collect();
    let mended = collected.foreign_rows.iter();
    rows.extend(
        mended
            .filter(|(other, _)| other == name)
            .map(|(_, row)| *row),
    );
    for part in collected.transactions.iter().flat_map(|t| &t.parts) {
        let Ok(record) = collected.record(part) else {
            return Ok(None);
        };
        let changed = record.tables.iter().filter(|t| t.table.name == name);
        for row in changed.flat_map(|changed| changed.rows()) {
            let Ok(row) = row else {
                return Ok(None);
            };
            rows.insert(row.row_id);
        }
    }
    Ok((rows.len() <= ROWS_MAX).then_some(rows))
}

/// Reads rows, by ascending row id. A row that does not exist has no state.
fn read(
    follow: &Follow<'_>,
    snapshot: &mut dyn Snapshot,
    table: &Table,
    rows: BTreeSet<RowId>,
) -> Result<TableChanges> {
    let origin = Origin {
        engine: follow.engine,
        seq: CommitSeq(follow.seq.0 + 1),
        transaction: 0,
    };
    let rows: Vec<RowId> = rows.into_iter().collect();
    let found = fetch::find_many(snapshot, table, &rows, &Control::default(), origin)?;
    let is_attached = found.iter().any(Object::is_attached);
    let mut found = found.into_iter().peekable();
    let rows = rows.into_iter().map(|row_id| {
        let after = found.next_if(|object| object.row_id() == row_id);
        let before = None;
        (row_id, RowChange { before, after })
    });
    Ok(TableChanges {
        table: table.clone(),
        rows: rows.collect(),
        inserted: None,
        repeated: true,
        is_attached,
    })
}
