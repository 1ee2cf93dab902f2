//! Clients of an engine: each is closed on its own, and the engine with the last.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use super::snapshots::SnapshotCell;
use super::{Completion, Engine, Inner, made_by_parent, shut_down};
use crate::callback;
use crate::error::{Error, ErrorKind, Result};
use crate::observe::{Subscription, SubscriptionEnd};
use crate::storage::CloseOptions;

/// The state of one client of an engine.
#[derive(Default)]
pub(super) struct ClientState {
    /// Locked for reading while work is queued, so that no work is queued after the client has
    /// ended.
    gate: RwLock<Gate>,
    /// Whether the client has ended. Callers that need not keep the client from ending read it
    /// without a lock.
    is_closed: AtomicBool,
    held: Mutex<Held>,
}

/// Whether the client is open.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Gate {
    #[default]
    Open,
    /// The client has ended, and other clients are open.
    Closed,
    /// The client was the last to end.
    Last,
}

/// The snapshots and subscriptions that end with the client.
#[derive(Default)]
struct Held {
    snapshots: Vec<Weak<SnapshotCell>>,
    subscriptions: Vec<SubscriptionEnd>,
    /// Number of subscriptions at which those that are over are removed.
    subscriptions_max: usize,
    /// Subscriptions of other rooms.
    others: Vec<Box<dyn HeldSubscription>>,
    /// Number of these at which those that are over are removed.
    others_max: usize,
}

/// A subscription that ends with a client.
pub trait HeldSubscription: Send {
    /// Whether the subscription has ended.
    fn is_over(&self) -> bool;

    /// Ends the subscription, without waiting for a call of its callback.
    fn end(&self);
}

impl ClientState {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a snapshot, to end it with the client.
    pub(super) fn hold_snapshot(&self, cell: &Arc<SnapshotCell>) {
        let snapshots = &mut self.held().snapshots;
        snapshots.retain(|snapshot| snapshot.strong_count() > 0);
        snapshots.push(Arc::downgrade(cell));
    }

    /// Keeps a subscription, to end it with the client.
    pub(super) fn hold_subscription(&self, subscription: &Subscription) {
        let mut held = self.held();
        if held.subscriptions.len() >= held.subscriptions_max {
            held.subscriptions
                .retain(|subscription| !subscription.is_over());
            held.subscriptions_max = 2 * held.subscriptions.len() + 8;
        }
        held.subscriptions.push(subscription.to_end());
    }

    fn hold(&self, subscription: Box<dyn HeldSubscription>) {
        let mut held = self.held();
        if held.others.len() >= held.others_max {
            held.others.retain(|subscription| !subscription.is_over());
            held.others_max = 2 * held.others.len() + 8;
        }
        held.others.push(subscription);
    }

    /// How long the oldest held snapshot that has not ended has been held.
    fn oldest_snapshot(&self) -> Option<Duration> {
        let held = self.held();
        let cells = held.snapshots.iter().filter_map(Weak::upgrade);
        let open = cells.filter(|cell| !cell.is_expired());
        open.map(|cell| cell.age()).max()
    }

    /// Ends the snapshots and subscriptions, so that closing need not wait for their owners.
    fn release(&self) {
        let Held {
            snapshots,
            subscriptions,
            others,
            ..
        } = std::mem::take(&mut *self.held());
        for subscription in subscriptions {
            subscription.end();
        }
        for subscription in others {
            subscription.end();
        }
        for snapshot in snapshots.iter().filter_map(Weak::upgrade) {
            snapshot.release();
        }
    }
}

/// A handle on an engine that does not keep the engine open.
#[derive(Clone)]
pub struct WeakEngine(Weak<Inner>);

impl WeakEngine {
    /// Another client in the engine; `None` if the last has ended.
    #[must_use]
    pub fn new_client(&self) -> Option<Engine> {
        let inner = self.0.upgrade()?;
        let mut clients = inner.clients();
        if *clients == 0 {
            return None;
        }
        *clients += 1;
        drop(clients);
        let client = Arc::default();
        Some(Engine { inner, client })
    }

    /// Whether the parent of this process made the engine, before it forked this process.
    #[must_use]
    pub fn is_of_parent(&self) -> bool {
        let inner = self.0.upgrade();
        inner.is_some_and(|inner| !inner.process.is_current())
    }

    /// Whether there is a client that has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open().is_some()
    }

    /// The engine, if there is a client that has not ended.
    pub(super) fn open(&self) -> Option<Arc<Inner>> {
        self.0.upgrade().filter(|inner| *inner.clients() > 0)
    }
}

impl Inner {
    fn clients(&self) -> MutexGuard<'_, usize> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// A handle on the engine that does not keep the engine open.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.inner))
    }

    /// Whether the parent of this process made the engine, before it forked this process. In this
    /// case the process has none of the engine's threads, and must not use its connections.
    #[inline]
    #[must_use]
    pub fn is_of_parent(&self) -> bool {
        !self.inner.process.is_current()
    }

    /// Whether this client has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.client.is_closed.load(Ordering::Acquire)
    }

    /// Ends this client for all later calls. Returns whether it is the last client.
    fn leave(&self) -> bool {
        let mut gate = self
            .client
            .gate
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if *gate == Gate::Open {
            let mut clients = self.inner.clients();
            *clients -= 1;
            *gate = if *clients == 0 {
                Gate::Last
            } else {
                Gate::Closed
            };
        }
        self.client.is_closed.store(true, Ordering::Release);
        let is_last = *gate == Gate::Last;
        if is_last {
            self.inner.scheduler.refuse();
        }
        is_last
    }

    /// Finishes the transactions queued so far, and ends this client: every later call through this
    /// client fails with [`ErrorKind::ShutDown`]. The last client to end releases every resource. A
    /// second call does no harm. In a child process that was forked, the call does nothing.
    ///
    /// # Errors
    /// [`ErrorKind::WouldDeadlock`] inside a handler or a callback; otherwise the errors of closing
    /// the backend.
    pub fn shutdown(&self, options: CloseOptions) -> Result<()> {
        callback::forbid_blocking("wait for the shutdown")?;
        if self.is_of_parent() {
            return Ok(());
        }
        if !self.leave() {
            // An error means that the last client is ending meanwhile; this call waits for that.
            if self.drain().is_err() {
                self.inner.scheduler.close();
            }
            self.client.release();
            return Ok(());
        }
        self.inner.background.close();
        self.inner.scheduler.close();
        self.inner.groups.flush_all();
        self.inner.deliveries.wait();
        self.inner.groups.close();
        self.inner.deliveries.stop(true);
        self.inner.registry.close();
        self.client.release();
        self.inner.reader.backend.close(options)
    }

    /// As [`Engine::shutdown`], without waiting: `completion` is called on a thread of its own.
    pub fn shutdown_then(&self, options: CloseOptions, completion: Completion) {
        self.leave();
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
                let _ = callback::run("a shutdown's completion", || completion.complete(outcome));
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
                let error = Error::with_source(ErrorKind::Io, message, error);
                completion.complete(Err(error));
            }
        }
    }

    /// How long the oldest snapshot of this client that has not ended has been held.
    #[must_use]
    pub fn oldest_snapshot(&self) -> Option<Duration> {
        self.client.oldest_snapshot()
    }

    /// Fails if this client has ended, unless this is the thread of a handler: a transaction that
    /// was queued before the shutdown can still read. Fails if the client belongs to the parent of
    /// this process.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`], with the operation in its message.
    pub fn admit_read(&self, operation: fmt::Arguments<'_>) -> Result<()> {
        if !self.is_of_parent() && !self.is_open() && self.is_in_transaction() {
            return Ok(());
        }
        self.refuse_work(operation)
    }

    /// Fails if this client has ended, or belongs to the parent of this process.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`], with the operation in its message.
    pub fn refuse_work(&self, operation: fmt::Arguments<'_>) -> Result<()> {
        if self.is_of_parent() {
            return Err(made_by_parent(operation));
        }
        if self.client.is_closed.load(Ordering::Acquire) {
            return Err(shut_down(operation));
        }
        Ok(())
    }

    /// Has a subscription end with this client.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`], with the operation in its message, if this client has ended, or
    /// belongs to the parent of this process.
    pub fn hold(
        &self,
        operation: fmt::Arguments<'_>,
        subscription: Box<dyn HeldSubscription>,
    ) -> Result<()> {
        self.while_open(operation, || {
            self.client.hold(subscription);
            Ok(())
        })
    }

    /// Queues work, unless the client has ended. `queue` must call no code of the program, which
    /// could end the client and would wait for itself.
    pub(super) fn while_open<R>(
        &self,
        operation: fmt::Arguments<'_>,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let gate = self
            .client
            .gate
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        match *gate {
            Gate::Open if self.is_of_parent() => Err(made_by_parent(operation)),
            Gate::Open => queue(),
            Gate::Closed | Gate::Last => Err(shut_down(operation)),
        }
    }
}
