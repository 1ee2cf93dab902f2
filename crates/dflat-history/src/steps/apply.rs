//! Sets rows to the states before.

use dflat_engine::transaction::Transaction;
use dflat_engine::{ErrorKind, Result};
use dflat_model::{RowId, Table};

/// The most rounds in which rows are set that cannot all have their values. Rows that need the
/// values of each other in a long chain, in any order, could take as many rounds as there are rows.
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
    let mut changed = 0;
    let (deleted, set): (Vec<_>, Vec<_>) = rows
        .iter()
        .partition(|to_set| to_set.current.is_some() && to_set.target.is_none());
    // Order: all deletions first, so that their keys are free.
    for to_set in deleted {
        changed += u64::from(transaction.set_row(to_set.table, to_set.row_id, None)?);
    }
    let mut again = Vec::new();
    for to_set in &set {
        match put(transaction, to_set) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => again.push(*to_set),
            outcome => changed += u64::from(outcome?),
        }
    }
    // Keys and unique values may have moved in a circle: they are free once no row has them.
    for to_set in &again {
        transaction.set_row(to_set.table, to_set.row_id, None)?;
    }
    let mut is_refused = false;
    for to_set in again {
        match put(transaction, to_set) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => is_refused = true,
            outcome => changed += u64::from(outcome?),
        }
    }
    if !is_refused {
        return Ok((changed, Vec::new()));
    }
    let deleted = rows.len() - set.len();
    let (placed, refused) = apply_in_rounds(transaction, &set)?;
    let refused = refused.iter().map(|to_set| (to_set.table, to_set.row_id));
    Ok((deleted as u64 + placed, refused.collect()))
}

/// Sets rows of which some cannot have their values, because another object has them. Returns how
/// many rows were changed, and those that were left as they are.
///
/// A row that is left gets its present values back, which another of the rows may have taken. So
/// each round deletes all rows, sets those that are left to their present values, and the others to
/// their targets; a round that leaves another row is followed by the next one, in the other order,
/// because a row may need the value of the row after it or before it. If many rounds do not
/// suffice, all rows are left.
fn apply_in_rounds<'a, 'r>(
    transaction: &Transaction,
    set: &[&'a RowToSet<'r>],
) -> Result<(u64, Vec<&'a RowToSet<'r>>)> {
    let (mut rest, mut refused) = (set.to_vec(), Vec::<&RowToSet<'r>>::new());
    for round in 1.. {
        for to_set in set {
            transaction.set_row(to_set.table, to_set.row_id, None)?;
        }
        for to_set in &refused {
            put_back(transaction, to_set)?;
        }
        let (mut changed, mut placed, known) = (0, Vec::new(), refused.len());
        for to_set in rest.into_iter().rev() {
            match put(transaction, to_set) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    refused.push(to_set);
                    // If another row has taken its values, the next round puts it back.
                    match put_back(transaction, to_set) {
                        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                            return Err(error);
                        }
                        _ => {}
                    }
                }
                Err(error) => return Err(error),
                Ok(_) => {
                    changed += u64::from(to_set.current != to_set.target);
                    placed.push(to_set);
                }
            }
        }
        if refused.len() == known {
            return Ok((changed, refused));
        }
        rest = placed;
        if round == ROUNDS_MAX {
            refused.append(&mut rest);
        }
    }
    Ok((0, refused))
}

fn put_back(transaction: &Transaction, to_set: &RowToSet<'_>) -> Result<bool> {
    transaction.set_row(to_set.table, to_set.row_id, to_set.current)
}

fn put(transaction: &Transaction, to_set: &RowToSet<'_>) -> Result<bool> {
    transaction.set_row(to_set.table, to_set.row_id, to_set.target)
}
