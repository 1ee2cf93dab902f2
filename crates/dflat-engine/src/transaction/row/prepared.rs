//! Tables that are ready to be written to.

use dflat_model::Table;

use super::coverage::Reach;
use super::mend::mend;
use crate::error::Result;
use crate::storage::WriteTransaction;

/// A table that is ready to be written to in the backend's transaction.
pub(in crate::transaction) struct Prepared {
    table: Table,
    reach: Reach,
    /// Whether no newer code is known to have written to it.
    is_newest: bool,
}

impl Prepared {
    /// How far the indexes of a table are built, if it was prepared as what it is, because no newer
    /// code has written to it.
    #[inline]
    pub(in crate::transaction) fn reach_of(prepared: &[Self], table: &Table) -> Option<Reach> {
        let mut prepared = prepared.iter();
        let ready = prepared.find(|ready| ready.is_newest && ready.table.is_same(table))?;
        Some(ready.reach.clone())
    }

    /// Notes that no newer code is known to have written to a table.
    pub(in crate::transaction) fn note_newest(prepared: &mut [Self], table: &Table) {
        let ready = prepared
            .iter_mut()
            .filter(|ready| ready.table.is_same(table));
        ready.for_each(|ready| ready.is_newest = true);
    }
}

/// Makes a table's storage what its descriptor says: creates what is missing, and removes the
/// indexes that its writes would not maintain; once for each transaction of the backend. How far
/// its indexes are built.
pub(in crate::transaction) fn prepare(
    writer: &mut dyn WriteTransaction,
    prepared: &mut Vec<Prepared>,
    table: &Table,
) -> Result<Reach> {
    if let Some(ready) = prepared.iter().find(|ready| ready.table.is_same(table)) {
        return Ok(ready.reach.clone());
    }
    // Another descriptor of the same table has other indexes.
    prepared.retain(|other| other.table.name != table.name);
    // Order: noted first, so that a failure that leaves half of it is undone with the storage.
    prepared.push(Prepared {
        table: table.clone(),
        reach: Reach::default(),
        is_newest: false,
    });
    let reach = Reach::of(&mend(writer, table)?);
    if let Some(last) = prepared.last_mut() {
        last.reach = reach.clone();
    }
    Ok(reach)
}
