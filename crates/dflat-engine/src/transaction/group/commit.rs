//! Ends commit groups: with a commit, or by writing their members again.

use std::iter;
use std::time::Instant;

use dflat_model::CommitSeq;

use super::super::indexer::Indexer;
use super::super::newest::NewestSchemas;
use super::super::recording::Note;
use super::super::replay::{is_aborted, replay};
use super::super::write_set::WriteSet;
use super::member::{Member, check_basis};
use super::open::OpenGroup;
use super::outcome::GroupOutcome;
use super::outlet::Outlet;
use super::record::Recorder;
use super::watchdog::{Watchdog, WatchedGroup};
use crate::change_set::{ChangeSet, CommitState, Completion, Ended, TableChanges};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Origin;
use crate::storage::{Backend, Durability, WriteTransaction};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::telemetry::{TARGET, Telemetry};

/// The state of an engine's commit groups, shared by its threads.
pub(super) struct Shared {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) engine: u64,
    pub(super) state: Mutex<OpenGroup>,
    /// Signalled when the write access is released.
    pub(super) access_released: Condvar,
    pub(super) outlet: Box<dyn Outlet>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) watchdog: Watchdog,
    pub(super) indexer: Arc<Indexer>,
    /// The latest commit that is done. It changes only under the lock `committing`.
    pub(super) committed: Arc<AtomicU64>,
    /// Held from a commit until it has its number, so that no reader sees a commit without its
    /// number.
    pub(super) committing: Arc<Mutex<()>>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, OpenGroup> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn committed(&self) -> CommitSeq {
        CommitSeq(self.committed.load(Ordering::Acquire))
    }

    /// The commit number of the next member, or a larger number: an earlier member that changes
    /// nothing, or fails, gets no number. While the backend's transaction is open, no other program
    /// commits, and the commits before it have their numbers.
    pub(super) fn expected(&self, open: &OpenGroup) -> CommitSeq {
        CommitSeq(self.committed().0 + open.members.len() as u64 + 1)
    }

    /// Notes whether another program has written since this engine's last transaction.
    pub(super) fn notice_foreign_commits(
        &self,
        open: &mut OpenGroup,
        writer: &mut dyn WriteTransaction,
    ) {
        // Order: the indexer's flag is taken first, in any case, because taking it clears it.
        let unnoticed = self.indexer.take_foreign_write();
        let is_foreign = unnoticed || !writer.base().is_own;
        // Order: before this transaction writes, so that its commit follows the other commits.
        open.undelivered |= self.outlet.catch_up(writer, is_foreign);
        if is_foreign {
            open.recent.distrust(self.committed());
            open.schemas.forget();
        }
    }

    /// Held while a commit is made and numbered.
    fn unnumbered(&self) -> MutexGuard<'_, ()> {
        self.committing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a transaction that waits for the write access.
    pub(super) fn pass_write_access(&self, open: MutexGuard<'_, OpenGroup>) {
        let awaited = open.waiting > 0;
        drop(open);
        // A notification costs a system call even if no thread waits.
        if awaited {
            self.access_released.notify_one();
        }
    }

    /// Commits the members. Called only while the backend's transaction holds no changes except
    /// those of the members. If the backend ends its transaction because of another one, such as
    /// that of an administrator, each member is written again, unless one of them can't be
    /// written again.
    pub(super) fn commit(&self, open: &mut OpenGroup) {
        let (writer, members, group_outcome) = open.end();
        let unnumbered = self.unnumbered();
        let outcome = writer.map_or(Ok(()), |writer| {
            let changes = members.iter().map(|member| (&member.changes, &member.note));
            let recorders = (&mut open.recorder, &open.schemas);
            self.commit_writer(recorders, writer, changes)
        });
        let is_once = || members.iter().any(|member| member.is_once);
        if matches!(&outcome, Err(error) if is_aborted(error)) && !is_once() {
            drop(unnumbered);
            self.write_each_again(open, members, &group_outcome);
            return;
        }
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

    /// Commits the backend's transaction, which has the changes of these write sets, with their
    /// change records and steps.
    fn commit_writer<'c>(
        &self,
        (recorder, schemas): (&mut Recorder, &NewestSchemas),
        mut writer: Box<dyn WriteTransaction>,
        changes: impl ExactSizeIterator<Item = (&'c WriteSet, &'c Note)>,
    ) -> Result<()> {
        let members = changes.len();
        let span = tracing::debug_span!(target: TARGET, "commit", members);
        let commit = || {
            recorder.record(writer.as_mut(), schemas, changes)?;
            writer.commit()
        };
        span.in_scope(commit)
            .inspect(|()| self.telemetry.note_group(members))
            .inspect_err(|error| {
                tracing::warn!(target: TARGET, %error, members, "commit failed");
                if error.kind() == ErrorKind::InDoubt {
                    self.outlet.doubt();
                }
            })
    }

    /// The ended transaction of a member whose commit is done or has failed. Called with the lock
    /// `committing`.
    fn ended(&self, open: &mut OpenGroup, member: Member, committed: Result<()>) -> Ended {
        let (changes, completion) = (member.changes, member.completion);
        if committed.is_err() {
            open.note_used(&changes);
        }
        let outcome = member.failed.map_or(committed, Err).map(|()| {
            (!changes.is_empty()).then(|| {
                let seq = CommitSeq(self.committed().0 + 1);
                self.committed.store(seq.0, Ordering::Release);
                self.with_state(changes.into_change_set(seq))
            })
        });
        Ended {
            outcome,
            completion,
        }
    }

    /// Pins the state of the commit that was just made, if a subscriber has to read rows of it.
    /// Called with the lock of the open commit group, so that the state contains no later commit of
    /// this engine.
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
            // Without the state, the queries of the subscribers are read again.
            let state = CommitState::pin(&self.backend, origin)
                .inspect_err(|error| tracing::warn!(target: TARGET, %error, "no commit state"));
            changes.state = state.ok().map(Arc::new);
        }
        changes
    }

    /// Commits the finished members without the writing transaction. The changes of the writing
    /// transaction are written again when it goes on.
    pub(super) fn commit_finished(&self, open: &mut OpenGroup) {
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

    /// Ends a commit group whose commit would survive less than a transaction asks for: the members
    /// are committed, and the changes of the writing transaction are written again when it goes on.
    /// If these changes have ranges and a mark is set, they are written again when the transaction
    /// ends.
    pub(super) fn strengthen(&self, open: &mut OpenGroup, asked: Durability) {
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

    /// Ends the backend's transaction with `end` while a transaction may hold the write access. The
    /// changes of that transaction must then be replayed.
    fn end_group(&self, open: &mut OpenGroup, end: impl FnOnce(&Self, &mut OpenGroup)) {
        let group_outcome = open.group_outcome();
        end(self, open);
        let Some(writing) = &mut open.writing else {
            return;
        };
        (writing.has_created, writing.must_be_replayed) = (false, true);
        if writing.lost.is_none() {
            writing.lost = group_outcome.failure(&writing.tables);
        }
    }

    /// Writes everything in the open commit group again, after an error of reading from the group
    /// that may have ended the backend's transaction.
    pub(super) fn restart(&self, open: &mut OpenGroup) {
        self.end_group(open, Self::recover);
    }

    /// Undoes the writes of the writing transaction. If that is only possible by ending the
    /// backend's transaction, the members are written again.
    pub(super) fn undo_writing(&self, open: &mut OpenGroup) {
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

    /// Undoes the writes of the writing transaction, which can write nothing more.
    pub(super) fn lose(&self, open: &mut OpenGroup, error: &Error) {
        self.undo_writing(open);
        if let Some(writing) = &mut open.writing {
            writing.lost.get_or_insert_with(|| error.clone());
        }
    }

    /// Ends the backend's transaction without a commit, and writes the members again, each in a
    /// commit of its own, because handlers run only once. If a member can't be written, the members
    /// that may have read its changes fail with the same error.
    pub(super) fn recover(&self, open: &mut OpenGroup) {
        let (writer, members, group_outcome) = open.end();
        // Order: the backend's transaction ends before the next one begins.
        drop(writer);
        self.write_each_again(open, members, &group_outcome);
    }

    /// Writes members again, whose transaction of the backend was undone, each in a commit of its
    /// own. If a member can't be written, the members that may have read its changes fail with the
    /// same error.
    fn write_each_again(
        &self,
        open: &mut OpenGroup,
        members: Vec<Member>,
        group_outcome: &GroupOutcome,
    ) {
        open.schemas.forget();
        for member in members {
            let written = match group_outcome.failure(&member.tables) {
                Some(error) => Err(error),
                None => self.write_again(open, &member),
            };
            let unnumbered = self.unnumbered();
            let outcome = written.and_then(|writer| {
                let changes = iter::once((&member.changes, &member.note));
                writer.map_or(Ok(()), |writer| {
                    let recorders = (&mut open.recorder, &open.schemas);
                    self.commit_writer(recorders, writer, changes)
                })
            });
            if let Err(error) = &outcome {
                open.schemas.forget();
                group_outcome.fail(member.changes.tables(), error);
            }
            let ended = self.ended(open, member, outcome);
            self.outlet.push(&mut iter::once(ended));
            drop(unnumbered);
            open.undelivered = true;
        }
        // A commit of another program between these commits makes their numbers larger than those
        // noted with their rows.
        open.recent.distrust(self.committed());
    }

    /// Passes the outcome of a transaction that is in no commit group to the outlet.
    pub(super) fn deliver(
        &self,
        open: &mut OpenGroup,
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

    /// Writes a member's changes in a transaction of the backend; `None` if there are none.
    fn write_again(
        &self,
        open: &mut OpenGroup,
        member: &Member,
    ) -> Result<Option<Box<dyn WriteTransaction>>> {
        if member.changes.is_empty() {
            return Ok(None);
        }
        let mut writer = Arc::clone(&self.backend).begin(member.durability)?;
        self.notice_foreign_commits(open, writer.as_mut());
        check_basis(writer.as_mut(), member.basis, &member.tables)?;
        let mut prepared = Vec::new();
        let known = (&mut prepared, &mut open.schemas);
        replay(writer.as_mut(), known, &member.changes)?;
        open.recorder.note_mended(&mut prepared);
        Ok(Some(writer))
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
        // Another thread delivers, so that user code does not keep the next group waiting.
        self.outlet.hand_over();
    }
}
