//! Sets rows to the states before.

use dflat_engine::transaction::Transaction;
use dflat_engine::{ErrorKind, Result};
use dflat_model::{RowId, Table};

/// A row to set.
pub(crate) struct RowToSet<'r> {
    pub(crate) table: &'r Table,
    pub(crate) row_id: RowId,
    /// The present payload; `None` if there is no such row.
    pub(crate) current: Option<&'r [u8]>,
    /// The payload to set; `None` to delete the row.
    pub(crate) target: Option<&'r [u8]>,
}

/// Sets rows to their targets. Returns how many rows were changed, and those that were left as they
/// are because another object has their key or a unique value.
///
/// # Errors
/// The errors of writing.
pub(crate) fn apply<'r>(
    transaction: &Transaction,
    rows: &[RowToSet<'r>],
) -> Result<(u64, Vec<(&'r Table, RowId)>)> {
    let mut changed = 0;
    let (deleted, set): (Vec<_>, Vec<_>) = rows
        .iter()
        .partition(|to_set| to_set.current.is_some() && to_set.target.is_none());
    // Order: all deletions first, so that their keys are free.
    for to_set in deleted {
        changed += u64::from(transaction.set_row(to_set.table, to_set.row_id, None)?);
    }
    let mut again = Vec::new();
    for to_set in set {
        match put(transaction, to_set) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => again.push(to_set),
            outcome => changed += u64::from(outcome?),
        }
    }
    // Keys and unique values may have moved in a circle: they are free once no row has them.
    for to_set in &again {
        transaction.set_row(to_set.table, to_set.row_id, None)?;
    }
    let mut refused = Vec::new();
    for to_set in again {
        match put(transaction, to_set) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                transaction.set_row(to_set.table, to_set.row_id, to_set.current)?;
                refused.push((to_set.table, to_set.row_id));
            }
            outcome => changed += u64::from(outcome?),
        }
    }
    Ok((changed, refused))
}

fn put(transaction: &Transaction, to_set: &RowToSet<'_>) -> Result<bool> {
    transaction.set_row(to_set.table, to_set.row_id, to_set.target)
}
