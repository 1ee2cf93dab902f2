//! Tables that are ready to be written to.

use dflat_model::{RowId, Table};

use super::coverage::IndexCoverage;
use super::mend::mend;
use crate::error::Result;
use crate::storage::WriteTransaction;

/// A table that is ready to be written to in the backend's transaction.
pub(in super::super) struct Prepared {
    table: Table,
    coverage: IndexCoverage,
    /// Whether no newer code is known to have written to it.
    is_newest: bool,
    /// The foreign rows that were put into the indexes, by ascending row id.
    mended: Vec<RowId>,
}

impl Prepared {
    /// The tables of which foreign rows were put into the indexes, with these rows.
    pub(in super::super) fn take_mended(
        prepared: &mut [Self],
    ) -> impl Iterator<Item = (Table, Vec<RowId>)> {
        let mended = prepared.iter_mut().filter(|ready| !ready.mended.is_empty());
        mended.map(|ready| (ready.table.clone(), std::mem::take(&mut ready.mended)))
    }

    /// How far the indexes of a table are built, if the table was prepared with this descriptor
    /// because no newer code has written to it.
    #[inline]
    pub(in super::super) fn coverage_of(prepared: &[Self], table: &Table) -> Option<IndexCoverage> {
        let mut prepared = prepared.iter();
        let ready = prepared.find(|ready| ready.is_newest && ready.table.is_same(table))?;
        Some(ready.coverage.clone())
    }

    /// Notes that no newer code is known to have written to a table.
    pub(in super::super) fn note_newest(prepared: &mut [Self], table: &Table) {
        let ready = prepared
            .iter_mut()
            .filter(|ready| ready.table.is_same(table));
        ready.for_each(|ready| ready.is_newest = true);
    }
}

/// Makes a table's storage agree with its descriptor, once for each transaction of the backend:
/// creates missing parts, and removes the indexes that its writes would not maintain. Returns how
/// far the table's indexes are built.
pub(in super::super) fn prepare(
    writer: &mut dyn WriteTransaction,
    prepared: &mut Vec<Prepared>,
    table: &Table,
) -> Result<IndexCoverage> {
    if let Some(ready) = prepared.iter().find(|ready| ready.table.is_same(table)) {
        return Ok(ready.coverage.clone());
    }
    // Another descriptor of the same table has other indexes.
    let mut before = Vec::new();
    prepared.retain_mut(|other| {
        let is_other = other.table.name != table.name;
        if !is_other {
            before = std::mem::take(&mut other.mended);
        }
        is_other
    });
    // Order: the table is noted first, so that a failure that leaves its storage half prepared is
    // undone together with that storage.
    prepared.push(Prepared {
        table: table.clone(),
        coverage: IndexCoverage::default(),
        is_newest: false,
        mended: before,
    });
    let mended = mend(writer, table)?;
    let coverage = IndexCoverage::of(&mended.states);
    if let Some(last) = prepared.last_mut() {
        last.coverage = coverage.clone();
        // No other program writes meanwhile, so the table is mended once.
        last.mended.extend(mended.rows);
    }
    Ok(coverage)
}
