//! The deliveries of a subscription as a stream or an iterator.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dflat_engine::callback;
use dflat_engine::engine::{Engine, Subject};
use dflat_engine::observe::{DeliveryOptions, Event, Mailbox};
use dflat_model::Table;
use futures_core::Stream;

use super::Subscription;
use super::observable::{Convert, Observed};
use crate::{Error, Result};

/// The deliveries of a subscription as a stream; dropping it ends the subscription.
///
/// The stream subscribes when it is polled for the first time. It keeps the newest delivery, or as
/// many as [`buffer`](super::Observation::buffer) allows: if the consumer is slower than the
/// commits, several deliveries are merged into one. A stream of an object ends after its deletion;
/// any other stream ends when the workspace is shut down.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Deliveries<D> {
    shared: Arc<Shared>,
    start: Option<Start>,
    subscription: Option<Subscription>,
    convert: Convert<D>,
    is_last: fn(&D) -> bool,
    failed: fn(Error) -> Option<D>,
    initial: bool,
    ended: bool,
}

struct Start {
    engine: Engine,
    table: Table,
    subject: Subject,
}

struct Shared {
    slot: Mutex<Slot>,
    /// Signalled when a delivery was added, or none will follow.
    put: Condvar,
}

struct Slot {
    mailbox: Mailbox<Event>,
    waker: Option<Waker>,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        // No user code runs under the lock.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Slot)) {
        let mut slot = self.lock();
        change(&mut slot);
        let waker = slot.waker.take();
        drop(slot);
        self.put.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The subscription's end of a stream: the stream ends when it is dropped.
struct Sink(Arc<Shared>);

impl Drop for Sink {
    fn drop(&mut self) {
        self.0.change(|slot| slot.ended = true);
    }
}

impl<D: Send + 'static> Deliveries<D> {
    pub(super) fn new(
        engine: Engine,
        observed: Observed<D>,
        capacity: usize,
        initial: bool,
    ) -> Self {
        let slot = Slot {
            mailbox: Mailbox::new(capacity),
            waker: None,
            ended: false,
        };
        let shared = Shared {
            slot: Mutex::new(slot),
            put: Condvar::new(),
        };
        let Observed {
            table,
            subject,
            convert,
            is_last,
            failed,
        } = observed;
        let start = Start {
            engine,
            table,
            subject,
        };
        Self {
            shared: Arc::new(shared),
            start: Some(start),
            subscription: None,
            convert,
            is_last,
            failed,
            initial,
            ended: false,
        }
    }

    /// How many deliveries were merged into the delivery before, because they had to wait.
    #[must_use]
    pub fn coalesced(&self) -> u64 {
        self.shared.lock().mailbox.coalesced()
    }

    /// Subscribes if that was not done before. If that fails, returns a delivery with the error.
    fn start(&mut self) -> Option<D> {
        let start = self.start.take()?;
        let sink = Sink(Arc::clone(&self.shared));
        let function = Box::new(move |event| sink.0.change(|slot| slot.mailbox.push(event)));
        let Start {
            engine,
            table,
            subject,
        } = start;
        match engine.observe(&table, subject, DeliveryOptions::default(), function) {
            Ok(subscription) => self.subscription = Some(subscription),
            Err(error) => {
                self.ended = true;
                return (self.failed)(error);
            }
        }
        None
    }

    /// The delivery of an event, unless the event needs none.
    fn delivery(&mut self, event: Event) -> Option<D> {
        let delivery = (self.convert)(event, self.initial)?;
        self.ended = (self.is_last)(&delivery);
        Some(delivery)
    }

    /// Waits for the next delivery; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    pub fn wait(&mut self) -> Result<Option<D>> {
        callback::forbid_blocking("wait for a delivery")?;
        if let Some(failed) = self.start() {
            return Ok(Some(failed));
        }
        while !self.ended {
            let idle = |slot: &mut Slot| slot.mailbox.is_empty() && !slot.ended;
            let waited = self.shared.put.wait_while(self.shared.lock(), idle);
            let event = waited.unwrap_or_else(PoisonError::into_inner).mailbox.pop();
            let Some(event) = event else {
                self.ended = true;
                break;
            };
            if let Some(delivery) = self.delivery(event) {
                return Ok(Some(delivery));
            }
        }
        Ok(None)
    }
}

impl<D> Unpin for Deliveries<D> {}

impl<D: Send + 'static> Stream for Deliveries<D> {
    type Item = D;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<D>> {
        if let Some(failed) = self.start() {
            return Poll::Ready(Some(failed));
        }
        while !self.ended {
            let mut slot = self.shared.lock();
            let Some(event) = slot.mailbox.pop() else {
                if slot.ended {
                    break;
                }
                slot.waker = Some(context.waker().clone());
                return Poll::Pending;
            };
            drop(slot);
            if let Some(delivery) = self.delivery(event) {
                return Poll::Ready(Some(delivery));
            }
        }
        Poll::Ready(None)
    }
}

/// Waits for deliveries, on this thread.
///
/// It ends with the stream. Inside a handler or a callback, where waiting is refused, it ends at
/// once.
#[derive(Debug)]
pub struct DeliveriesIter<D>(Deliveries<D>);

impl<D: Send + 'static> Iterator for DeliveriesIter<D> {
    type Item = D;

    fn next(&mut self) -> Option<D> {
        self.0.wait().ok().flatten()
    }
}

impl<D: Send + 'static> IntoIterator for Deliveries<D> {
    type Item = D;
    type IntoIter = DeliveriesIter<D>;

    fn into_iter(self) -> DeliveriesIter<D> {
        DeliveriesIter(self)
    }
}

impl<D> fmt::Debug for Deliveries<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliveries").finish_non_exhaustive()
    }
}
