//! The engine: carries changes from the transactions to the subscribers, and reads to the backend.

mod background;
mod clients;
mod follower;
mod history;
mod indexes;
mod listener;
mod options;
mod perform;
mod process;
mod read;
mod snapshots;
mod subscribe;

use std::fmt;
use std::sync::{Arc, Mutex, Once, PoisonError, mpsc};
use std::time::Duration;

use dflat_model::Table;

pub use crate::background::{Call, Place};
use crate::callback;
pub use crate::change_set::Completion;
use crate::change_set::{ChangeSet, ChangedKeys, Ended, RereadSet};
use crate::delivery::{Calls, Deliver, Deliveries, UNMATCHED_MAX};
use crate::error::{Error, ErrorKind, Result};
use crate::history::KeepHistory;
use crate::observe::{Publication, Registry};
use crate::storage::{Backend, WriteTransaction};
use crate::telemetry::Telemetry;
pub use crate::telemetry::{Counts, Thresholds};
use crate::transaction::{AfterJob, Groups, Outlet, Scheduler};
pub use crate::transaction::{BuildState, Duplicate, IndexProgress, Ready};

pub use background::Length;
use background::Threads;
use clients::ClientState;
pub use clients::{HeldSubscription, WeakEngine};
use follower::Follower;
use listener::Listener;
pub use options::{EngineOptions, TransactionExecutor};
pub use perform::PerformOptions;
use process::Process;
use read::Reader;
pub use snapshots::EngineSnapshot;
use snapshots::Snapshots;
pub use subscribe::Subject;

/// A client of an engine on one backend. Clones are the same client. Each client ends on its own,
/// and the engine ends with its last client.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    client: Arc<ClientState>,
}

struct Inner {
    /// Called before each handler.
    entrance: Arc<dyn Fn() + Send + Sync>,
    reader: Reader,
    groups: Groups,
    deliveries: Arc<Deliveries>,
    scheduler: Scheduler,
    registry: Arc<Registry>,
    telemetry: Arc<Telemetry>,
    snapshots: Arc<Snapshots>,
    background: Threads,
    busy_timeout: Duration,
    listener: Arc<Listener>,
    history: Option<Arc<dyn KeepHistory>>,
    /// The id of the workspace in change records.
    workspace_id: Option<u128>,
    author: Option<String>,
    /// Done once the backend reports commits of other processes.
    follow: Once,
    /// The process that made the engine. A child that this process forks has none of its threads.
    process: Process,
    /// The clients that have not ended.
    clients: Mutex<usize>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The threads end without a shutdown too. All jobs have ended, because they hold the
        // engine.
        self.groups.abandon();
        self.deliveries.stop(false);
    }
}

impl Engine {
    /// An engine on a backend that is used by no other engine.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, options: EngineOptions) -> Self {
        Self::with_entrance(backend, options, Box::new(|| ()))
    }

    /// As [`new`](Self::new), with a function that each transaction calls before its handler runs,
    /// on the handler's thread. It may block: handlers wait while the storage is suspended.
    #[must_use]
    pub fn with_entrance(
        backend: Arc<dyn Backend>,
        options: EngineOptions,
        entrance: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let telemetry = Arc::new(Telemetry::new(options.thresholds));
        let bytes_max = options.follow_bytes_max;
        let index_on_read = options.index_on_read;
        let workspace_id = options.recording.workspace_id;
        let author = options.recording.author.clone();
        let reader = Reader::new(backend, Arc::clone(&telemetry), bytes_max, index_on_read);
        let registry = Arc::new(Registry::new(Arc::clone(&telemetry)));
        let snapshots = Arc::new(Snapshots::new(options.snapshot_age_max));
        let listener = Arc::new(Listener::default());
        let deliver = Box::new(Deliverer {
            listener: Arc::clone(&listener),
            reader: reader.clone(),
            registry: Arc::clone(&registry),
            telemetry: Arc::clone(&telemetry),
            snapshots: Arc::clone(&snapshots),
        });
        let patience = options.patience;
        let deliveries = Arc::new(Deliveries::new(deliver, patience, UNMATCHED_MAX));
        reader.follower.deliver_to(&deliveries, &listener);
        let outlet = ToDeliveries {
            deliveries: Arc::clone(&deliveries),
            follower: Arc::clone(&reader.follower),
        };
        let groups = Groups::new(
            Arc::clone(&reader.indexer),
            Arc::clone(&reader.committed),
            Arc::clone(&reader.committing),
            Arc::clone(&telemetry),
            Box::new(outlet),
            (options.recording, options.history.clone()),
        );
        let after_job = after_job(groups.clone(), Arc::clone(&deliveries));
        let executor = options.executor.and_then(TransactionExecutor::into_inner);
        let (concurrency, threads_max) = (options.concurrency, options.threads_max);
        let scheduler = Scheduler::on(executor, concurrency, threads_max, after_job);
        let inner = Inner {
            entrance: entrance.into(),
            background: Threads::new(reader.backend.reads_max()),
            reader,
            groups,
            deliveries,
            scheduler,
            registry,
            telemetry,
            snapshots,
            busy_timeout: options.busy_timeout,
            listener,
            history: options.history,
            workspace_id,
            author,
            follow: Once::new(),
            process: Process::current(),
            clients: Mutex::new(1),
        };
        Self {
            inner: Arc::new(inner),
            client: Arc::default(),
        }
    }

    /// Whether both are handles on one engine.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The engine's counts of events.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner.telemetry.counts()
    }

    /// Waits until the work queued so far is done: transactions, registrations, all that is
    /// delivered because of them, and the building of indexes.
    ///
    /// # Errors
    /// [`ErrorKind::WouldDeadlock`] inside a handler or a callback; [`ErrorKind::ShutDown`] after
    /// shutdown.
    pub fn settle(&self) -> Result<()> {
        callback::forbid_blocking("settle")?;
        self.refuse_work(format_args!("settle"))?;
        self.drain()?;
        self.inner.groups.indexer().wait();
        Ok(())
    }

    /// Settles as [`settle`](Self::settle) does, without waiting: `completion` is called at the
    /// end, on a thread of the engine, or on this thread if this call fails. It must not block.
    pub fn settle_then(&self, completion: Completion) {
        let admitted = callback::forbid_blocking("settle")
            .and_then(|()| self.refuse_work(format_args!("settle")));
        if let Err(error) = admitted {
            completion.complete(Err(error));
            return;
        }
        let groups = self.inner.groups.clone();
        let deliveries = Arc::clone(&self.inner.deliveries);
        // The job is run, or dropped without a call of the completion.
        let completion = Arc::new(Mutex::new(Some(completion)));
        let complete = Arc::clone(&completion);
        let job = Box::new(move || {
            groups.flush_all();
            deliveries.wait();
            // The error of an index that was not built is reported elsewhere.
            let ready = Box::new(move |_| complete_once(&complete, Ok(())));
            groups.indexer().when_ready(ready);
        });
        if let Err(refused) = self.inner.scheduler.enqueue_last(job) {
            complete_once(&completion, Err(refused.error.context("cannot settle")));
        }
    }

    /// Waits until the work queued so far is done.
    fn drain(&self) -> Result<()> {
        let (done, settled) = mpsc::channel();
        let groups = self.inner.groups.clone();
        let deliveries = Arc::clone(&self.inner.deliveries);
        let job = Box::new(move || {
            groups.flush_all();
            deliveries.wait();
            let _ = done.send(());
        });
        let queued = self.inner.scheduler.enqueue_last(job);
        queued.map_err(|refused| refused.error.context("cannot settle"))?;
        // The job is run, or dropped with its end of the channel.
        let _ = settled.recv();
        Ok(())
    }
}

fn complete_once(completion: &Mutex<Option<Completion>>, outcome: Result<()>) {
    let mut held = completion.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = held.take();
    drop(held);
    if let Some(completion) = taken {
        completion.complete(outcome);
    }
}

/// The work of a scheduler's thread after each of its transactions. With `more`, another
/// transaction is about to run.
fn after_job(groups: Groups, deliveries: Arc<Deliveries>) -> AfterJob {
    Box::new(move |more| {
        let undelivered = groups.settle(more);
        if !more {
            deliveries.drain();
        } else if undelivered {
            deliveries.hand_over();
        }
        deliveries.hold();
    })
}

/// Carries transactions that have ended from the commit groups to the deliveries.
struct ToDeliveries {
    deliveries: Arc<Deliveries>,
    follower: Arc<Follower>,
}

impl Outlet for ToDeliveries {
    fn push(&self, ended: &mut dyn Iterator<Item = Ended>) {
        self.deliveries.push(ended);
    }

    fn catch_up(&self, writer: &mut dyn WriteTransaction, is_foreign: bool) -> bool {
        self.follower.catch_up_writer(writer, is_foreign)
    }

    fn doubt(&self) {
        self.follower.doubt();
    }

    fn is_observed(&self, table: &Table) -> bool {
        self.deliveries.is_observed(table)
    }

    fn may_be_observed(&self, table: &Table) -> bool {
        self.deliveries.may_be_observed(table)
    }

    fn hand_over(&self) {
        self.deliveries.hand_over();
    }
}

/// Handles each transaction that has ended: notifies subscribers, then calls the completion.
struct Deliverer {
    listener: Arc<Listener>,
    reader: Reader,
    registry: Arc<Registry>,
    telemetry: Arc<Telemetry>,
    snapshots: Arc<Snapshots>,
}

impl Deliver for Deliverer {
    fn publish(&self, changes: &ChangeSet) -> Option<Arc<dyn Calls>> {
        self.snapshots.look(&self.telemetry);
        let publication = self.registry.publish(changes, &self.reader)?;
        Some(publication)
    }

    fn renew(&self) -> Option<Arc<dyn Calls>> {
        let publication = self.registry.renew(&self.reader);
        let calls = publication.map(|publication| publication as Arc<dyn Calls>);
        self.listener.calls(ChangedKeys::Any, calls)
    }

    fn reread(&self, rows: &RereadSet) -> Option<Arc<dyn Calls>> {
        let publication = self.registry.reread(rows, &self.reader);
        let calls = publication.map(|publication| publication as Arc<dyn Calls>);
        self.listener.calls(ChangedKeys::Any, calls)
    }

    fn is_observed(&self, table: &Table) -> bool {
        self.registry.is_observed(table)
    }

    fn complete(&self, outcome: Result<()>, completion: Completion) {
        self.telemetry.note_transaction(outcome.is_ok());
        // A panic of a completion has no caller to return to; the transaction is done nevertheless.
        let _ = callback::run("a completion", || completion.complete(outcome));
    }
}

impl Calls for Publication {
    fn make_next(&self, turn: u64) -> bool {
        self.deliver_next(turn)
    }

    fn progress(&self) -> u64 {
        Self::progress(self)
    }

    fn give_up(&self, quick: Duration) -> u64 {
        Self::give_up(self, quick)
    }
}

fn made_by_parent(operation: fmt::Arguments<'_>) -> Error {
    let message = format!(
        "cannot {operation}: the workspace was opened before this process was forked, and belongs \
         to the parent process"
    );
    Error::new(ErrorKind::ShutDown, message)
}

fn shut_down(operation: fmt::Arguments<'_>) -> Error {
    let message = format!("cannot {operation}: the workspace is shut down");
    Error::new(ErrorKind::ShutDown, message)
}

#[cfg(test)]
mod tests;
