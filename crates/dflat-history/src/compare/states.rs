//! The states of some objects at earlier moments, by their keys.

use std::collections::{BTreeMap, BTreeSet};

use dflat_engine::Result;
use dflat_engine::storage::Snapshot;
use dflat_model::record::{Before, Change, RowRecord};
use dflat_model::{RowId, Table};

use crate::commits::{CommitId, Content, check_kept, place};
use crate::past::{Moment, check_before_all, is_reached, rows_with_keys};
use crate::received::changes_between;
use crate::steps::{Backwards, StoredStep, each_row, misfit, state_before};

/// Objects by their keys: the row id and the payload of each. An object that a received commit has
/// changed has no row id.
pub type KeyedStates = BTreeMap<Vec<u8>, (Option<RowId>, Vec<u8>)>;

/// A moment, and the keys of objects that are wanted as they were then.
pub type Wanted<'k> = (Moment, &'k BTreeSet<Vec<u8>>);

/// The rows that have some keys, at a moment between the present and the earliest step.
struct Walk<'w> {
    table: &'w Table,
    content: Content<'w>,
    keys: BTreeSet<&'w Vec<u8>>,
    rows: BTreeMap<RowId, Vec<u8>>,
}

/// The objects with some keys, as they were in each of these commits, which this file may have made
/// or received.
///
/// # Errors
/// As [`states_at`]; [`ErrorKind::NotFound`](dflat_engine::ErrorKind::NotFound) if there is no such
/// commit.
pub fn objects_at(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    wanted: &[(CommitId, BTreeSet<Vec<u8>>)],
) -> Result<Vec<KeyedStates>> {
    let wanted = wanted
        .iter()
        .map(|(id, keys)| Ok((Moment::Commit(place(snapshot, *id)?), keys)));
    let wanted = wanted.collect::<Result<Vec<_>>>()?;
    states_at(snapshot, table, &wanted)
}

/// The objects with some keys, as they were at each of these moments. The memory is in proportion
/// to the keys, all steps back to the earliest moment are read once, and so are the changes of the
/// received commits that lead from there to the moments.
///
/// # Errors
/// [`NotFound`](dflat_engine::ErrorKind::NotFound) if the history has no such step, or the history
/// of the type was forgotten since a commit; [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if a
/// step does not fit the objects; otherwise the errors of reading.
pub fn states_at(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    wanted: &[Wanted<'_>],
) -> Result<Vec<KeyedStates>> {
    for (moment, _) in wanted {
        check_kept(snapshot, std::slice::from_ref(table), moment)?;
    }
    let keys: BTreeSet<&Vec<u8>> = wanted.iter().flat_map(|(_, keys)| *keys).collect();
    let mut walk = Walk {
        table,
        content: Content::of(table),
        rows: rows_with_keys(snapshot, table, keys.iter().copied())?,
        keys,
    };
    let mut found: Vec<Option<KeyedStates>> = wanted
        .iter()
        .map(|(moment, _)| moment.is_without_steps().then(KeyedStates::new))
        .collect();
    let mut steps = Backwards::below(None);
    while found.iter().any(Option::is_none) {
        let step = steps.next(snapshot)?;
        for ((moment, keys), found) in wanted.iter().zip(&mut found) {
            if found.is_some() {
                continue;
            }
            let is_here = match &step {
                Some(step) => is_reached(step, moment)?,
                None => {
                    check_before_all(moment)?;
                    true
                }
            };
            *found = is_here.then(|| walk.by_key(keys));
        }
        if let Some(step) = step
            && found.iter().any(Option::is_none)
        {
            walk.go_back(&step)?;
        }
    }
    let mut states = found.into_iter().flatten().collect::<Vec<_>>();
    go_forward(snapshot, table, wanted, &mut states)?;
    Ok(states)
}

/// The latest changes of objects, by key, and how many commits come after each.
type Latest = BTreeMap<Vec<u8>, (usize, Option<Vec<u8>>)>;

/// Goes forward over the changes of received commits: those of each wanted moment, the last one
/// first. The changes of each commit are read once, from the first wanted key to the last.
fn go_forward(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    wanted: &[Wanted<'_>],
    states: &mut [KeyedStates],
) -> Result<()> {
    // The moments that need a commit: their numbers, and how many commits come after it.
    let mut needs: BTreeMap<CommitId, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, (moment, _)) in wanted.iter().enumerate() {
        for (after, commit) in moment.received().iter().enumerate() {
            needs.entry(*commit).or_default().push((number, after));
        }
    }
    let mut latest: Vec<Latest> = vec![Latest::new(); wanted.len()];
    for (commit, needs) in needs {
        let keys = || needs.iter().filter_map(|(number, _)| wanted.get(*number));
        let first = keys().filter_map(|(_, keys)| keys.first()).min();
        let last = keys().filter_map(|(_, keys)| keys.last()).max();
        let Some((first, last)) = first.zip(last) else {
            continue;
        };
        let between = (&first[..], &last[..]);
        changes_between(snapshot, commit, &table.name, between, &mut |(
            _,
            key,
            payload,
        )| {
            for (number, after) in &needs {
                let is_wanted = wanted
                    .get(*number)
                    .is_some_and(|(_, keys)| keys.contains(key));
                let Some(latest) = latest.get_mut(*number).filter(|_| is_wanted) else {
                    continue;
                };
                if latest.get(key).is_none_or(|(known, _)| known > after) {
                    let change = (*after, payload.map(<[u8]>::to_vec));
                    latest.insert(key.to_vec(), change);
                }
            }
            Ok(())
        })?;
    }
    for (latest, states) in latest.into_iter().zip(states) {
        for (key, (_, payload)) in latest {
            match payload {
                Some(payload) => drop(states.insert(key, (None, payload))),
                None => drop(states.remove(&key)),
            }
        }
    }
    Ok(())
}

impl Walk<'_> {
    fn by_key(&self, keys: &BTreeSet<Vec<u8>>) -> KeyedStates {
        let rows = self.rows.iter();
        let keyed = rows.filter_map(|(row_id, payload)| {
            let key = self.content.key(payload)?;
            let is_wanted = keys.contains(&key);
            is_wanted.then(|| (key, (Some(*row_id), payload.clone())))
        });
        keyed.collect()
    }

    /// Goes back over a step. The difference of an update never hides another key before it, so a
    /// row whose state is not known has none of the keys until a step has its whole state.
    fn go_back(&mut self, step: &StoredStep) -> Result<()> {
        let name = self.table.name.clone();
        each_row(step, &mut |table, row| {
            if *table != *name {
                return Ok(());
            }
            let before = match self.rows.remove(&row.row_id) {
                Some(after) => state_before(row, Some(after))
                    .map_err(|why| misfit(step.id, row.row_id, why))?,
                None => whole_before(row),
            };
            if let Some(before) = before
                && self
                    .content
                    .key(&before)
                    .is_some_and(|key| self.keys.contains(&key))
            {
                self.rows.insert(row.row_id, before);
            }
            Ok(())
        })
    }
}

/// The state before a change, if the step has it whole.
fn whole_before(row: &RowRecord<'_>) -> Option<Vec<u8>> {
    match row.change {
        Change::Deleted(before) => before.map(<[u8]>::to_vec),
        Change::Updated(Before::Object(before)) => Some(before.to_vec()),
        _ => None,
    }
}
