//! The keys of objects that may differ between two moments, from the steps alone.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{ScanPlan, Snapshot, Source};
use dflat_model::Table;

use crate::commits::{Content, check_kept};
use crate::past::{Moment, check_before_all, is_reached};
use crate::received::each_change;
use crate::steps::{Backwards, each_key, lacks_all, unnoted};

/// The bytes of keys that are listed at once. For more keys, the steps are read again.
const KEY_BYTES: usize = 4 << 20;

/// The memory that a key takes beside its bytes.
const KEY_OVERHEAD: usize = 64;

/// The keys of objects that may differ between two moments, in ascending order.
pub(super) struct ListedKeys {
    keys: VecDeque<Vec<u8>>,
    /// The last key that was listed.
    behind: Option<Vec<u8>>,
    /// Whether there are keys behind it.
    has_more: bool,
}

impl ListedKeys {
    /// Before the first key.
    pub(super) const fn new() -> Self {
        Self {
            keys: VecDeque::new(),
            behind: None,
            has_more: true,
        }
    }

    /// Takes the next keys; none at the end.
    ///
    /// # Errors
    /// [`NotFound`](dflat_engine::ErrorKind::NotFound) if there is no such moment, or the history
    /// of the type was forgotten since; [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if a step or
    /// a received change is damaged; otherwise the errors of reading.
    pub(super) fn take(
        &mut self,
        snapshot: &mut dyn Snapshot,
        table: &Table,
        (moments, count): (&[Moment; 2], usize),
    ) -> Result<BTreeSet<Vec<u8>>> {
        if self.keys.is_empty() && self.has_more {
            let mut smallest = Smallest {
                behind: self.behind.take(),
                keys: BTreeSet::new(),
                bytes: 0,
                is_cut: false,
            };
            list(snapshot, table, moments, &mut smallest)?;
            self.has_more = smallest.is_cut;
            self.behind = smallest.keys.last().cloned();
            self.keys = smallest.keys.into_iter().collect();
        }
        let count = count.min(self.keys.len());
        Ok(self.keys.drain(..count).collect())
    }
}

/// The smallest keys behind a key, as many as fit.
struct Smallest {
    behind: Option<Vec<u8>>,
    keys: BTreeSet<Vec<u8>>,
    bytes: usize,
    /// Whether larger ones were left out.
    is_cut: bool,
}

impl Smallest {
    fn add(&mut self, key: &[u8]) {
        let is_behind = self.behind.as_deref().is_none_or(|behind| key > behind);
        let is_left_out = self.is_cut && self.keys.last().is_some_and(|last| key > &last[..]);
        if !is_behind || is_left_out || self.keys.contains(key) {
            return;
        }
        self.keys.insert(key.to_vec());
        self.bytes += key.len() + KEY_OVERHEAD;
        while self.bytes > KEY_BYTES
            && self.keys.len() > 1
            && let Some(last) = self.keys.pop_last()
        {
            self.bytes -= last.len() + KEY_OVERHEAD;
            self.is_cut = true;
        }
    }
}

fn list(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    moments: &[Moment; 2],
    keys: &mut Smallest,
) -> Result<()> {
    let tables = std::slice::from_ref(table);
    for moment in moments {
        check_kept(snapshot, tables, moment)?;
    }
    let mut reached = moments.each_ref().map(|moment| moment.lacks(table));
    if reached[0] != reached[1] {
        // Some objects of one of the states are in no step.
        list_present(snapshot, table, keys)?;
    }
    let mut steps = Backwards::below(None);
    while reached.contains(&false) {
        let step = steps.next(snapshot)?;
        for (moment, reached) in moments.iter().zip(&mut reached) {
            *reached = *reached
                || match &step {
                    Some(step) => is_reached(step, moment)?,
                    None => check_before_all(moment).map(|()| true)?,
                };
        }
        // A step that belongs to one of the states alone.
        if let Some(step) = step
            && reached[0] != reached[1]
        {
            if lacks_all(&step, table)? {
                return Err(unnoted(table, step.id));
            }
            each_key(&step, tables, &mut |_, key| {
                keys.add(key);
                Ok(())
            })?;
        }
    }
    let [from, to] = moments.each_ref().map(Moment::received);
    let received = from.iter().chain(to).filter(|_| from != to);
    for commit in received.collect::<BTreeSet<_>>() {
        each_change(snapshot, *commit, &mut |(name, key, _)| {
            if *name == *table.name {
                keys.add(key);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Adds the keys of the present objects.
fn list_present(snapshot: &mut dyn Snapshot, table: &Table, keys: &mut Smallest) -> Result<()> {
    let content = Content::of(table);
    let plan = ScanPlan {
        table,
        source: Source::Rows,
        payload: true,
    };
    snapshot.scan(&plan, &mut |row| {
        if let Some(key) = content.key(row.payload) {
            keys.add(&key);
        }
        ControlFlow::Continue(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_keys_come_in_passes_that_leave_none_out() {
        let key = |number: u64| {
            let mut key = (number * 7919 % 50_000).to_be_bytes().to_vec();
            key.resize(1000, 7);
            key
        };
        let (mut behind, mut all, mut passes) = (None, Vec::new(), 0);
        loop {
            let mut smallest = Smallest {
                behind: behind.take(),
                keys: BTreeSet::new(),
                bytes: 0,
                is_cut: false,
            };
            (0..10_000).for_each(|number| smallest.add(&key(number)));
            (0..10_000).for_each(|number| smallest.add(&key(number)));
            assert!(smallest.bytes <= KEY_BYTES);
            behind = smallest.keys.last().cloned();
            all.extend(smallest.keys);
            passes += 1;
            if !smallest.is_cut {
                break;
            }
        }
        let mut expected: Vec<_> = (0..10_000).map(key).collect();
        expected.sort();
        assert!(all == expected && passes > 2, "{passes} passes");
    }
}
