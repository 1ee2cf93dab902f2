//! What waits to be delivered: transactions that have ended, and what takes its place between them.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dflat_model::{CommitSeq, Table};

use crate::change_set::{ChangeSet, Completion, Ended, TableChanges};
use crate::error::Result;
use crate::sync::{Arc, JoinHandle};

/// Calls to make, one at a time, by who has the turn.
pub trait Calls: Send + Sync {
    /// Makes the next call; false if there is none, or the turn is another's.
    fn make_next(&self, turn: u64) -> bool;

    /// How many calls have begun.
    fn progress(&self) -> u64;

    /// Leaves the call that is being made to who makes it; the turn of who makes the others. Who
    /// made it is waited for again once a call took less than `quick`.
    fn give_up(&self, quick: Duration) -> u64;
}

/// What is done with each transaction that has ended.
pub trait Deliver: Send + Sync {
    /// The calls that follow from what was changed, if there are any. It calls no user code.
    fn publish(&self, changes: &ChangeSet) -> Option<Arc<dyn Calls>>;

    /// The calls that follow from what somebody else has written, nobody knows what. It calls no
    /// user code.
    fn renew(&self) -> Option<Arc<dyn Calls>>;

    /// Whether somebody may keep objects of a table that he is told of. It waits for nobody.
    fn is_observed(&self, table: &Table) -> bool;

    /// Calls the completion.
    fn complete(&self, outcome: Result<()>, completion: Completion);
}

/// Something that takes its place between the transactions: the calls that follow from it. It calls
/// no user code.
pub type Registration = Box<dyn FnOnce() -> Option<Arc<dyn Calls>> + Send>;

pub(super) enum Item {
    Ended(Ended),
    Registration(Registration),
    /// Somebody else has written.
    Foreign,
}

/// When an item was pushed, and the item.
pub(super) type Pushed = (Instant, Item);

/// From how many waiting items on too much waits.
const CROWD: usize = 1024;

/// What is to be delivered, and by whom.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Pushed>,
    /// The item whose calls are being made.
    pub(super) current: Option<Current>,
    /// A thread empties the queue.
    pub(super) active: bool,
    pub(super) pushed: u64,
    pub(super) delivered: u64,
    /// The latest commit that changed each table.
    changed: HashMap<String, CommitSeq>,
    /// The same of the table that was changed last: it is often the one that is changed next.
    changed_last: Option<(Table, CommitSeq)>,
    /// The commit before which somebody else has written: what is known as of an earlier one may be
    /// out of date, whatever its table.
    pub(super) overtaken: CommitSeq,
    /// How often that was noticed.
    pub(super) renewals: u64,
    /// The queue's own thread is asked to empty it.
    pub(super) handed_over: bool,
    /// Which of the threads that the queue has had is its own.
    pub(super) generation: u64,
    pub(super) stopped: bool,
    pub(super) thread: Option<JoinHandle<()>>,
    pub(super) watcher: Option<JoinHandle<()>>,
    /// The watcher waits to be needed.
    pub(super) unwatched: bool,
}

/// An item whose calls are being made, and what follows them.
pub(super) struct Current {
    /// When it was pushed.
    pub(super) since: Instant,
    pub(super) calls: Arc<dyn Calls>,
    pub(super) turn: u64,
    pub(super) ended: Option<(ChangeSet, Completion)>,
}

/// The calls of an item that nothing follows.
pub(super) fn alone(
    since: Instant,
    calls: impl FnOnce() -> Option<Arc<dyn Calls>>,
) -> Option<Current> {
    let calls = catch_unwind(AssertUnwindSafe(calls)).ok().flatten()?;
    Some(Current {
        since,
        calls,
        turn: 0,
        ended: None,
    })
}

/// What changes whenever a call begins: how many items have ended, the turn, and how many of its
/// calls have begun.
pub(super) type Progress = (u64, u64, u64);

impl Queue {
    pub(super) fn progress(&self) -> Option<Progress> {
        let current = self.current.as_ref().filter(|_| self.active)?;
        Some((self.delivered, current.turn, current.calls.progress()))
    }

    /// Whether too many items wait for the calls that are being made.
    pub(super) fn is_crowded(&self) -> bool {
        self.waiting.len() >= CROWD
    }

    /// How long ago the item was pushed whose calls are being made.
    pub(super) fn age(&self) -> Duration {
        let since = self.current.as_ref().map(|current| current.since);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Notes which tables a commit changed.
    pub(super) fn note(&mut self, changes: &ChangeSet) {
        for TableChanges { table, .. } in &changes.tables {
            match &mut self.changed_last {
                Some((last, changed)) if last.is_same(table) => *changed = changes.seq,
                last => {
                    let before = last.replace((table.clone(), changes.seq));
                    let Some((table, seq)) = before else { continue };
                    match self.changed.get_mut(table.name.as_ref()) {
                        Some(changed) => *changed = seq,
                        None => drop(self.changed.insert(table.name.to_string(), seq)),
                    }
                }
            }
        }
    }

    /// The latest commit that changed a table.
    pub(super) fn latest_change(&self, table: &Table) -> CommitSeq {
        let before = self.changed.get(table.name.as_ref()).copied();
        let last = self.changed_last.as_ref();
        let last = last.filter(|(last, _)| last.is_stored_as(table));
        last.map(|(_, changed)| *changed)
            .max(before)
            .unwrap_or_default()
    }
}
