//! The trees of present states, from earlier trees and the steps since.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{ScanPlan, Snapshot, Source, StepId};
use dflat_model::{RowId, Table};

use super::content::Content;
use crate::chunk::Address;
use crate::past::{Moment, Overlay};
use crate::steps::{Backwards, State, unnoted};
use crate::tree::{Edit, Root, Trees};

/// The id of the latest step; 0 without steps.
///
/// # Errors
/// The errors of reading.
pub(crate) fn latest(snapshot: &mut dyn Snapshot) -> Result<StepId> {
    let step = Backwards::below(None).next(snapshot)?;
    Ok(step.map_or(StepId(0), |step| step.id))
}

/// The edits that lead from the tree of an earlier state to that of the present one.
///
/// # Errors
/// The errors of reading and of the objects.
pub(super) fn edits(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    earlier: &Overlay,
) -> Result<BTreeMap<Vec<u8>, Option<Address>>> {
    let content = Content::of(table);
    let mut edits = BTreeMap::new();
    let Some(past) = earlier.table(table) else {
        return Ok(edits);
    };
    if let Some(step) = past.unnoted() {
        return Err(unnoted(table, step));
    }
    for state in past.rows().values() {
        let key = match state {
            State::Known(payload) => payload.as_deref().and_then(|of| content.key(of)),
            State::Lost(lost) => lost.encoded_key(),
        };
        edits.extend(key.map(|key| (key, None)));
    }
    let row_ids: Vec<RowId> = past.row_ids().collect();
    let plan = ScanPlan {
        table,
        source: Source::RowIds(&row_ids),
        payload: true,
    };
    let mut failed = None;
    snapshot.scan(&plan, &mut |row| {
        match content.entry(row.row_id, row.payload) {
            Ok(entry) => edits.extend(entry.map(|(key, hash)| (key, Some(hash)))),
            Err(error) => failed = Some(error),
        }
        match failed.is_none() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    failed.map_or(Ok(edits), Err)
}

/// The trees of the present state, in the order of the tables, from those of a moment. A table is
/// left out if a step since lacks the states of all its objects before.
///
/// # Errors
/// The errors of reading, of the objects and of the trees.
pub(super) fn advance(
    trees: &Trees,
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    (moment, roots): (&Moment, &BTreeMap<String, Root>),
) -> Result<BTreeMap<String, Root>> {
    let earlier = Overlay::build(snapshot, tables, moment)?;
    let mut advanced = BTreeMap::new();
    for table in tables {
        let Some(root) = roots.get(table.name.as_ref()) else {
            continue;
        };
        let past = earlier.table(table);
        if past.is_some_and(|past| past.unnoted().is_some()) {
            continue;
        }
        let edits = edits(snapshot, table, &earlier)?.into_iter();
        let edits = edits.map(|(key, payload)| Edit {
            key: key.into(),
            payload,
        });
        advanced.insert(table.name.to_string(), trees.apply(root, edits)?);
    }
    Ok(advanced)
}
