//! The states of some objects at earlier moments, by their keys.

use std::collections::{BTreeMap, BTreeSet};

use dflat_engine::Result;
use dflat_engine::storage::{Snapshot, StepId};
use dflat_model::record::{Before, Change, RowRecord};
use dflat_model::{RowId, Table};

use crate::commits::{CommitId, Content, check_kept, place};
use crate::past::{Moment, check_before_all, is_reached, rows_with_keys};
use crate::received::changes_between;
use crate::steps::{
    Backwards, Lost, State, StoredStep, check_notes, each_row, lacks_all, state_before, unnoted,
};

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
    /// The rows that have one of the keys, and whose states are lost.
    lost: BTreeMap<RowId, Lost>,
    /// The latest step before which the states of all other rows are lost.
    unnoted: Option<StepId>,
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
/// step does not fit the objects; [`OutOfDate`](dflat_engine::ErrorKind::OutOfDate) if changes of
/// a program that has prevented notes are in no step yet; otherwise the errors of reading.
pub fn states_at(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    wanted: &[Wanted<'_>],
) -> Result<Vec<KeyedStates>> {
    for (moment, _) in wanted {
        check_kept(snapshot, std::slice::from_ref(table), moment)?;
    }
    check_notes(snapshot, std::slice::from_ref(table))?;
    let keys: BTreeSet<&Vec<u8>> = wanted.iter().flat_map(|(_, keys)| *keys).collect();
    let mut walk = Walk {
        table,
        content: Content::of(table),
        rows: rows_with_keys(snapshot, table, keys.iter().copied())?,
        keys,
        lost: BTreeMap::new(),
        unnoted: None,
    };
    let mut found: Vec<Option<KeyedStates>> = wanted
        .iter()
        .map(|(moment, _)| moment.lacks(table).then(KeyedStates::new))
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
            if is_here {
                *found = Some(walk.by_key(keys)?);
            }
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
    fn by_key(&self, keys: &BTreeSet<Vec<u8>>) -> Result<KeyedStates> {
        let rows = self.rows.iter();
        let keyed = rows.filter_map(|(row_id, payload)| {
            let key = self.content.key(payload)?;
            let is_wanted = keys.contains(&key);
            is_wanted.then(|| (key, (Some(*row_id), payload.clone())))
        });
        let found: KeyedStates = keyed.collect();
        let mut missing = keys.iter().filter(|key| !found.contains_key(*key));
        if let Some(step) = self.unnoted
            && missing.next().is_some()
        {
            return Err(unnoted(self.table, step));
        }
        let mut lost = self.lost.values();
        let is_wanted = |lost: &&Lost| lost.encoded_key().is_some_and(|key| keys.contains(&key));
        match lost.find(is_wanted) {
            Some(lost) => Err(lost.error(self.table)),
            None => Ok(found),
        }
    }

    /// Goes back over a step. The difference of an update never hides another key before it, so a
    /// row whose state is not known has none of the keys until a step has its whole state.
    fn go_back(&mut self, step: &StoredStep) -> Result<()> {
        let name = self.table.name.clone();
        if lacks_all(step, self.table)? {
            self.rows.clear();
            self.lost.clear();
            self.unnoted = Some(step.id);
        }
        each_row(step, &mut |table, row| {
            if *table != *name {
                return Ok(());
            }
            let after = match (self.rows.remove(&row.row_id), self.lost.remove(&row.row_id)) {
                (Some(after), _) => Some(State::Known(Some(after))),
                (None, Some(lost)) => Some(State::Lost(lost)),
                (None, None) => None,
            };
            let before = match after {
                Some(after) => state_before(step, row, after)?,
                None => whole_before(step, row)?,
            };
            let key = match &before {
                State::Known(payload) => payload.as_deref().and_then(|of| self.content.key(of)),
                State::Lost(lost) => lost.encoded_key(),
            };
            if key.is_some_and(|key| self.keys.contains(&key)) {
                match before {
                    State::Known(payload) => {
                        self.rows
                            .extend(payload.map(|payload| (row.row_id, payload)));
                    }
                    State::Lost(lost) => drop(self.lost.insert(row.row_id, lost)),
                }
            }
            Ok(())
        })
    }
}

/// The state before a change, as far as the step has it whole.
fn whole_before(step: &StoredStep, row: &RowRecord<'_>) -> Result<State> {
    match row.change {
        Change::Updated(Before::Difference(_)) | Change::Inserted | Change::Mended => {
            Ok(State::Known(None))
        }
        // The state after the change does not matter.
        Change::Updated(_) => state_before(step, row, State::Known(Some(Vec::new()))),
        Change::Deleted(_) => state_before(step, row, State::Known(None)),
    }
}
