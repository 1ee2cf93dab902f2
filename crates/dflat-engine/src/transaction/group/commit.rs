//! Ends groups: with a commit, or by writing their members again.

use std::iter;
use std::time::Instant;

use dflat_model::CommitSeq;

use super::super::indexer::Indexer;
use super::super::replay::replay;
use super::open::{Member, Open, check_basis};
use super::outlet::Outlet;
use super::watchdog::{Watchdog, WatchedGroup};
use crate::change_set::{ChangeSet, CommitState, Completion, Ended, TableChanges};
use crate::error::{Error, Result};
use crate::object::Origin;
use crate::storage::{Backend, Durability, StateId, WriteTransaction};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::telemetry::{TARGET, Telemetry};

/// What the threads of an engine share of its groups.
pub(super) struct Shared {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) engine: u64,
    pub(super) state: Mutex<Open>,
    /// Signalled when the write access is released.
    pub(super) access_released: Condvar,
    pub(super) outlet: Box<dyn Outlet>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) watchdog: Watchdog,
    pub(super) indexer: Arc<Indexer>,
    /// The number given to the latest transaction that went to commit.
    pub(super) assigned: AtomicU64,
    /// The latest commit that is done.
    pub(super) committed: Arc<AtomicU64>,
    /// Held from a commit until it is numbered, so that nobody sees one without its number.
    pub(super) committing: Arc<Mutex<()>>,
    /// The state up to which subscribers know what others have committed, once there are any.
    pub(super) seen: Arc<Mutex<Option<StateId>>>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Open> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn committed(&self) -> CommitSeq {
        CommitSeq(self.committed.load(Ordering::Acquire))
    }

    /// The number that the next member will have, or one after it, if all goes well.
    pub(super) fn expected(&self, open: &Open) -> CommitSeq {
        CommitSeq(self.assigned.load(Ordering::Acquire) + open.members.len() as u64 + 1)
    }

    /// Notes if somebody outside of this engine has written since its last transaction.
    pub(super) fn look_for_others(&self, open: &mut Open, writer: &dyn WriteTransaction) {
        // Order: both are asked, because asking forgets.
        let unnoticed = self.indexer.take_others_wrote();
        if unnoticed || !writer.base().is_own {
            let seq = CommitSeq(self.assigned.load(Ordering::Acquire));
            open.recent.distrust(seq);
            open.schemas.forget();
            if seq > CommitSeq::default() || self.missed(writer) {
                self.outlet.foreign_commit(seq);
                open.undelivered = true;
            }
        }
    }

    /// Whether subscribers can't know what somebody else has committed before the first commit,
    /// which follows none of our own.
    fn missed(&self, writer: &dyn WriteTransaction) -> bool {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.is_some_and(|seen| seen == StateId::UNKNOWN || writer.is_overtaken(seen))
    }

    /// Lets whoever waits for the write access have it.
    pub(super) fn pass_write_access(&self, open: MutexGuard<'_, Open>) {
        let awaited = open.waiting > 0;
        drop(open);
        // Telling nobody costs a system call all the same.
        if awaited {
            self.access_released.notify_one();
        }
    }

    /// Commits the members, while nobody has written anything with the write access since.
    pub(super) fn commit(&self, open: &mut Open) {
        let (writer, members, group_outcome) = open.end();
        let unnumbered = self
            .committing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let outcome = writer.map_or(Ok(()), |writer| self.commit_writer(writer, members.len()));
        if let Err(error) = &outcome {
            open.schemas.forget();
            for member in &members {
                group_outcome.fail(member.changes.tables(), error);
            }
        }
        let mut ended = members
            .into_iter()
            .map(|member| self.ended(open, member, outcome.clone()));
        self.outlet.push(&mut ended);
        drop(ended);
        drop(unnumbered);
        open.undelivered = true;
    }

    fn commit_writer(&self, writer: Box<dyn WriteTransaction>, members: usize) -> Result<()> {
        let span = tracing::debug_span!(target: TARGET, "commit", members);
        span.in_scope(|| writer.commit())
            .inspect(|()| self.telemetry.note_group(members))
            .inspect_err(|error| tracing::warn!(target: TARGET, %error, members, "commit failed"))
    }

    /// A member whose commit is done or has failed.
    fn ended(&self, open: &mut Open, member: Member, committed: Result<()>) -> Ended {
        let (changes, completion) = (member.changes, member.completion);
        if committed.is_err() {
            open.note_used(&changes);
        }
        let outcome = member.failed.map_or(committed, Err).map(|()| {
            (!changes.is_empty()).then(|| {
                // They change only here, under the lock.
                let seq = CommitSeq(self.assigned.load(Ordering::Acquire) + 1);
                self.assigned.store(seq.0, Ordering::Release);
                self.committed.store(seq.0, Ordering::Release);
                self.with_state(changes.into_change_set(seq))
            })
        });
        Ended {
            outcome,
            completion,
        }
    }

    /// Pins the state of the commit that was just made, if a subscriber has to read rows of it. It
    /// is called with the lock of the open group, so that no later commit of this engine is in it.
    fn with_state(&self, mut changes: ChangeSet) -> ChangeSet {
        let is_read = |table: &TableChanges| {
            table.inserted.is_some() && self.outlet.may_be_observed(&table.table)
        };
        if changes.tables.iter().any(is_read) {
            let origin = Origin {
                engine: self.engine,
                seq: changes.seq,
                transaction: 0,
            };
            // Without it, subscribers have their queries read again.
            let state = CommitState::pin(&self.backend, origin)
                .inspect_err(|error| tracing::warn!(target: TARGET, %error, "no commit state"));
            changes.state = state.ok().map(Arc::new);
        }
        changes
    }

    /// Commits the members without the transaction that writes, whose changes are written again
    /// when it goes on.
    pub(super) fn commit_finished(&self, open: &mut Open) {
        if open.members.is_empty() {
            return;
        }
        let writing = open
            .writing
            .as_ref()
            .is_some_and(|writing| writing.lost.is_none());
        if !writing || open.unwrite() {
            self.end_group(open, Self::commit);
        } else {
            self.end_group(open, Self::recover);
        }
    }

    /// Ends a group whose commit would survive less than a transaction asks for: members are
    /// committed, and the changes of the writing transaction are written again when it goes on. If
    /// they have ranges and a mark is set, they are written again when the transaction ends.
    pub(super) fn strengthen(&self, open: &mut Open, asked: Durability) {
        if open.is_weaker(asked) {
            self.commit_finished(open);
        }
        if open.is_weaker(asked) && open.can_list_ranges() {
            match open.list_ranges() {
                Ok(()) => self.restart(open),
                Err(error) => self.lose(open, &error),
            }
        }
    }

    /// Ends the backend's transaction under the transaction that writes.
    fn end_group(&self, open: &mut Open, end: impl FnOnce(&Self, &mut Open)) {
        let group_outcome = open.group_outcome();
        end(self, open);
        let Some(writing) = &mut open.writing else {
            return;
        };
        (writing.prepared, writing.must_be_replayed) = (0, true);
        if writing.lost.is_none() {
            writing.lost = group_outcome.failure(&writing.tables);
        }
    }

    /// What was read of the group failed, and may have lost the backend's transaction: all that is
    /// in it is written again.
    pub(super) fn restart(&self, open: &mut Open) {
        self.end_group(open, Self::recover);
    }

    /// Undoes what was written with the write access. If the backend's transaction is lost, the
    /// members are written again.
    pub(super) fn undo_writing(&self, open: &mut Open) {
        let lost = open
            .writing
            .as_ref()
            .is_some_and(|writing| writing.lost.is_some());
        if !lost && !open.unwrite() {
            self.recover(open);
        }
        let Some(writing) = &mut open.writing else {
            return;
        };
        let undone = std::mem::take(&mut writing.changes);
        open.note_used(&undone);
    }

    /// Undoes what was written with the write access, for good.
    pub(super) fn lose(&self, open: &mut Open, error: &Error) {
        self.undo_writing(open);
        if let Some(writing) = &mut open.writing {
            writing.lost.get_or_insert_with(|| error.clone());
        }
    }

    /// Ends the backend's transaction without a commit, and writes the members again, each on its
    /// own: their handlers have run, and run only once. Those that may have read what can't be
    /// written fail with it.
    pub(super) fn recover(&self, open: &mut Open) {
        let (writer, members, group_outcome) = open.end();
        open.schemas.forget();
        // Order: the backend's transaction ends before the next one begins.
        drop(writer);
        for member in members {
            let outcome = match group_outcome.failure(&member.tables) {
                Some(error) => Err(error),
                None => self.commit_alone(open, &member),
            };
            if let Err(error) = &outcome {
                group_outcome.fail(member.changes.tables(), error);
            }
            let ended = self.ended(open, member, outcome);
            self.outlet.push(&mut iter::once(ended));
            open.undelivered = true;
        }
    }

    /// Passes on the outcome of a transaction that is in no group.
    pub(super) fn deliver(
        &self,
        open: &mut Open,
        outcome: Result<Option<ChangeSet>>,
        completion: Completion,
    ) {
        let ended = Ended {
            outcome,
            completion,
        };
        self.outlet.push(&mut iter::once(ended));
        open.undelivered = true;
    }

    fn commit_alone(&self, open: &mut Open, member: &Member) -> Result<()> {
        if member.changes.is_empty() {
            return Ok(());
        }
        let mut writer = Arc::clone(&self.backend).begin(member.durability)?;
        self.look_for_others(open, writer.as_ref());
        check_basis(writer.as_ref(), member.basis, &member.tables)?;
        replay(writer.as_mut(), &mut Vec::new(), &member.changes)?;
        self.commit_writer(writer, 1)
    }
}

impl WatchedGroup for Shared {
    fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    fn commit_late(&self, is_late: fn(Option<Instant>, Option<Instant>) -> bool) {
        let mut open = self.lock();
        if is_late(open.first, open.latest) {
            self.commit_finished(&mut open);
        }
        if open.members.is_empty() {
            self.watchdog.rest();
            open.watched = false;
        }
        drop(open);
        // Not here: user code must not keep the next group waiting.
        self.outlet.hand_over();
    }
}
