//! The engine: carries changes from the transactions to the subscribers, and reads to the backend.

mod read;
mod subscribe;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dflat_model::{CommitSeq, Table};

use crate::callback;
use crate::change_set::ChangeSet;
use crate::error::{Error, ErrorKind, Result};
use crate::observe::Registry;
use crate::storage::{Backend, CloseOptions};
use crate::transaction::{Concurrency, Scheduler, Transaction};

pub use read::EngineSnapshot;
use read::SnapshotCell;
pub use subscribe::Known;

/// What a transaction does; on a thread of the engine.
pub type Handler = Box<dyn FnOnce(&Rc<Transaction>) -> Result<()> + Send>;

/// What follows a transaction or a shutdown.
pub type Completion = Box<dyn FnOnce(Result<()>) + Send>;

/// An engine on one backend; clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Arc<dyn Backend>,
    scheduler: Scheduler,
    registry: Arc<Registry>,
    /// The number given to the latest transaction that went to commit.
    assigned: AtomicU64,
    /// The latest commit that is known to be done.
    committed: AtomicU64,
    closed: AtomicBool,
    snapshots: Mutex<Vec<std::sync::Weak<SnapshotCell>>>,
}

/// How an engine runs transactions.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Whether transactions of disjoint tables run at the same time.
    pub concurrency: Concurrency,
    /// The most threads that run transactions.
    pub threads_max: usize,
}

impl Default for EngineOptions {
    /// Several writers, 64 threads.
    fn default() -> Self {
        Self {
            concurrency: Concurrency::MultiWriter,
            threads_max: 64,
        }
    }
}

impl Engine {
    /// An engine on a backend, which nobody else uses.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, options: EngineOptions) -> Self {
        let inner = Inner {
            backend,
            scheduler: Scheduler::new(options.concurrency, options.threads_max),
            registry: Arc::default(),
            assigned: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            snapshots: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Queues a transaction over these tables and returns at once. `completion` is called exactly
    /// once: on the transaction's thread when all is done, callbacks included; or on this thread,
    /// before this returns, if the transaction can't be queued.
    pub fn perform(&self, tables: Vec<Table>, handler: Handler, completion: Completion) {
        if tables.is_empty() {
            let message = "cannot perform changes: no type is named";
            completion(Err(Error::new(ErrorKind::InvalidArgument, message)));
            return;
        }
        // Shared with the job, so that it can be called here if the job is refused.
        let completion = Arc::new(Mutex::new(Some(completion)));
        let complete = Arc::clone(&completion);
        let engine = self.clone();
        let names: Vec<Table> = tables.clone();
        let job = Box::new(move || {
            let outcome = engine.run(tables, handler);
            let taken = complete
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(completion) = taken {
                // A panic in a completion has nobody to go to; the transaction is done all the
                // same.
                let _ = callback::run("a completion", || completion(outcome));
            }
        });
        let names = names.iter().map(|table| table.name.as_ref());
        if let Err(error) = self.inner.scheduler.enqueue(names, job) {
            let taken = completion
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(completion) = taken {
                completion(Err(error.context("cannot perform changes")));
            }
        }
    }

    /// Runs a transaction that has its turn, and tells the subscribers.
    fn run(&self, tables: Vec<Table>, handler: Handler) -> Result<()> {
        let transaction = Rc::new(Transaction::new(
            Arc::clone(&self.inner.backend),
            tables,
            self.committed(),
        ));
        let handled = callback::run("a transaction's handler", || {
            transaction.enter(|transaction| handler(transaction))
        });
        let next_seq = || CommitSeq(self.inner.assigned.fetch_add(1, Ordering::AcqRel) + 1);
        let changes = transaction.finish(handled.and_then(|outcome| outcome), next_seq)?;
        if let Some(changes) = changes {
            self.publish(&changes);
        }
        Ok(())
    }

    fn publish(&self, changes: &ChangeSet) {
        self.inner
            .committed
            .fetch_max(changes.seq.0, Ordering::AcqRel);
        self.inner
            .registry
            .publish(changes, |table, query| self.fetch(table, query));
    }

    /// The latest commit that is known to be done.
    fn committed(&self) -> CommitSeq {
        CommitSeq(self.inner.committed.load(Ordering::Acquire))
    }

    /// Finishes the transactions queued so far, then gives every resource back. Everything called
    /// afterwards fails with [`ErrorKind::ShutDown`]. A second call does no harm.
    ///
    /// # Errors
    /// [`ErrorKind::WouldDeadlock`] inside a handler or a callback; else as the backend's closing.
    pub fn shutdown(&self, options: CloseOptions) -> Result<()> {
        callback::forbid_blocking("wait for the shutdown")?;
        self.inner.closed.store(true, Ordering::Release);
        self.inner.scheduler.close();
        self.inner.registry.close();
        self.release_snapshots();
        self.inner.backend.close(options)
    }

    /// As [`Engine::shutdown`], without waiting: `completion` is called on a thread of its own.
    pub fn shutdown_then(&self, options: CloseOptions, completion: Completion) {
        self.inner.closed.store(true, Ordering::Release);
        let engine = self.clone();
        let completion = Arc::new(Mutex::new(Some(completion)));
        let complete = Arc::clone(&completion);
        let finish = move || {
            let outcome = engine.shutdown(options);
            let taken = complete
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(completion) = taken {
                let _ = callback::run("a shutdown's completion", || completion(outcome));
            }
        };
        let thread = std::thread::Builder::new().name("dflat-shutdown".to_owned());
        if let Err(error) = thread.spawn(finish) {
            let taken = completion
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(completion) = taken {
                let message = "cannot shut down: no thread can be started";
                completion(Err(Error::with_source(ErrorKind::Io, message, error)));
            }
        }
    }

    fn refuse_if_closed(&self, operation: &str) -> Result<()> {
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(shut_down(operation));
        }
        Ok(())
    }
}

fn shut_down(operation: &str) -> Error {
    let message = format!("cannot {operation}: the workspace is shut down");
    Error::new(ErrorKind::ShutDown, message)
}
