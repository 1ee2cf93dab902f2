//! Commit groups: transactions that are queued share a durable commit.
//!
//! Finished transactions stay in one transaction of the backend until that is committed. Each is
//! atomic on its own, and is acknowledged only when its commit group is durable. Later members see
//! the writes of earlier members; readers outside of the group see them after the commit. A group
//! is committed when no other transaction is ready to join, or when it is large or old.
//!
//! A finished member never waits for user code: if no member has finished for a few milliseconds, a
//! thread of the commit groups commits the finished members. The writes of a running member are
//! then undone, and are written again from its write set when the member goes on. A member that
//! becomes large commits the finished members itself, while it has few rows to write again.
//!
//! If the backend loses its transaction while a member writes, as SQLite does on a full disk, the
//! finished members are written again, each in a commit of its own, because handlers run only once.

mod access;
mod commit;
mod member;
mod open;
mod outcome;
mod outlet;
mod recent;
mod record;
mod target;
mod used_row_ids;
mod watchdog;
mod written;

use dflat_model::{CommitSeq, Table};

use super::indexer::Indexer;
use super::recording::{Note, Recording};
use super::tables::Tables;
use super::write_set::WriteSet;
use crate::change_set::Completion;
use crate::error::{Error, Result};
use crate::history::KeepHistory;
use crate::storage::{Backend, Durability, StateId};
use crate::sync::atomic::AtomicU64;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::telemetry::Telemetry;

use commit::Shared;
use member::Member;

pub(super) use access::WriteAccess;
pub(super) use open::{OpenGroup, ReadBase, SizeLimit};
pub(super) use outcome::GroupOutcome;
pub use outlet::Outlet;
use watchdog::{AGE_MAX, Watchdog};

/// Limit of the members of a commit group. In a prototype, 10,000 queued updates took 87 ms with a
/// commit each, 24 ms in groups of 32, and 16 ms in groups of 256, beside 9.5 ms without a queue.
const MEMBERS_MAX: usize = 256;

/// A commit group with this many changed rows takes no more members: by then, a commit costs less
/// than a hundredth of the cost of its members.
const ROWS_MAX: usize = 1024;

/// The commit groups of an engine. One group at a time is open. Clones share the groups.
#[derive(Clone)]
pub struct Groups {
    shared: Arc<Shared>,
}

impl Groups {
    /// The commit groups of the indexer's engine, on its backend. Transactions that have ended go
    /// to `outlet`.
    #[must_use]
    pub(crate) fn new(
        indexer: Arc<Indexer>,
        committed: Arc<AtomicU64>,
        committing: Arc<Mutex<()>>,
        telemetry: Arc<Telemetry>,
        outlet: Box<dyn Outlet>,
        (recording, history): (Recording, Option<Arc<dyn KeepHistory>>),
    ) -> Self {
        let (backend, engine) = (Arc::clone(indexer.backend()), indexer.engine());
        let shared = Shared {
            indexer,
            backend,
            engine,
            state: Mutex::new(OpenGroup::new(engine, recording, history)),
            access_released: Condvar::new(),
            outlet,
            telemetry,
            watchdog: Watchdog::default(),
            committed,
            committing,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Identifies the engine among the engines of the process.
    pub(super) fn engine(&self) -> u64 {
        self.shared.engine
    }

    pub(super) fn telemetry(&self) -> &Telemetry {
        &self.shared.telemetry
    }

    /// The indexer, which builds indexes.
    #[must_use]
    pub fn indexer(&self) -> &Arc<Indexer> {
        &self.shared.indexer
    }

    /// Whether a subscriber may keep objects of a table.
    pub(super) fn is_observed(&self, table: &Table) -> bool {
        self.shared.outlet.is_observed(table)
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.shared.backend
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, OpenGroup> {
        self.shared.lock()
    }

    /// The committed state, if it is certain that no other program has written since the latest
    /// transaction of the backend began.
    pub(super) fn committed_state(&self, open: &OpenGroup) -> Option<StateId> {
        // While the backend's transaction is open, no other program writes.
        if let Some(writer) = &open.writer {
            return Some(writer.base().id);
        }
        let state = self.shared.backend.own_state()?;
        // Order: after the backend's answer. A transaction that builds an index and notices such a
        // program sets the flag before it ends, and the backend gives no answer until then.
        (!self.shared.indexer.has_foreign_write()).then_some(state)
    }

    /// Takes the write access for a transaction over these tables: all writes belong to this
    /// transaction until it releases the write access. If members have changed one of its tables,
    /// the outcome of the open commit group is noted in `seen`.
    pub(super) fn take_write_access(
        &self,
        tables: &Tables,
        basis: Option<StateId>,
        durability: Durability,
        seen: &mut Option<GroupOutcome>,
    ) {
        let mut open = self.wait_for_access();
        self.shared.strengthen(&mut open, durability);
        open.write_next(tables, basis, durability);
        open.follow(tables, seen);
    }

    /// As [`take_write_access`](Self::take_write_access), and starts a transaction of the backend
    /// for this transaction alone, so that no other program commits before it ends.
    pub(super) fn take_write_access_alone(
        &self,
        tables: &Tables,
        basis: Option<StateId>,
        durability: Durability,
    ) -> Result<()> {
        let mut open = self.wait_for_access();
        // Order: committed first. The transaction has seen nothing of the members, so it neither
        // fails with them nor because another program commits right after them.
        self.shared.commit_finished(&mut open);
        open.write_next(tables, basis, durability);
        drop(open);
        self.check_written()
    }

    /// Waits until no transaction has the write access.
    fn wait_for_access(&self) -> MutexGuard<'_, OpenGroup> {
        let mut open = self.lock();
        open.waiting += 1;
        let taken = |open: &mut OpenGroup| open.writing.is_some();
        let waited = self.shared.access_released.wait_while(open, taken);
        open = waited.unwrap_or_else(PoisonError::into_inner);
        open.waiting -= 1;
        open
    }

    /// Changes the durability that the writing transaction asks for.
    pub(super) fn set_durability(&self, durability: Durability) {
        let mut open = self.lock();
        if let Some(writing) = &mut open.writing {
            writing.durability = durability;
        }
        self.shared.strengthen(&mut open, durability);
    }

    /// Fails if the writes of the writing transaction can't be committed any more.
    pub(super) fn check_written(&self) -> Result<()> {
        self.resume().changes().map(drop)
    }

    /// Commits the finished members without the writing transaction, which goes on alone.
    pub(super) fn go_alone(&self) {
        self.shared.commit_finished(&mut self.lock());
        self.shared.outlet.hand_over();
    }

    /// Commits the finished members if the writing transaction is about to write so many rows that
    /// it goes on alone: it has fewer rows to write again now than afterwards.
    pub(super) fn make_room(&self, rows: usize) {
        let would_exceed = self.lock().would_exceed_group(rows);
        if would_exceed {
            self.go_alone();
        }
    }

    /// Keeps ranges of the rows that the writing transaction has inserted, if it lists many and
    /// can.
    pub(super) fn shorten_lists(&self) {
        let mut open = self.lock();
        if open.lists_many() {
            open.extend_ranges(|table| self.is_observed(table));
        }
    }

    /// The open commit group with a transaction of the backend, for the writing transaction to go
    /// on.
    #[inline]
    pub(super) fn resume(&self) -> MutexGuard<'_, OpenGroup> {
        let open = self.lock();
        if open.must_be_replayed() {
            return self.replay_writing(open);
        }
        open
    }

    fn replay_writing<'g>(&'g self, open: MutexGuard<'g, OpenGroup>) -> MutexGuard<'g, OpenGroup> {
        // Without the lock: while this thread waits for another process, finished transactions must
        // not wait. No other thread starts a transaction of the backend for the open commit group
        // meanwhile.
        let durability = open.asked();
        drop(open);
        let mut begun = Arc::clone(&self.shared.backend).begin(durability);
        let mut open = self.lock();
        if let Ok(writer) = &mut begun {
            self.shared
                .notice_foreign_commits(&mut open, writer.as_mut());
        }
        open.replay_writing(begun);
        open
    }

    /// Undoes the writes of the writing transaction after an error that lost them. The transaction
    /// keeps the write access until it ends, and can write nothing more.
    pub(super) fn lose(&self, open: &mut OpenGroup, error: &Error) {
        self.shared.lose(open, error);
    }

    /// Writes everything in the open commit group again, after an error of reading from the group.
    pub(super) fn restart(&self, open: &mut OpenGroup) {
        self.shared.restart(open);
    }

    /// Undoes the writes of the writing transaction after a failure, and releases the write access.
    pub(super) fn undo(&self) {
        let mut open = self.lock();
        self.shared.undo_writing(&mut open);
        open.writing = None;
        self.shared.pass_write_access(open);
    }

    /// Releases the write access after success. The transaction becomes a member, unless the commit
    /// group that it has `seen` has failed.
    pub(super) fn finish(&self, seen: Option<&GroupOutcome>, note: Note, completion: Completion) {
        let mut open = self.lock();
        let asked = open.asked();
        self.shared.strengthen(&mut open, asked);
        if open.must_be_replayed() && open.changes().is_ok_and(|changes| !changes.is_empty()) {
            open = self.replay_writing(open);
        }
        let failed = open
            .writing
            .as_ref()
            .and_then(|writing| open.failure(seen, &writing.tables));
        if let Some(error) = failed {
            self.shared.lose(&mut open, &error);
        }
        let Some(writing) = open.writing.take() else {
            return;
        };
        match writing.lost {
            None => {
                let seq = self.shared.expected(&open);
                open.recent.note(&writing.changes, seq);
                let is_once = writing.changes.has_ranges() || writing.has_more;
                open.join(Member {
                    tables: writing.tables,
                    changes: writing.changes,
                    note,
                    basis: writing.basis,
                    durability: writing.durability,
                    is_once,
                    failed: None,
                    completion,
                });
                if is_once || open.rows >= ROWS_MAX {
                    // Order: committed before other transactions write, because this transaction
                    // can't be written again, or at a large cost only.
                    self.shared.commit(&mut open);
                }
            }
            Some(error) => {
                open.note_used(&writing.changes);
                let outcome = Err(error);
                self.shared.deliver(&mut open, outcome, completion);
            }
        }
        self.shared.pass_write_access(open);
    }

    /// Acknowledges a transaction that wrote nothing. If it may have seen changes of members, it is
    /// acknowledged after these members, and fails with their error if they have failed.
    pub(super) fn acknowledge(
        &self,
        tables: &Tables,
        outcome: Result<()>,
        seen: Option<&GroupOutcome>,
        completion: Completion,
    ) {
        let mut open = self.lock();
        let failed = open.failure(seen, tables);
        let outcome = outcome.and_then(|()| failed.map_or(Ok(()), Err));
        if open.is_dirty(tables) {
            open.join(Member {
                tables: tables.clone(),
                changes: WriteSet::default(),
                note: Note::default(),
                basis: None,
                durability: Durability::Normal,
                is_once: false,
                failed: outcome.err(),
                completion,
            });
        } else {
            let outcome = outcome.map(|()| None);
            self.shared.deliver(&mut open, outcome, completion);
        }
    }

    /// Commits the open commit group, unless it pays to wait for a transaction that is about to
    /// run. Returns true if ended transactions went to the outlet and no thread was asked to
    /// deliver them. Called on the transaction's thread after the transaction has left its turn.
    pub fn settle(&self, more: bool) -> bool {
        let mut open = self.lock();
        let now = open.latest;
        let old = now
            .zip(open.first)
            .is_some_and(|(now, first)| now - first >= AGE_MAX);
        let wait = (more || open.waiting > 0) && !old && open.members.len() < MEMBERS_MAX;
        if !open.members.is_empty() {
            // The transaction that has the write access settles when it releases the access.
            if open.writing.is_some() || wait {
                open.watched = open.watched || self.shared.watchdog.watch(&self.shared);
            } else {
                self.shared.commit(&mut open);
            }
        }
        std::mem::take(&mut open.undelivered)
    }

    /// Commits the finished members if one of them has changed the table. A read after this call
    /// sees the changes that are delivered before anything that is queued from now on.
    pub fn flush(&self, table: &Table) {
        let mut open = self.lock();
        if open.is_dirty(std::slice::from_ref(table)) {
            self.shared.commit_finished(&mut open);
        }
    }

    /// Commits the finished members.
    pub fn flush_all(&self) {
        self.shared.commit_finished(&mut self.lock());
    }

    /// Has the next transaction of the backend ask again which tables are versioned.
    pub(crate) fn ask_for_versioned(&self) {
        let mut open = self.lock();
        open.schemas.outdate();
        if open.prepared.is_empty() {
            open.schemas.trim();
        }
    }

    /// The latest commit that is done.
    #[must_use]
    pub fn committed(&self) -> CommitSeq {
        self.shared.committed()
    }

    /// Commits the finished members and ends the threads. All transactions have ended before this
    /// call.
    pub fn close(&self) {
        self.flush_all();
        self.shared.indexer.close(true);
        self.shared.watchdog.stop(true);
    }

    /// Lets the threads end when they have nothing to do, without waiting for them.
    pub(crate) fn abandon(&self) {
        self.shared.indexer.close(false);
        self.shared.watchdog.stop(false);
    }
}
