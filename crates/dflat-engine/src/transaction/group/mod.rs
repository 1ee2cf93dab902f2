//! Group commit: transactions that are queued share a durable commit.
//!
//! Finished transactions stay in one transaction of the backend until it is committed; each is
//! atomic on its own, by a savepoint, and is acknowledged only when its group is durable. Later
//! members see what earlier ones wrote; nobody outside does before the commit. A group is committed
//! when no other transaction is ready to join, or when it is large or old.
//!
//! A finished member never waits for user code: when nothing has finished for a few milliseconds, a
//! thread of the group's own commits what is finished. What a running member has written by then is
//! undone, and written again, from its write set, in the backend's next transaction.
//!
//! If the backend loses the transaction under a member, as SQLite does on a full disk, the finished
//! members are written again, a commit each, because handlers run only once.

mod deliveries;
mod watchdog;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_model::{CommitSeq, Table};

use super::replay::replay;
use super::write_set::WriteSet;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Backend, WriteTransaction};

use deliveries::Deliveries;
pub use deliveries::{Acknowledgement, Completion, Deliver};
use watchdog::Watchdog;

/// The most members of a group.
const MEMBERS_MAX: usize = 256;

/// How long a group stays open while others join.
const AGE_MAX: Duration = Duration::from_millis(5);

/// How long finished members wait for one that runs.
const PATIENCE: Duration = Duration::from_millis(2);

/// The groups of an engine, of which one at a time is open. Clones share them.
#[derive(Clone)]
pub struct Groups {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    backend: Arc<dyn Backend>,
    state: Mutex<Open>,
    /// Signalled when the pen is put down.
    pen_down: Condvar,
    deliveries: Deliveries,
    watchdog: Watchdog,
    /// The number given to the latest transaction that went to commit.
    assigned: AtomicU64,
    /// The latest commit that is done.
    committed: Arc<AtomicU64>,
}

/// The open group.
#[derive(Default)]
pub(super) struct Open {
    writer: Option<Box<dyn WriteTransaction>>,
    /// Tables that `writer` has prepared for writing.
    prepared: Vec<Table>,
    members: Vec<Member>,
    /// The tables that members have changed.
    dirty: Vec<String>,
    /// The member that writes.
    pen: Option<Pen>,
    /// Transactions that wait for the pen.
    waiting: usize,
    /// Counts the backend's transactions, so that a reader notices when one has ended.
    generation: u64,
    /// When the first member finished, and the latest.
    first: Option<Instant>,
    latest: Option<Instant>,
    /// The generations of which something was not committed, and why: what was read of them never
    /// happened.
    failures: Vec<(u64, Error)>,
}

/// A finished transaction that waits for its commit.
struct Member {
    changes: WriteSet,
    /// Its own error, told when what it may have seen is committed.
    failed: Option<Error>,
    completion: Completion,
}

/// What the member that writes has done so far.
#[derive(Default)]
struct Pen {
    changes: WriteSet,
    /// A savepoint stands before its first write. The first member needs none.
    savepoint: bool,
    /// How many tables were prepared before it.
    prepared: usize,
    /// What it wrote is lost, for this reason.
    lost: Option<Error>,
}

/// Where a transaction's reads come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Footing {
    /// What is committed: no member has changed its tables.
    Committed,
    /// The open group of this generation.
    Group(u64),
}

impl Groups {
    /// Groups on a backend. `deliver` is called for each transaction that has ended, in the order
    /// of the commits, on the thread that committed it.
    #[must_use]
    pub fn new(
        backend: Arc<dyn Backend>,
        committed: Arc<AtomicU64>,
        deliver: Box<Deliver>,
    ) -> Self {
        let shared = Shared {
            backend,
            state: Mutex::default(),
            pen_down: Condvar::new(),
            deliveries: Deliveries::new(deliver),
            watchdog: Watchdog::default(),
            assigned: AtomicU64::new(committed.load(Ordering::Acquire)),
            committed,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        &self.shared.backend
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Open> {
        self.shared.lock()
    }

    /// Takes the pen: what is written from here on is this transaction's, until it puts the pen
    /// down.
    pub(super) fn take_pen(&self) -> Result<()> {
        let mut open = self.lock();
        open.waiting += 1;
        let taken = |open: &mut Open| open.pen.is_some();
        let waited = self.shared.pen_down.wait_while(open, taken);
        open = waited.unwrap_or_else(PoisonError::into_inner);
        open.waiting -= 1;
        open.pen = Some(Pen {
            prepared: open.prepared.len(),
            ..Pen::default()
        });
        let started = if let Some(writer) = &mut open.writer {
            writer.set_savepoint().map(|()| true)
        } else {
            // Waiting for another process must not keep this one from its finished work.
            drop(open);
            let begun = Arc::clone(&self.shared.backend).begin();
            open = self.lock();
            begun.map(|writer| {
                open.start(writer);
                false
            })
        };
        let error = match (started, &mut open.pen) {
            (Ok(savepoint), Some(pen)) => {
                pen.savepoint = savepoint;
                return Ok(());
            }
            (Ok(_), None) => Error::new(ErrorKind::Backend, "cannot write: the turn was lost"),
            (Err(error), _) => error,
        };
        open.pen = None;
        if open.writer.is_some() {
            self.shared.recover(&mut open);
        }
        drop(open);
        self.shared.pen_down.notify_one();
        Err(error)
    }

    /// Undoes what was written with the pen after an error that lost it; the transaction keeps the
    /// pen until it ends, and can write nothing more.
    pub(super) fn lose(&self, error: &Error) {
        let mut open = self.lock();
        self.shared.undo_pen(&mut open);
        if let Some(pen) = &mut open.pen {
            pen.lost.get_or_insert_with(|| error.clone());
        }
    }

    /// Puts the pen down after a failure: what was written with it is undone.
    pub(super) fn undo(&self) {
        let mut open = self.lock();
        self.shared.undo_pen(&mut open);
        open.pen = None;
        drop(open);
        self.shared.pen_down.notify_one();
    }

    /// Puts the pen down after success: the transaction becomes a member.
    pub(super) fn finish(&self, completion: Completion) {
        let mut open = self.lock();
        let Some(pen) = open.pen.take() else { return };
        let released = match (pen.lost, &mut open.writer) {
            (Some(error), _) => Err(error),
            (None, Some(writer)) if pen.savepoint => writer
                .release_savepoint()
                .inspect_err(|_| self.shared.recover(&mut open)),
            (None, _) => Ok(()),
        };
        match released {
            Ok(()) => open.join(Member {
                changes: pen.changes,
                failed: None,
                completion,
            }),
            Err(error) => self.shared.deliveries.push(Err(error), completion),
        }
        drop(open);
        self.shared.pen_down.notify_one();
    }

    /// Acknowledges a transaction that wrote nothing: after the members whose changes it may have
    /// seen, if there are any.
    pub(super) fn acknowledge(
        &self,
        tables: &[Table],
        outcome: Result<()>,
        completion: Completion,
    ) {
        let mut open = self.lock();
        if open.is_dirty(tables) {
            let (changes, failed) = (WriteSet::default(), outcome.err());
            open.join(Member {
                changes,
                failed,
                completion,
            });
        } else {
            self.shared
                .deliveries
                .push(outcome.map(|()| None), completion);
        }
    }

    /// Commits the open group unless it pays to wait for a transaction that is about to run, and
    /// delivers what is committed. Called on the transaction's thread after it has left its turn.
    pub fn settle(&self, more: bool) {
        let mut open = self.lock();
        let now = open.latest;
        let old = now
            .zip(open.first)
            .is_some_and(|(now, first)| now - first >= AGE_MAX);
        let wait = (more || open.waiting > 0) && !old && open.members.len() < MEMBERS_MAX;
        if open.members.is_empty() || open.pen.is_some() {
            // Whoever holds the pen settles when it is put down.
            if !open.members.is_empty() {
                self.shared.watchdog.watch(&self.shared);
            }
        } else if wait {
            self.shared.watchdog.watch(&self.shared);
        } else {
            self.shared.commit(&mut open);
        }
        drop(open);
        self.shared.deliveries.drain();
    }

    /// Commits what is finished of these tables and waits until it, and all that was committed
    /// before, is delivered.
    pub fn flush(&self, table: &Table) {
        let mut open = self.lock();
        if open.is_dirty(std::slice::from_ref(table)) {
            self.shared.commit_finished(&mut open);
        }
        drop(open);
        self.shared.deliveries.wait();
    }

    /// The latest commit that is done.
    #[must_use]
    pub fn committed(&self) -> CommitSeq {
        self.shared.committed()
    }

    /// Ends the group's own thread. All transactions have ended.
    pub fn close(&self) {
        let mut open = self.lock();
        self.shared.commit_finished(&mut open);
        drop(open);
        self.shared.deliveries.wait();
        self.shared.watchdog.stop();
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Open> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn committed(&self) -> CommitSeq {
        CommitSeq(self.committed.load(Ordering::Acquire))
    }

    /// Commits the members, while nobody holds the pen.
    fn commit(&self, open: &mut Open) {
        let generation = open.generation;
        let (writer, members) = open.end();
        let outcome = writer.map_or(Ok(()), WriteTransaction::commit);
        if let Err(error) = &outcome {
            open.failures.push((generation, error.clone()));
        }
        for member in members {
            self.push(member, outcome.clone());
        }
    }

    /// Queues a member for delivery, when its commit is done or has failed.
    fn push(&self, member: Member, committed: Result<()>) {
        let Member {
            changes,
            failed,
            completion,
        } = member;
        let outcome = failed.map_or(committed, Err).map(|()| {
            (!changes.is_empty()).then(|| {
                let seq = CommitSeq(self.assigned.fetch_add(1, Ordering::AcqRel) + 1);
                self.committed.fetch_max(seq.0, Ordering::AcqRel);
                changes.into_change_set(seq)
            })
        });
        self.deliveries.push(outcome, completion);
    }

    /// Commits the members without the transaction that writes, whose changes are written again.
    fn commit_finished(&self, open: &mut Open) {
        if open.members.is_empty() {
            return;
        }
        let Some(mut pen) = open.pen.take() else {
            self.commit(open);
            return;
        };
        let generation = open.generation;
        // A member that writes behind others has a savepoint.
        let undone = match &mut open.writer {
            Some(writer) if pen.lost.is_none() => writer.rollback_to_savepoint(),
            _ => Ok(()),
        };
        if undone.is_err() {
            self.recover(open);
        } else {
            self.commit(open);
        }
        (pen.savepoint, pen.prepared) = (false, 0);
        if pen.lost.is_none() {
            pen.lost = match open.failure(generation) {
                Some(error) => Some(error),
                None => self.rewrite(open, &pen.changes).err(),
            };
        }
        open.pen = Some(pen);
    }

    /// Begins the backend's next transaction with a running member's changes so far.
    fn rewrite(&self, open: &mut Open, changes: &WriteSet) -> Result<()> {
        open.start(Arc::clone(&self.backend).begin()?);
        let Open {
            writer: Some(writer),
            prepared,
            ..
        } = open
        else {
            return Ok(());
        };
        replay(writer.as_mut(), prepared, changes)
    }

    /// Undoes what was written with the pen. If the backend's transaction is lost, the members are
    /// written again.
    fn undo_pen(&self, open: &mut Open) {
        let Some(pen) = &mut open.pen else { return };
        if pen.lost.is_some() {
            return;
        }
        pen.changes = WriteSet::default();
        let (savepoint, prepared) = (std::mem::take(&mut pen.savepoint), pen.prepared);
        match &mut open.writer {
            Some(writer) if savepoint => match writer.rollback_to_savepoint() {
                Ok(()) => open.prepared.truncate(prepared),
                Err(_) => self.recover(open),
            },
            // Without a savepoint there are no members before it.
            Some(_) => self.recover(open),
            None => {}
        }
    }

    /// Ends the backend's transaction without a commit, and writes the members again, each on its
    /// own: their handlers have run, and run only once.
    fn recover(&self, open: &mut Open) {
        let generation = open.generation;
        let (writer, members) = open.end();
        if let Some(writer) = writer {
            writer.rollback();
        }
        for member in members {
            let outcome = self.commit_alone(&member.changes);
            if let Err(error) = &outcome {
                open.failures.push((generation, error.clone()));
            }
            self.push(member, outcome);
        }
    }

    fn commit_alone(&self, changes: &WriteSet) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut writer = Arc::clone(&self.backend).begin()?;
        replay(writer.as_mut(), &mut Vec::new(), changes)?;
        writer.commit()
    }
}

impl Open {
    fn start(&mut self, writer: Box<dyn WriteTransaction>) {
        self.writer = Some(writer);
        self.prepared.clear();
        self.generation += 1;
    }

    /// Takes the group out, to be committed or written again.
    fn end(&mut self) -> (Option<Box<dyn WriteTransaction>>, Vec<Member>) {
        self.dirty.clear();
        self.prepared.clear();
        self.generation += 1;
        (self.first, self.latest) = (None, None);
        (self.writer.take(), std::mem::take(&mut self.members))
    }

    fn join(&mut self, member: Member) {
        for table in member.changes.tables() {
            if !self.dirty.iter().any(|dirty| *dirty == table.name) {
                self.dirty.push(table.name.to_string());
            }
        }
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.latest = Some(now);
        self.members.push(member);
    }

    /// Why something of a generation was not committed.
    pub(super) fn failure(&self, generation: u64) -> Option<Error> {
        let failed = self
            .failures
            .iter()
            .find(|(failed, _)| *failed == generation);
        failed.map(|(_, error)| error.clone())
    }

    /// Whether a member has changed one of these tables.
    fn is_dirty(&self, tables: &[Table]) -> bool {
        tables
            .iter()
            .any(|table| self.dirty.iter().any(|dirty| *dirty == table.name))
    }

    /// Where a transaction over these tables has to read.
    pub(super) fn footing(&self, tables: &[Table]) -> Footing {
        if self.is_dirty(tables) {
            Footing::Group(self.generation)
        } else {
            Footing::Committed
        }
    }

    /// The backend's transaction of a generation, if it is still open.
    pub(super) fn reader(&mut self, generation: u64) -> Option<&mut dyn WriteTransaction> {
        let current = self.generation == generation;
        self.writer
            .as_mut()
            .filter(|_| current)
            .map(|writer| writer.as_mut() as _)
    }

    /// What the holder of the pen writes with.
    pub(super) fn pen(&mut self) -> Result<PenGrip<'_>> {
        match (&mut self.pen, &mut self.writer) {
            (
                Some(Pen {
                    lost: Some(error), ..
                }),
                _,
            ) => Err(error.clone()),
            (Some(pen), Some(writer)) => Ok(PenGrip {
                writer: writer.as_mut(),
                prepared: &mut self.prepared,
                changes: &mut pen.changes,
            }),
            _ => Err(Error::new(
                ErrorKind::Backend,
                "cannot write: no transaction is open",
            )),
        }
    }
}

/// What the holder of the pen writes with.
pub(super) struct PenGrip<'o> {
    pub(super) writer: &'o mut dyn WriteTransaction,
    pub(super) prepared: &'o mut Vec<Table>,
    pub(super) changes: &'o mut WriteSet,
}
