//! The objects that differ between two moments, from the steps alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_model::{RowId, Table};

use super::change::ObjectChange;
use crate::commits::{Content, check_kept};
use crate::past::{Moment, Overlay, PastTable};

/// An object in one of the states.
type State = Option<(RowId, Vec<u8>)>;

/// The changes between two moments, in order of the keys. The objects that have changed since the
/// earlier moment are in memory.
///
/// # Errors
/// [`NotFound`](dflat_engine::ErrorKind::NotFound) if the history of the type was forgotten since;
/// otherwise the errors of going back, and of reading.
pub(super) fn listed(
    snapshot: &mut dyn Snapshot,
    tables: &[Table],
    table: &Table,
    (from, to): (&Moment, &Moment),
) -> Result<Vec<ObjectChange>> {
    for moment in [from, to] {
        check_kept(snapshot, std::slice::from_ref(table), moment)?;
    }
    let content = Content::of(table);
    let overlays = [
        Overlay::build(snapshot, tables, from)?,
        Overlay::build(snapshot, tables, to)?,
    ];
    let [from, to] = overlays.each_ref().map(|overlay| overlay.table(table));
    let pasts = [from, to].into_iter().flatten();
    let mut row_ids: BTreeSet<RowId> = pasts.flat_map(PastTable::row_ids).collect();
    let is_whole = |past: Option<&PastTable>| past.is_some_and(PastTable::is_whole);
    let present = present(snapshot, table, &row_ids, is_whole(from) != is_whole(to))?;
    row_ids.extend(present.keys());
    let mut changes: BTreeMap<Vec<u8>, (State, State)> = BTreeMap::new();
    for row_id in row_ids {
        let [from, to] =
            [from, to].map(
                |past| match past.and_then(|past| past.rows().get(&row_id)) {
                    Some(state) => state.clone(),
                    None if is_whole(past) => None,
                    None => present.get(&row_id).cloned(),
                },
            );
        if from == to {
            continue;
        }
        for (state, is_from) in [(from, true), (to, false)] {
            if let Some(payload) = state
                && let Some(key) = content.key(&payload)
            {
                let (from, to) = changes.entry(key).or_default();
                *(if is_from { from } else { to }) = Some((row_id, payload));
            }
        }
    }
    let mut listed = Vec::new();
    for (key, (before, after)) in changes {
        // Other bytes may have the same values.
        if let (Some((row_id, before)), Some((other, after))) = (&before, &after)
            && content.bytes(*row_id, before)? == content.bytes(*other, after)?
        {
            continue;
        }
        listed.push(ObjectChange { key, before, after });
    }
    Ok(listed)
}

/// The present rows with these ids, or all.
fn present(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    row_ids: &BTreeSet<RowId>,
    all: bool,
) -> Result<BTreeMap<RowId, Vec<u8>>> {
    let row_ids: Vec<RowId> = row_ids.iter().copied().collect();
    let mut present = BTreeMap::new();
    let plan = ScanPlan {
        table,
        source: match all {
            true => Source::Rows,
            false => Source::RowIds(&row_ids),
        },
        payload: true,
    };
    snapshot.scan(&plan, &mut |row| {
        present.insert(row.row_id, row.payload.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(present)
}
