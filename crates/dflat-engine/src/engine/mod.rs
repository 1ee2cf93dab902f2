//! The engine: carries changes from the transactions to the subscribers, and reads to the backend.

mod perform;
mod read;
mod subscribe;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::callback;
use crate::error::{Error, ErrorKind, Result};
use crate::observe::Registry;
use crate::storage::{Backend, CloseOptions};
pub use crate::transaction::Completion;
use crate::transaction::{Acknowledgement, Concurrency, Groups, Scheduler};

pub use perform::{Handler, RetryingHandler};
pub use read::EngineSnapshot;
use read::{Reader, SnapshotCell};
pub use subscribe::Known;

/// An engine on one backend; clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    reader: Reader,
    groups: Groups,
    scheduler: Scheduler,
    registry: Arc<Registry>,
    closed: AtomicBool,
    snapshots: Mutex<Vec<std::sync::Weak<SnapshotCell>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without a shutdown, too, the threads end. All jobs have: they hold the engine.
        self.groups.abandon();
    }
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
        let reader = Reader::new(Arc::clone(&backend));
        let registry: Arc<Registry> = Arc::default();
        let deliver = deliverer(reader.clone(), Arc::clone(&registry));
        let groups = Groups::new(
            backend,
            reader.engine,
            Arc::clone(&reader.committed),
            deliver,
        );
        let settling = groups.clone();
        let after_job = Box::new(move |more| settling.settle(more));
        let scheduler = Scheduler::new(options.concurrency, options.threads_max, after_job);
        let inner = Inner {
            reader,
            groups,
            scheduler,
            registry,
            closed: AtomicBool::new(false),
            snapshots: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Whether both are handles on one engine.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Waits until the work queued so far is done: transactions, registrations, and all that is
    /// delivered because of them.
    ///
    /// # Errors
    /// [`ErrorKind::WouldDeadlock`] inside a handler or a callback; [`ErrorKind::ShutDown`] after
    /// shutdown.
    pub fn settle(&self) -> Result<()> {
        callback::forbid_blocking("settle")?;
        let (done, settled) = mpsc::channel();
        let groups = self.inner.groups.clone();
        let job = Box::new(move || {
            groups.flush_all();
            let _ = done.send(());
        });
        let queued = self.inner.scheduler.enqueue_last(job);
        queued.map_err(|error| error.context("cannot settle"))?;
        // The job is run, or dropped with its end of the channel.
        let _ = settled.recv();
        Ok(())
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
        self.inner.groups.close();
        self.inner.registry.close();
        self.release_snapshots();
        self.inner.reader.backend.close(options)
    }

    /// As [`Engine::shutdown`], without waiting: `completion` is called on a thread of its own.
    pub fn shutdown_then(&self, options: CloseOptions, completion: Completion) {
        self.inner.closed.store(true, Ordering::Release);
        self.inner.scheduler.refuse();
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

    fn refuse_if_closed(&self, operation: fmt::Arguments<'_>) -> Result<()> {
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(shut_down(operation));
        }
        Ok(())
    }
}

/// What is done with each transaction that has ended: subscribers are told, then its completion.
fn deliverer(
    reader: Reader,
    registry: Arc<Registry>,
) -> Box<dyn Fn(Acknowledgement) + Send + Sync> {
    Box::new(
        move |Acknowledgement {
                  outcome,
                  completion,
              }| {
            let (outcome, changes) = match outcome {
                Ok(changes) => (Ok(()), changes),
                Err(error) => (Err(error), None),
            };
            if let Some(changes) = &changes {
                // Whatever happens there, the completion is called.
                let _ = callback::run("a publication", || {
                    registry.publish(changes, |table, query| reader.fetch(table, query));
                });
            }
            // A panic in a completion has nobody to go to; the transaction is done all the same.
            let _ = callback::run("a completion", || completion(outcome));
            // Order: what changed is let go last, so that nobody waits while many objects are.
            drop(changes);
        },
    )
}

fn shut_down(operation: fmt::Arguments<'_>) -> Error {
    let message = format!("cannot {operation}: the workspace is shut down");
    Error::new(ErrorKind::ShutDown, message)
}
