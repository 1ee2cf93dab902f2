//! The items that wait to be delivered: ended transactions, and between them registrations and
//! foreign writes.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dflat_model::{CommitSeq, Table};

use crate::change_set::{ChangeSet, Completion, Ended, RereadSet, TableChanges};
use crate::error::Result;
use crate::sync::{Arc, JoinHandle};

/// Calls to make, one at a time, by the thread that has the turn.
pub trait Calls: Send + Sync {
    /// Makes the next call. Returns false if there is none, or if another thread has the turn.
    fn make_next(&self, turn: u64) -> bool;

    /// How many calls have begun.
    fn progress(&self) -> u64;

    /// Leaves the running call to the thread that makes it, and returns the turn for the thread
    /// that makes the remaining calls. The subscriber of that call is waited for again once its
    /// call takes less than `quick`.
    fn give_up(&self, quick: Duration) -> u64;
}

/// Handles each transaction that has ended.
pub trait Deliver: Send + Sync {
    /// The calls that follow from the changes of a commit, if there are any. It calls no user code.
    fn publish(&self, changes: &ChangeSet) -> Option<Arc<dyn Calls>>;

    /// The calls that follow from a foreign write of unknown rows, if there are any. It calls no
    /// user code.
    fn renew(&self) -> Option<Arc<dyn Calls>>;

    /// The calls that follow from a foreign write of known rows, if there are any. It calls no user
    /// code.
    fn reread(&self, rows: &RereadSet) -> Option<Arc<dyn Calls>> {
        let _ = rows;
        self.renew()
    }

    /// Whether a subscriber may keep objects of a table that it is notified of. It waits for no
    /// lock.
    fn is_observed(&self, table: &Table) -> bool;

    /// Calls the completion.
    fn complete(&self, outcome: Result<()>, completion: Completion);
}

/// A registration, which is queued between the transactions. Returns the calls that follow from it.
/// It calls no user code.
pub type Registration = Box<dyn FnOnce() -> Option<Arc<dyn Calls>> + Send>;

pub(super) enum Item {
    Ended(Ended),
    /// A commit of another program whose changes are known.
    Followed(ChangeSet),
    Registration(Registration),
    /// Another program has written unknown rows.
    Foreign,
    /// Other programs have written these rows.
    Reread(RereadSet),
}

/// When an item was pushed, and the item.
pub(super) type Pushed = (Instant, Item);

/// With this many waiting items, the queue is crowded: four full commit groups.
const CROWD: usize = 1024;

/// The items to deliver, and the threads that deliver them.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Pushed>,
    /// The item whose calls are being made.
    pub(super) current: Option<RunningItem>,
    /// Whether a thread is emptying the queue.
    pub(super) active: bool,
    pub(super) pushed: u64,
    pub(super) delivered: u64,
    /// The latest commit that changed each table.
    changed: HashMap<String, CommitSeq>,
    /// The table that was changed last, and its latest commit: the next commit often changes the
    /// same table.
    changed_last: Option<(Table, CommitSeq)>,
    /// The commit before which another program has written. State known as of an earlier commit may
    /// be out of date, whatever its table.
    pub(super) overtaken: CommitSeq,
    /// Number of times that commits of other programs were noticed.
    pub(super) renewals: u64,
    /// Whether the queue's own thread is asked to empty the queue.
    pub(super) handed_over: bool,
    /// Number of the queue's own thread. It increases when another thread takes its place.
    pub(super) generation: u64,
    pub(super) stopped: bool,
    pub(super) thread: Option<JoinHandle<()>>,
    pub(super) watcher: Option<JoinHandle<()>>,
    /// Whether the watcher waits until it is needed.
    pub(super) unwatched: bool,
}

/// An item whose calls are being made, and the changes and completion of its transaction. A
/// transaction of another program has no completion here.
pub(super) struct RunningItem {
    /// When it was pushed.
    pub(super) since: Instant,
    pub(super) calls: Arc<dyn Calls>,
    pub(super) turn: u64,
    pub(super) ended: Option<(ChangeSet, Option<Completion>)>,
}

/// The calls of an item without a transaction.
pub(super) fn alone(
    since: Instant,
    calls: impl FnOnce() -> Option<Arc<dyn Calls>>,
) -> Option<RunningItem> {
    let calls = catch_unwind(AssertUnwindSafe(calls)).ok().flatten()?;
    Some(RunningItem {
        since,
        calls,
        turn: 0,
        ended: None,
    })
}

/// The progress of the calls, which differs whenever a call begins: how many items have been
/// delivered, the turn, and how many calls of the current item have begun.
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

    /// How long ago the item whose calls are being made was pushed.
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

    /// Notes that a commit of another program changed a table.
    pub(super) fn note_followed(&mut self, name: &str, seq: CommitSeq) {
        match self.changed.get_mut(name) {
            Some(changed) => *changed = seq,
            None => drop(self.changed.insert(name.to_owned(), seq)),
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
