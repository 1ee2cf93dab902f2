//! Filling indexes, a batch of rows at a time.

use std::ops::ControlFlow;

use dflat_model::{RowId, Table, Value};

use super::newest::NewestSchemas;
use super::row::{entry_values, mend, write_mended_record};
use crate::error::{Error, Result};
use crate::fetch;
use crate::storage::{
    EntryValues, IndexEntry, IndexRepair, IndexState, Indexes, RowRepair, ScanPlan, Source,
    WriteTransaction,
};

/// Limit of the rows of a batch, during which transactions wait. To index 10,000 rows took 7.1 ms
/// in a prototype, so that a batch takes less than half a millisecond.
pub(super) const ROWS_MAX: usize = 512;

/// A batch ends with the row that makes its payloads larger than this, in bytes. The batch is in
/// memory, and large rows take as long to read as many small ones.
const BYTES_MAX: usize = 1 << 20;

/// The result of a batch.
pub(super) struct Batch {
    /// The descriptor whose indexes are filled: the descriptor of the newest code that has written
    /// to the table.
    pub(super) table: Table,
    /// The indexes that the batch has filled, by position.
    pub(super) indexes: Vec<usize>,
    /// Number of rows that the batch has read.
    pub(super) rows: u64,
    /// Whether all indexes are ready.
    pub(super) is_last: bool,
    /// The foreign rows that were put into the indexes, by ascending row id.
    pub(super) mended: Vec<RowId>,
    /// The foreign rows that could not be read and are not in the indexes, by ascending row id.
    pub(super) left: Vec<RowId>,
}

impl Batch {
    /// The change record of the batch by an engine. The batch changes no object.
    pub(super) fn change_record(&self, record_engine: u64) -> Vec<u8> {
        let mut record = Vec::new();
        let mended = (!self.mended.is_empty()).then_some((&self.table, self.mended.as_slice()));
        write_mended_record(record_engine, mended, &mut record);
        record
    }
}

/// A row id, and the row's values for some indexes, each with the position of the index.
type Values = (RowId, Vec<(usize, Vec<Value>)>);

/// Fills the table's indexes that are not ready, for the next rows by row id.
///
/// # Errors
/// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for a row whose value can't be read; otherwise
/// the errors of the backend. The caller must then roll back the writes of the batch.
pub(super) fn fill(writer: &mut dyn WriteTransaction, table: &Table) -> Result<Batch> {
    let newest = NewestSchemas::of_indexes().learn(writer, table)?.newest;
    let table = newest.unwrap_or_else(|| table.clone());
    let mended = mend(writer, &table)?;
    let covered: Vec<(usize, RowId)> = {
        let covered = mended.states.iter().enumerate().map(|(position, state)| {
            let coverage = match state {
                IndexState::Ready => return None,
                IndexState::Incomplete(coverage) => *coverage,
                IndexState::Missing => RowId(0),
            };
            Some((position, coverage))
        });
        covered.flatten().collect()
    };
    let from = covered.iter().map(|(_, coverage)| *coverage).min();
    let (rows, is_end) = match from {
        Some(from) => read(writer, &table, &covered, from)?,
        None => (Vec::new(), true),
    };
    let last = rows.last().map(|(row_id, _)| *row_id);
    let has_condition = |position: usize| {
        let index = table.indexes.get(position);
        index.is_some_and(|index| index.condition.is_some())
    };
    let filled: Vec<(usize, Option<RowId>)> = covered
        .iter()
        .filter(|(position, _)| has_condition(*position))
        .map(|(position, coverage)| {
            let up_to = last.map_or(*coverage, |last| last.max(*coverage));
            (*position, (!is_end).then_some(up_to))
        })
        .collect();
    let repaired: Vec<RowRepair<'_>> = rows.iter().map(repair_of).collect();
    let repair = IndexRepair {
        rows: &repaired,
        filled: &filled,
    };
    writer.repair_indexes(&table, &repair)?;
    let Indexes {
        states, foreign, ..
    } = writer.indexes(&table)?;
    Ok(Batch {
        indexes: covered.into_iter().map(|(position, _)| position).collect(),
        rows: rows.len() as u64,
        // If no rows are left to read, no entries are left to write.
        is_last: rows.is_empty() || states.iter().all(|state| *state == IndexState::Ready),
        table,
        mended: mended.rows,
        left: foreign,
    })
}

/// The entries to write for a row.
fn repair_of((row_id, values): &Values) -> RowRepair<'_> {
    let entries = values.iter().map(|(index, values)| IndexEntry {
        index: *index,
        values: EntryValues::from(values.as_slice()),
    });
    RowRepair {
        row_id: *row_id,
        is_foreign: false,
        entries: entries.collect(),
    }
}

/// Reads the values of the next rows, and whether they are the last rows. All rows are read before
/// their entries are written, because a scan must not meet its own writes.
fn read(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    covered: &[(usize, RowId)],
    from: RowId,
) -> Result<(Vec<Values>, bool)> {
    let mut rows: Vec<Values> = Vec::new();
    let (mut bytes, mut is_end) = (0, true);
    let mut failure: Option<Error> = None;
    let plan = ScanPlan {
        table,
        source: Source::RowsAfter(from),
        payload: true,
    };
    writer.scan(&plan, &mut |row| {
        let behind = covered
            .iter()
            .filter(|(_, coverage)| *coverage < row.row_id);
        let values: Result<Vec<_>> = behind
            .filter_map(|(position, _)| Some((*position, table.indexes.get(*position)?)))
            .filter_map(|(position, index)| {
                let values = entry_values(table, index, row.payload).map(|v| v.to_values());
                Some((position, values.transpose()?))
            })
            .map(|(position, values)| Ok((position, values?)))
            .collect();
        match values {
            Ok(values) => rows.push((row.row_id, values)),
            Err(_) => failure = Some(fetch::corrupt(table, row.row_id)),
        }
        bytes += row.payload.len();
        if failure.is_some() || rows.len() >= ROWS_MAX || bytes > BYTES_MAX {
            is_end = false;
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    failure.map_or(Ok((rows, is_end)), Err)
}
