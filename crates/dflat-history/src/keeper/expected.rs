//! The states in which the steps have left the rows.

use std::collections::{BTreeMap, HashSet};

use dflat_engine::Result;
use dflat_engine::storage::Snapshot;
use dflat_model::record::{Before, Change, payload_hash};
use dflat_model::{RowId, Table, Value, key};

use crate::commits::Content;
use crate::past::Place;
use crate::steps::{Backwards, each_row, lacks_all};

/// The rows that the steps since a place have changed.
pub(super) struct Expected {
    pub(super) rows: BTreeMap<RowId, ExpectedRow>,
    /// The encoded keys that these rows had since the place.
    pub(super) keys: HashSet<Vec<u8>>,
}

/// A row as the latest step has left it.
pub(super) struct ExpectedRow {
    pub(super) key: Vec<Value>,
    pub(super) state: ExpectedState,
}

/// The state of a row as far as the latest step shows it.
#[derive(Clone, Copy)]
pub(super) enum ExpectedState {
    /// There is no such row.
    Absent,
    /// There is the row. Its payload is not known.
    Present,
    /// There is the row, and its payload has this length and hash.
    Hashed(usize, u64),
}

impl ExpectedState {
    /// Whether a payload is the one that the step has left; `None` if the step does not show this.
    pub(super) fn is(self, payload: Option<&[u8]>) -> Option<bool> {
        match (self, payload) {
            (Self::Absent, payload) => Some(payload.is_none()),
            (_, None) => Some(false),
            (Self::Present, Some(_)) => None,
            (Self::Hashed(length, hash), Some(payload)) => {
                Some(payload.len() == length && payload_hash(payload) == hash)
            }
        }
    }
}

impl Expected {
    /// Reads the steps since a place, or all steps without one. A step before which all states are
    /// lost ends the reading. `None` if the steps have changed more rows than `rows_max`.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) for a step that cannot be read;
    /// otherwise the errors of reading.
    pub(super) fn since(
        snapshot: &mut dyn Snapshot,
        table: &Table,
        place: Option<&Place>,
        rows_max: usize,
    ) -> Result<Option<Self>> {
        let content = Content::of(table);
        let mut expected = Self {
            rows: BTreeMap::new(),
            keys: HashSet::new(),
        };
        let mut steps = Backwards::below(None);
        while let Some(step) = steps.next(snapshot)?
            && !place.is_some_and(|place| place.is_at(&step))
        {
            each_row(&step, &mut |name, row| {
                if *name != *table.name {
                    return Ok(());
                }
                let state = match row.change {
                    Change::Mended => return Ok(()),
                    Change::Inserted | Change::Updated(Before::Unknown) => ExpectedState::Present,
                    Change::Updated(Before::Object(before)) => {
                        expected.keys.extend(content.key(before));
                        ExpectedState::Present
                    }
                    Change::Updated(Before::Difference(difference)) => {
                        let (length, hash) = difference.after();
                        ExpectedState::Hashed(length, hash)
                    }
                    Change::Deleted(_) => ExpectedState::Absent,
                };
                expected.keys.insert(key::encode(row.key.iter().copied()));
                expected.rows.entry(row.row_id).or_insert_with(|| {
                    let key = row.key.iter().map(|part| part.to_value()).collect();
                    ExpectedRow { key, state }
                });
                Ok(())
            })?;
            if expected.rows.len() > rows_max {
                return Ok(None);
            }
            if lacks_all(&step, table)? {
                break;
            }
        }
        Ok(Some(expected))
    }
}
