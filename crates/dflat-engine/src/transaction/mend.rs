//! Makes a table's storage what its descriptor says, whoever has written to it.

use std::ops::ControlFlow;

use dflat_model::{RowId, Table};

use super::backfill::put;
use super::entries::{index_entries, present_entries};
use super::row::Reach;
use crate::error::Result;
use crate::storage::{IndexState, ScanPlan, Source, WriteTransaction};

/// Creates what is missing of a table's storage, removes what is not to be believed, and puts what
/// somebody else wrote past the indexes into them. The states of the indexes.
///
/// A row that can't be read stays apart: reading it fails, and writing others does not.
pub(super) fn mend(writer: &mut dyn WriteTransaction, table: &Table) -> Result<Vec<IndexState>> {
    writer.create(table)?;
    let indexes = writer.indexes(table)?;
    if indexes.apart.is_empty() {
        return Ok(indexes.states.into_vec());
    }
    let mut rows: Vec<(RowId, Vec<u8>)> = Vec::new();
    let plan = ScanPlan {
        table,
        source: Source::RowIds(&indexes.apart),
        payload: true,
    };
    writer.scan(&plan, &mut |row| {
        rows.push((row.row_id, row.payload.to_vec()));
        ControlFlow::Continue(())
    })?;
    let reach = Reach::of(&indexes.states);
    let unreadable: Vec<RowId> = {
        let unreadable = rows
            .iter()
            .filter(|(_, payload)| index_entries(table, payload).is_err());
        unreadable.map(|(row_id, _)| *row_id).collect()
    };
    for row_id in &indexes.apart {
        if !unreadable.contains(row_id) {
            writer.forget_foreign(table, *row_id)?;
        }
    }
    // Order: after all stale entries are gone, so that a value that moved between rows is free.
    for (row_id, payload) in &rows {
        if unreadable.contains(row_id) {
            continue;
        }
        let mut entries = present_entries(table, payload)?;
        reach.leave(&mut entries, Some(*row_id));
        for entry in &entries {
            put(writer, table, *row_id, entry)?;
        }
    }
    writer.index_states(table)
}
