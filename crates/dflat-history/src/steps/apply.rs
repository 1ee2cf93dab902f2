//! Sets rows to the states before.

use dflat_engine::transaction::Transaction;
use dflat_engine::{ErrorKind, Result};
use dflat_model::{RowId, Table};

/// How often [`apply_in_rounds`] begins anew. If each row needs the value of another one, it could
/// begin anew as often as there are rows.
const ROUNDS_MAX: u32 = 32;

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
    let mut deleted = 0;
    let (to_delete, set): (Vec<_>, Vec<_>) = rows
        .iter()
        .partition(|to_set| to_set.current.is_some() && to_set.target.is_none());
    // Order: all deletions first, so that their keys are free.
    for to_set in to_delete {
        deleted += u64::from(transaction.set_row(to_set.table, to_set.row_id, None)?);
    }
    let (mut changed, mut again) = (deleted, Vec::new());
    for to_set in &set {
        match or_taken(put(transaction, to_set))? {
            Some(is_changed) => changed += u64::from(is_changed),
            None => again.push(*to_set),
        }
    }
    // Keys and unique values may have moved in a circle: they are free once no row has them.
    for to_set in &again {
        transaction.set_row(to_set.table, to_set.row_id, None)?;
    }
    let mut is_left = false;
    for to_set in again {
        match or_taken(put(transaction, to_set))? {
            Some(is_changed) => changed += u64::from(is_changed),
            None => is_left = true,
        }
    }
    if !is_left {
        return Ok((changed, Vec::new()));
    }
    let (placed, left) = apply_in_rounds(transaction, &set)?;
    let left = left.iter().map(|to_set| (to_set.table, to_set.row_id));
    Ok((deleted + placed, left.collect()))
}

/// Sets rows of which some cannot have their values, because other objects have these. Returns how
/// many rows were changed, and the rows that were left as they are.
///
/// A row that is left keeps its present values, which may be the targets of other rows. So each
/// round deletes all rows, puts back those that are left, and sets the others. If another row
/// cannot be set, it is left too, and the next round begins. The rounds go through the rows forward
/// and backward in turn, so that rows in a chain, each with the value of the next, are found in one
/// or two rounds. After the last round, all rows are left.
fn apply_in_rounds<'a, 'r>(
    transaction: &Transaction,
    set: &[&'a RowToSet<'r>],
) -> Result<(u64, Vec<&'a RowToSet<'r>>)> {
    let (mut rest, mut left) = (set.to_vec(), Vec::new());
    for _ in 0..ROUNDS_MAX {
        put_all_back(transaction, set, &left)?;
        let (mut changed, mut placed, left_before) = (0, Vec::new(), left.len());
        for to_set in rest.into_iter().rev() {
            if or_taken(put(transaction, to_set))?.is_some() {
                changed += u64::from(to_set.current != to_set.target);
                placed.push(to_set);
            } else {
                left.push(to_set);
                // If another row has taken its values, the next round puts it back.
                or_taken(put_back(transaction, to_set))?;
            }
        }
        if left.len() == left_before {
            return Ok((changed, left));
        }
        rest = placed;
    }
    put_all_back(transaction, set, set)?;
    Ok((0, set.to_vec()))
}

/// Deletes rows, and puts some of them back.
fn put_all_back(
    transaction: &Transaction,
    rows: &[&RowToSet<'_>],
    back: &[&RowToSet<'_>],
) -> Result<()> {
    for row in rows {
        transaction.set_row(row.table, row.row_id, None)?;
    }
    back.iter()
        .try_for_each(|row| put_back(transaction, row).map(drop))
}

/// The outcome of setting a row; `None` if another object has its key or a unique value.
fn or_taken(outcome: Result<bool>) -> Result<Option<bool>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn put_back(transaction: &Transaction, to_set: &RowToSet<'_>) -> Result<bool> {
    transaction.set_row(to_set.table, to_set.row_id, to_set.current)
}

fn put(transaction: &Transaction, to_set: &RowToSet<'_>) -> Result<bool> {
    transaction.set_row(to_set.table, to_set.row_id, to_set.target)
}
