//! Rebuilds the states of changed rows, from the latest record back to the first.

use std::collections::HashMap;

use dflat_model::record::{Before, Change, RowRecord, TableRecord};
use dflat_model::{CommitSeq, RowId, Table};
use smallvec::SmallVec;

use super::collect::{Collected, Collection};
use super::{Follow, FollowedCommit};
use crate::change_set::{RowChange, TableChanges};
use crate::error::Result;
use crate::fetch::{self, Control};
use crate::object::{Object, Origin};
use crate::storage::Snapshot;

/// The commits, the first one first; `None` if a record does not fit the states after it.
///
/// # Errors
/// The errors of reading the rows of the snapshot.
pub(super) fn commits(
    follow: &Follow<'_>,
    snapshot: &mut dyn Snapshot,
    collected: &Collected,
) -> Result<Option<Vec<FollowedCommit>>> {
    let count = collected.transactions.len() as u64;
    let mut states = States {
        snapshot,
        engine: follow.engine,
        last: CommitSeq(follow.seq.0 + count),
        rows: HashMap::new(),
    };
    let mut commits = Vec::with_capacity(collected.transactions.len());
    for (back, transaction) in collected.transactions.iter().enumerate() {
        let seq = CommitSeq(states.last.0 - back as u64);
        let Some(tables) = states.go_back(follow, collected, transaction, seq)? else {
            return Ok(None);
        };
        commits.push(FollowedCommit {
            tables,
            names: transaction.names.clone(),
        });
    }
    commits.reverse();
    Ok(Some(commits))
}

/// The states of changed rows before the records that were read so far.
struct States<'s> {
    snapshot: &'s mut dyn Snapshot,
    engine: u64,
    /// The number of the latest commit, which the snapshot sees.
    last: CommitSeq,
    /// The rows of each table. A deleted row has no object.
    rows: HashMap<String, HashMap<RowId, Option<Object>>>,
}

/// The changes of a transaction to one table, the latest part first.
struct Rebuilt {
    table: Table,
    rows: Vec<(RowId, RowChange)>,
}

impl States<'_> {
    fn origin(&self, seq: CommitSeq) -> Origin {
        Origin {
            engine: self.engine,
            seq,
            transaction: 0,
        }
    }

    /// Goes back over a transaction, and returns its changes.
    fn go_back(
        &mut self,
        follow: &Follow<'_>,
        collected: &Collected,
        transaction: &Collection,
        seq: CommitSeq,
    ) -> Result<Option<SmallVec<[TableChanges; 1]>>> {
        let mut tables: SmallVec<[Rebuilt; 1]> = SmallVec::new();
        for part in &transaction.parts {
            let Ok(record) = collected.record(part) else {
                return Ok(None);
            };
            for found in record.tables.iter().filter(|found| !found.is_empty()) {
                let Some(table) = (follow.observed)(found.table.name) else {
                    continue;
                };
                let Some(rows) = self.table(&table, found, seq)? else {
                    return Ok(None);
                };
                match tables
                    .iter_mut()
                    .find(|known| known.table.is_stored_as(&table))
                {
                    Some(known) => known.rows.extend(rows),
                    None => tables.push(Rebuilt { table, rows }),
                }
            }
        }
        let is_in_parts = transaction.parts.len() > 1;
        Ok(Some(
            tables
                .into_iter()
                .map(|rebuilt| rebuilt.into_changes(is_in_parts))
                .filter(|changes| !changes.rows.is_empty())
                .collect(),
        ))
    }

    /// Goes back over the rows of one table in a record.
    fn table(
        &mut self,
        table: &Table,
        record: &TableRecord<'_>,
        seq: CommitSeq,
    ) -> Result<Option<Vec<(RowId, RowChange)>>> {
        let Ok(records) = record.rows().collect::<Result<Vec<_>, _>>() else {
            return Ok(None);
        };
        self.read(table, &records)?;
        // Derived states are as of the commit before.
        let origin = self.origin(CommitSeq(seq.0.saturating_sub(1)));
        let Some(states) = self.rows.get_mut(table.name.as_ref()) else {
            return Ok(None);
        };
        let mut rows = Vec::with_capacity(records.len());
        for row in &records {
            let Some(state) = states.get_mut(&row.row_id) else {
                return Ok(None);
            };
            let Some(before) = state_before(table, row, state.as_ref(), origin) else {
                return Ok(None);
            };
            let after = std::mem::replace(state, before.clone());
            rows.push((row.row_id, RowChange { before, after }));
        }
        Ok(Some(rows))
    }

    /// Reads the states of the rows that no later record has changed.
    fn read(&mut self, table: &Table, records: &[RowRecord<'_>]) -> Result<()> {
        let origin = self.origin(self.last);
        let states = self.rows.entry(table.name.to_string()).or_default();
        let unknown = records.iter().map(|row| row.row_id);
        let unknown: Vec<RowId> = unknown.filter(|id| !states.contains_key(id)).collect();
        if let [row_id] = unknown[..] {
            let found = fetch::find(self.snapshot, table, row_id, origin)?;
            states.insert(row_id, found);
        } else if !unknown.is_empty() {
            let control = Control::default();
            let found = fetch::find_many(self.snapshot, table, &unknown, &control, origin)?;
            states.extend(unknown.iter().map(|row_id| (*row_id, None)));
            let found = found
                .into_iter()
                .map(|object| (object.row_id(), Some(object)));
            states.extend(found);
        }
        Ok(())
    }
}

impl Rebuilt {
    fn into_changes(self, is_in_parts: bool) -> TableChanges {
        let Self { table, mut rows } = self;
        if is_in_parts {
            // Stable: the latest part of a row stays first.
            rows.sort_by_key(|(row_id, _)| *row_id);
            rows.dedup_by(|earlier, later| {
                let is_same = earlier.0 == later.0;
                if is_same {
                    later.1.before = earlier.1.before.take();
                }
                is_same
            });
        }
        rows.retain(|(_, change)| change.before.is_some() || change.after.is_some());
        let mut objects = rows.iter().filter_map(|(_, change)| change.after.as_ref());
        let is_attached = objects.any(Object::is_attached);
        TableChanges {
            table,
            rows: rows.into(),
            inserted: None,
            // A record does not say whether a row was changed more than once.
            repeated: true,
            is_attached,
        }
    }
}

/// The state of a row before a record, if the record fits the state after it.
fn state_before(
    table: &Table,
    row: &RowRecord<'_>,
    after: Option<&Object>,
    origin: Origin,
) -> Option<Option<Object>> {
    // Another program changed the row between the transaction and the one before it.
    if row.is_foreign {
        return None;
    }
    let object = |payload: &[u8]| Object::new(table, row.row_id, origin, payload).ok();
    let before = match (row.change, after) {
        (Change::Inserted, Some(_)) => None,
        (Change::Updated(Before::Object(before)), Some(_))
        | (Change::Deleted(Some(before)), None) => Some(object(before)?),
        (Change::Updated(Before::Difference(difference)), Some(after)) => {
            let before = difference.apply(after.payload()).ok()?;
            Some(object(&before)?)
        }
        _ => return None,
    };
    Some(before)
}
