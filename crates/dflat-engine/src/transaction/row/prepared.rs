//! Tables that are ready to be written to.

use dflat_model::Table;

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
}

impl Prepared {
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
    prepared.retain(|other| other.table.name != table.name);
    // Order: the table is noted first, so that a failure that leaves its storage half prepared is
    // undone together with that storage.
    prepared.push(Prepared {
        table: table.clone(),
        coverage: IndexCoverage::default(),
        is_newest: false,
    });
    let coverage = IndexCoverage::of(&mend(writer, table)?);
    if let Some(last) = prepared.last_mut() {
        last.coverage = coverage.clone();
    }
    Ok(coverage)
}
