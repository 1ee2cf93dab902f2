//! Finds lost states in everything that the history keeps.

use std::collections::HashMap;
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_model::record::{Before, Change, payload_hash};
use dflat_model::{RowId, Table, Value, key};

use super::unnoted::{StateBefore, UnnotedChange, UnnotedRow};
use crate::chunk::Address;
use crate::commit_id::CommitId;
use crate::commits::Content;
use crate::received::{each_change, has_part};
use crate::steps::{Backwards, each_row};

/// A state to find, by the key of its object.
struct Wanted {
    /// The place of its row among the rows.
    place: usize,
    row_id: RowId,
    hash: Address,
    /// The length and the hash of its payload, if the latest step of the row has them.
    exact: Option<(usize, u64)>,
    /// Whether that step was read.
    is_settled: bool,
    payloads: Vec<Vec<u8>>,
}

/// Finds the states of rows of which only the hash is known: in the steps that have an object
/// whole, and in the changes of received commits.
///
/// # Errors
/// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if a step or a part is damaged;
/// otherwise the errors of reading.
pub(super) fn find_lost(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    rows: &mut [UnnotedRow],
) -> Result<()> {
    let mut wanted = Sought {
        content: Content::of(table),
        by_key: HashMap::new(),
    };
    for (place, row) in rows.iter().enumerate() {
        if let UnnotedChange::Updated(before) | UnnotedChange::Deleted(before) = &row.change
            && let StateBefore::Lost(Some(hash)) = before
        {
            let key = key::encode(row.key.iter().map(Value::as_ref));
            let of_row = Wanted {
                place,
                row_id: row.row_id,
                hash: *hash,
                exact: None,
                is_settled: false,
                payloads: Vec::new(),
            };
            wanted.by_key.insert(key, of_row);
        }
    }
    if wanted.by_key.is_empty() {
        return Ok(());
    }
    wanted.read_steps(writer, table)?;
    wanted.read_received(writer, table)?;
    for of_row in wanted.by_key.into_values() {
        let is_exact = |payload: &&Vec<u8>| {
            of_row
                .exact
                .is_none_or(|exact| exact == (payload.len(), payload_hash(payload)))
        };
        if let (Some(payload), Some(row)) = (
            of_row.payloads.iter().find(is_exact),
            rows.get_mut(of_row.place),
        ) && let UnnotedChange::Updated(before) | UnnotedChange::Deleted(before) =
            &mut row.change
        {
            *before = StateBefore::Known(payload.clone());
        }
    }
    Ok(())
}

struct Sought<'s> {
    content: Content<'s>,
    by_key: HashMap<Vec<u8>, Wanted>,
}

impl Sought<'_> {
    /// Takes a payload that may be a wanted one.
    fn take(&mut self, payload: &[u8]) {
        let key = self.content.key(payload);
        let Some(wanted) = key.and_then(|key| self.by_key.get_mut(&key)) else {
            return;
        };
        let is_known = wanted.payloads.iter().any(|known| known == payload);
        let hash = self.content.bytes(wanted.row_id, payload);
        if !is_known && hash.is_ok_and(|bytes| Address::of(&bytes) == wanted.hash) {
            wanted.payloads.push(payload.to_vec());
        }
    }

    fn read_steps(&mut self, writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
        let mut steps = Backwards::below(None);
        while let Some(step) = steps.next(writer as &mut dyn Snapshot)? {
            each_row(&step, &mut |name, row| {
                if *name != *table.name || row.change == Change::Mended {
                    return Ok(());
                }
                let key = key::encode(row.key.iter().copied());
                if let Some(wanted) = self.by_key.get_mut(&key)
                    && wanted.row_id == row.row_id
                    && !std::mem::replace(&mut wanted.is_settled, true)
                    && let Change::Updated(Before::Difference(difference)) = row.change
                {
                    // Older steps of the row fit these bytes alone.
                    wanted.exact = Some(difference.after());
                }
                match row.change {
                    Change::Updated(Before::Object(before)) | Change::Deleted(Some(before)) => {
                        self.take(before);
                    }
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn read_received(&mut self, writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
        let mut ids = Vec::new();
        writer.all_named(NamedTable::Commits, None, &mut |row| {
            ids.extend(row.name.try_into().map(CommitId::from_bytes));
            ControlFlow::Continue(())
        })?;
        for id in ids {
            if !has_part(writer, id, 0)? {
                continue;
            }
            each_change(writer, id, &mut |(name, _, payload)| {
                if let Some(payload) = payload
                    && *name == *table.name
                {
                    self.take(payload);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
