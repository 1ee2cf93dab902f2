//! The values of a unique index that several objects have.

use std::ops::{Bound, ControlFlow};

use dflat_model::{Direction, Table, Value};

use super::super::row::{entry_values, key_parts};
use crate::error::Result;
use crate::fetch;
use crate::storage::{Backend, Key, KeyScan, ScanPlan, Source, View};
use crate::sync::Arc;

/// Limit of the objects that are reported as duplicates of an index: a list for a person to read,
/// which must not grow with the table.
const DUPLICATES_MAX: usize = 1000;

/// Values that should be unique, but belong to several objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Duplicate {
    /// The values of the index's fields.
    pub values: Vec<Value>,
    /// The primary keys of the objects that have these values.
    pub keys: Vec<Vec<Value>>,
}

/// The values of a unique index that more than one object has.
pub(super) fn duplicates(
    backend: &Arc<dyn Backend>,
    table: &Table,
    position: usize,
) -> Result<Vec<Duplicate>> {
    let Some(index) = table.indexes.get(position) else {
        return Ok(Vec::new());
    };
    let plan = ScanPlan {
        table,
        source: Source::Key(KeyScan {
            key: Key::Index(position),
            prefix: &[],
            lower: Bound::Excluded(&Value::Null),
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            after: None,
        }),
        payload: true,
    };
    let mut found: Vec<Duplicate> = Vec::new();
    let mut before: Option<Duplicate> = None;
    let mut count = 0;
    let mut failure = None;
    let mut snapshot = Arc::clone(backend).snapshot(View::Pinned)?;
    snapshot.scan(&plan, &mut |row| {
        let read = || {
            let values = entry_values(table, index, row.payload).ok()?;
            let key = key_parts(table, row.payload).ok()?;
            let key: Vec<Value> = key.as_slice().iter().map(|part| part.to_value()).collect();
            Some((values, key))
        };
        let Some((values, key)) = read() else {
            failure = Some(fetch::corrupt(table, row.row_id));
            return ControlFlow::Break(());
        };
        let Some(values) = values.to_values().filter(|_| values.can_conflict()) else {
            return ControlFlow::Continue(());
        };
        match &mut before {
            Some(same) if same.values == values => {
                count += 1;
                same.keys.push(key);
            }
            _ => {
                let next = Duplicate {
                    values,
                    keys: vec![key],
                };
                let last = before.replace(next);
                found.extend(last.filter(|last| last.keys.len() > 1));
            }
        }
        if count >= DUPLICATES_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    found.extend(before.filter(|last| last.keys.len() > 1));
    failure.map_or(Ok(found), Err)
}
