//! Makes a table's storage agree with its descriptor, after foreign writes too.

use std::ops::ControlFlow;

use dflat_model::{RowId, Table};

use super::coverage::IndexCoverage;
use super::entries::{Entries, present_entries};
use crate::error::Result;
use crate::storage::{IndexRepair, IndexStates, RowRepair, ScanPlan, Source, WriteTransaction};

/// A table whose storage agrees with its descriptor.
pub(in super::super) struct Mended {
    pub(in super::super) states: IndexStates,
    /// The foreign rows that are in the indexes now, by ascending row id.
    pub(in super::super) rows: Vec<RowId>,
}

/// Creates the missing parts of a table's storage, removes indexes that cannot be trusted, and puts
/// the rows that foreign writes changed into the indexes.
///
/// A row that cannot be decoded stays marked as foreign: reading it fails, but writing other rows
/// does not.
pub(in super::super) fn mend(writer: &mut dyn WriteTransaction, table: &Table) -> Result<Mended> {
    writer.create(table)?;
    let indexes = writer.indexes(table)?;
    if indexes.foreign.is_empty() {
        return Ok(Mended {
            states: indexes.states,
            rows: Vec::new(),
        });
    }
    let mut payloads: Vec<(RowId, Vec<u8>)> = Vec::new();
    let plan = ScanPlan {
        table,
        source: Source::RowIds(&indexes.foreign),
        payload: true,
    };
    writer.scan(&plan, &mut |row| {
        payloads.push((row.row_id, row.payload.to_vec()));
        ControlFlow::Continue(())
    })?;
    let coverage = IndexCoverage::of(&indexes.states);
    let mut rows: Vec<RowRepair<'_>> = Vec::with_capacity(indexes.foreign.len());
    for row_id in &indexes.foreign {
        // A foreign row that does not exist was deleted: it has no entries.
        let found = payloads.binary_search_by_key(row_id, |(row_id, _)| *row_id);
        let mut entries = match found.map(|at| present_entries(table, &payloads[at].1)) {
            Ok(Ok(entries)) => entries,
            Ok(Err(_)) => continue,
            Err(_) => Entries::new(),
        };
        coverage.leave(&mut entries, Some(*row_id));
        rows.push(RowRepair {
            row_id: *row_id,
            is_foreign: true,
            entries: entries.into_vec(),
        });
    }
    let repair = IndexRepair {
        rows: &rows,
        filled: &[],
    };
    writer.repair_indexes(table, &repair)?;
    let rows = rows.iter().map(|row| row.row_id).collect();
    let states = writer.indexes(table)?.states;
    Ok(Mended { states, rows })
}
