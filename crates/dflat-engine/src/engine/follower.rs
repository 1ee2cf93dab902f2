//! Numbers the commits of other programs, and queues them for delivery.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use dflat_model::{CommitSeq, Table, Value};

use super::listener::Listener;
use crate::change_set::{ChangeSet, ChangedKeys, RereadSet, RereadTable, record_engine};
use crate::delivery::Deliveries;
use crate::error::{Error, Result};
use crate::follow::{Follow, Followed, FollowedCommit};
use crate::storage::{Backend, Snapshot, StateId, WriteTransaction};
use crate::telemetry::{TARGET, Telemetry};

/// Follows the commits of other programs. Each commit that a reader or a writer of this engine
/// comes across gets its number before anything is read from its state.
pub(super) struct Follower {
    /// Identifies the engine among the engines of the process.
    engine: u64,
    backend: Arc<dyn Backend>,
    /// The latest commit that is done.
    committed: Arc<AtomicU64>,
    /// Held from a commit until it has its number. Of two snapshots that are pinned with the lock,
    /// the second one sees the later state.
    committing: Arc<Mutex<()>>,
    /// The state up to which subscribers know the commits of other programs; `None` until the first
    /// subscription or refresh.
    seen: Mutex<Option<StateId>>,
    /// The tables that ever had a subscriber, by name.
    tables: Mutex<HashMap<String, Table>>,
    /// Set once, when the engine is made. The queue refers to the reader and so to this follower.
    deliveries: OnceLock<Weak<Deliveries>>,
    /// Set with the queue.
    listener: OnceLock<Arc<Listener>>,
    telemetry: Arc<Telemetry>,
    bytes_max: usize,
}

/// The primary keys of changed rows.
type Keys = Vec<Vec<Value>>;

/// How a reader learned of the commits of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaughtUp {
    /// There were none.
    Known,
    /// They were queued for delivery, one by one or as one commit.
    Followed,
    /// Nothing is known of them, and they have no numbers.
    Unknown,
}

impl Follower {
    pub(super) fn new(
        engine: u64,
        backend: Arc<dyn Backend>,
        committed: Arc<AtomicU64>,
        committing: Arc<Mutex<()>>,
        telemetry: Arc<Telemetry>,
        bytes_max: usize,
    ) -> Self {
        Self {
            engine,
            backend,
            committed,
            committing,
            seen: Mutex::default(),
            tables: Mutex::default(),
            deliveries: OnceLock::new(),
            listener: OnceLock::new(),
            telemetry,
            bytes_max,
        }
    }

    /// Sets the queue and the listener of the engine.
    pub(super) fn deliver_to(&self, deliveries: &Arc<Deliveries>, listener: &Arc<Listener>) {
        let _ = self.deliveries.set(Arc::downgrade(deliveries));
        let _ = self.listener.set(Arc::clone(listener));
    }

    fn deliveries(&self) -> Option<Arc<Deliveries>> {
        self.deliveries.get().and_then(Weak::upgrade)
    }

    fn committed(&self) -> CommitSeq {
        CommitSeq(self.committed.load(Ordering::Acquire))
    }

    fn seen(&self) -> MutexGuard<'_, Option<StateId>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a state is known up to which subscribers know all commits.
    pub(super) fn stands(&self) -> bool {
        self.seen().is_some()
    }

    /// Notes the state that the first subscriber reads.
    pub(super) fn stand(&self, state: StateId) {
        self.seen().get_or_insert(state);
    }

    /// Notes that a table has subscribers, before the first one reads anything.
    pub(super) fn note_observed(&self, table: &Table) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if !tables.contains_key(table.name.as_ref()) {
            tables.insert(table.name.to_string(), table.clone());
        }
    }

    /// Pins a snapshot, and numbers the commits of other programs that it sees, if change records
    /// tell of them. Returns the number of the latest commit that it sees. It may wait for a commit
    /// that is under way.
    pub(super) fn pin(&self, snapshot: &mut dyn Snapshot) -> Result<CommitSeq> {
        let unnumbered = self.unnumbered();
        let now = snapshot.pin()?;
        let mut seen = self.seen();
        let caught_up = match *seen {
            Some(before) => self.catch_up(snapshot, before, now)?,
            None => CaughtUp::Unknown,
        };
        // After unknown commits, the next transaction or `refresh` has everything read again. It
        // must not follow them one by one, because the reader has read a later state.
        if let Some(seen) = seen.as_mut() {
            *seen = match caught_up {
                CaughtUp::Unknown => StateId::UNKNOWN,
                CaughtUp::Known | CaughtUp::Followed => now,
            };
        }
        drop(seen);
        let seq = self.committed();
        drop(unnumbered);
        if caught_up == CaughtUp::Followed
            && let Some(deliveries) = self.deliveries()
        {
            deliveries.hand_over();
        }
        Ok(seq)
    }

    /// Queues the commits of other programs since the last call, or that everything is read again.
    /// Returns whether anything was queued.
    pub(super) fn refresh(&self, snapshot: &mut dyn Snapshot) -> Result<bool> {
        let _unnumbered = self.unnumbered();
        let now = snapshot.pin()?;
        let mut seen = self.seen();
        let before = seen.unwrap_or(StateId::UNKNOWN);
        let caught_up = self.catch_up(snapshot, before, now)?;
        *seen = Some(now);
        drop(seen);
        if caught_up == CaughtUp::Unknown {
            self.renew();
        }
        Ok(caught_up != CaughtUp::Known)
    }

    /// As [`Outlet::catch_up`](crate::transaction::Outlet::catch_up).
    pub(super) fn catch_up_writer(
        &self,
        writer: &mut dyn WriteTransaction,
        is_foreign: bool,
    ) -> bool {
        let now = writer.base().id;
        if !is_foreign {
            // No other program has committed since the state that this engine saw last, unless the
            // connection to a server has ended meanwhile, and with it this transaction.
            match self.seen().as_mut() {
                Some(seen) if *seen != StateId::UNKNOWN && !writer.is_overtaken(*seen) => {
                    *seen = now;
                    return false;
                }
                Some(_) => {}
                None => return false,
            }
        }
        let _unnumbered = self.unnumbered();
        let mut seen = self.seen();
        let caught_up = match seen.as_mut() {
            Some(seen) => match self.catch_up(writer, *seen, now) {
                Ok(caught_up) => {
                    *seen = now;
                    caught_up
                }
                // The transaction is lost. The next one does not count its base state as known.
                Err(_) => return true,
            },
            // Without subscriptions, only states that were read before are out of date.
            None if self.committed() == CommitSeq::default() => CaughtUp::Known,
            None => CaughtUp::Unknown,
        };
        drop(seen);
        if caught_up == CaughtUp::Unknown {
            self.renew();
        }
        caught_up != CaughtUp::Known
    }

    /// Waits until commits that are being numbered are queued.
    pub(super) fn wait(&self) {
        drop(self.unnumbered());
    }

    fn unnumbered(&self) -> MutexGuard<'_, ()> {
        self.committing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn renew(&self) {
        if let Some(deliveries) = self.deliveries() {
            deliveries.renew(self.committed());
        }
    }

    /// Numbers and queues the commits of other programs between two states, of which the snapshot
    /// sees the second one. Called with the lock `committing`.
    ///
    /// # Errors
    /// An error of reading after which another try may succeed.
    fn catch_up(
        &self,
        snapshot: &mut dyn Snapshot,
        before: StateId,
        now: StateId,
    ) -> Result<CaughtUp> {
        if [before, now].contains(&StateId::UNKNOWN) {
            return Ok(CaughtUp::Unknown);
        }
        if !snapshot.is_overtaken(before) {
            return Ok(CaughtUp::Known);
        }
        let Some(deliveries) = self.deliveries() else {
            return Ok(CaughtUp::Unknown);
        };
        let observed = |name: &str| {
            let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            let table = tables.get(name)?;
            deliveries.may_be_observed(table).then(|| table.clone())
        };
        let all_observed = || {
            let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            let observed = tables.values().filter(|t| deliveries.may_be_observed(t));
            observed.cloned().collect()
        };
        // Order: the listener is read once, so that the keys are known for every commit of which
        // the listener is told. A listener that is set later reads later states.
        let listener = self.listener.get().filter(|listener| listener.is_set());
        let listened = |name: &str| listener.is_some_and(|listener| listener.is_of(name));
        let follow = Follow {
            since: before,
            record_engine: record_engine(self.engine),
            engine: self.engine,
            seq: self.committed(),
            observed: &observed,
            all_observed: &all_observed,
            listened: &listened,
            bytes_max: self.bytes_max,
        };
        Ok(match follow.commits(snapshot) {
            Ok(Followed::Commits { commits, keys }) => {
                let mut names = commits.iter().flat_map(|commit| &commit.names);
                let listener = listener.filter(|_| names.any(|name| listened(name)));
                let told = listener.map(|listener| (Arc::clone(listener), keys));
                self.queue(&deliveries, commits, told)
            }
            Ok(Followed::Rows(tables)) => self.queue_reread(&deliveries, tables),
            Ok(Followed::Unknown) => CaughtUp::Unknown,
            Err(error) if self.may_succeed_later(&error) => return Err(error),
            Err(error) => {
                tracing::warn!(target: TARGET, %error, "change records cannot be read");
                CaughtUp::Unknown
            }
        })
    }

    /// Whether a read that failed with this error may succeed later.
    fn may_succeed_later(&self, error: &Error) -> bool {
        self.backend.retry_after(error, Duration::ZERO).is_some()
    }

    /// Notes that a commit of this engine may have been made, or not: everything is read again.
    pub(super) fn doubt(&self) {
        if let Some(seen) = self.seen().as_mut() {
            *seen = StateId::UNKNOWN;
        }
    }

    /// Queues rows that are read again, as one commit.
    fn queue_reread(&self, deliveries: &Deliveries, tables: Vec<RereadTable>) -> CaughtUp {
        self.telemetry.note_reread();
        let seq = CommitSeq(self.committed().0 + 1);
        deliveries.reread(RereadSet { seq, tables });
        // Order: as in `queue`.
        self.committed.store(seq.0, Ordering::Release);
        CaughtUp::Followed
    }

    /// Queues commits, and then the call of the listener that is told of changed keys.
    fn queue(
        &self,
        deliveries: &Deliveries,
        commits: Vec<FollowedCommit>,
        told: Option<(Arc<Listener>, Option<Keys>)>,
    ) -> CaughtUp {
        if commits.is_empty() {
            // Only upkeep was committed.
            return CaughtUp::Known;
        }
        self.telemetry.note_followed(commits.len());
        let mut seq = self.committed();
        deliveries.follow(commits.into_iter().map(|commit| {
            seq.0 += 1;
            let changes = ChangeSet {
                seq,
                tables: commit.tables,
                state: None,
            };
            (changes, commit.names)
        }));
        if let Some((listener, keys)) = told {
            // With the lock `committing`, nothing else was noticed since.
            let notice = deliveries.renewals();
            let these = |keys| ChangedKeys::These { keys, notice };
            let changed = keys.map_or(ChangedKeys::Any, these);
            let calls = Box::new(move || listener.calls(changed, None));
            deliveries.register(calls, notice);
        }
        // Order: a reader that finds the number finds the changes in the queue.
        self.committed.store(seq.0, Ordering::Release);
        CaughtUp::Followed
    }
}
