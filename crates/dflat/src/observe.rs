//! Subscribing to objects, results and queries.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dflat_engine::engine::{Engine, Known};
use dflat_engine::observe::ObjectEvent;
pub use dflat_engine::observe::Subscription;
use futures_core::Stream;

use crate::{Error, ErrorKind, Fetch, FetchedResult, Object, Result};

/// What happened to an observed object.
#[derive(Clone, Debug, PartialEq)]
pub enum SubscribedObject<T> {
    /// It has new values.
    Updated(T),
    /// It was deleted. Nothing follows: an object created later with the same key is another.
    Deleted,
}

/// What can be subscribed to: `&T` for an object, `&FetchedResult<T>` for a result that was
/// fetched, and a [`Fetch`] of a workspace for a query.
pub trait Observable: Sized {
    /// What a subscriber is told.
    type Delivery: Send + 'static;

    /// Whether a delivery is the last.
    #[doc(hidden)]
    fn is_last(_delivery: &Self::Delivery) -> bool {
        false
    }

    /// Subscribes.
    #[doc(hidden)]
    fn observe(
        self,
        engine: &Engine,
        callback: Box<dyn FnMut(Self::Delivery) + Send>,
    ) -> Result<Subscription>;
}

impl<T: Object> Observable for &T {
    type Delivery = SubscribedObject<T>;

    fn is_last(delivery: &SubscribedObject<T>) -> bool {
        matches!(delivery, SubscribedObject::Deleted)
    }

    fn observe(
        self,
        engine: &Engine,
        mut callback: Box<dyn FnMut(SubscribedObject<T>) + Send>,
    ) -> Result<Subscription> {
        let callback = Box::new(move |event| {
            callback(match event {
                ObjectEvent::Updated(object) => SubscribedObject::Updated(T::from_handle(object)),
                ObjectEvent::Deleted => SubscribedObject::Deleted,
            });
        });
        engine.observe_object(&T::TABLE, self.handle(), callback)
    }
}

impl<T: Object> Observable for &FetchedResult<T> {
    type Delivery = Result<FetchedResult<T>>;

    fn observe(
        self,
        engine: &Engine,
        mut callback: Box<dyn FnMut(Result<FetchedResult<T>>) + Send>,
    ) -> Result<Subscription> {
        let query = self.query().clone();
        let known = Known::Result(self.to_fetched());
        let callback = Box::new(move |fetched: Result<_>| {
            callback(fetched.map(|fetched| FetchedResult::new(fetched, query.clone())));
        });
        engine.observe_result(&T::TABLE, self.query(), known, callback)
    }
}

impl<T: Object> Observable for Fetch<'_, T> {
    type Delivery = Result<FetchedResult<T>>;

    fn observe(
        self,
        engine: &Engine,
        mut callback: Box<dyn FnMut(Result<FetchedResult<T>>) + Send>,
    ) -> Result<Subscription> {
        self.check()?;
        let (source, query) = self.into_parts();
        if !source.is_some_and(|source| source.is_same(engine)) {
            let message = format!(
                "cannot subscribe to a query of {} that was not started from this workspace",
                T::TABLE.type_name
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let of = query.clone();
        let callback = Box::new(move |fetched: Result<_>| {
            callback(fetched.map(|fetched| FetchedResult::new(fetched, of.clone())));
        });
        engine.observe_result(&T::TABLE, &query, Known::Nothing, callback)
    }
}

/// The deliveries of a subscription as a stream; dropping it ends the subscription.
///
/// It keeps the newest delivery only: a consumer that is slower than the commits sees the latest
/// state and not each one between. A stream of an object ends after its deletion; one of a result
/// or a query ends when the workspace is shut down.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Deliveries<D> {
    shared: Arc<Mutex<Slot<D>>>,
    /// Held for its drop.
    _subscription: Subscription,
}

struct Slot<D> {
    newest: Option<D>,
    waker: Option<Waker>,
    ended: bool,
}

impl<D: Send + 'static> Deliveries<D> {
    pub(crate) fn new<O: Observable<Delivery = D>>(observable: O, engine: &Engine) -> Result<Self> {
        let slot = Slot {
            newest: None,
            waker: None,
            ended: false,
        };
        let shared = Arc::new(Mutex::new(slot));
        let sink = Sink(Arc::clone(&shared));
        let callback = Box::new(move |delivery| sink.put(delivery, O::is_last));
        let subscription = observable.observe(engine, callback)?;
        Ok(Self {
            shared,
            _subscription: subscription,
        })
    }
}

/// The subscription's end of a stream: the stream ends when it is dropped.
struct Sink<D>(Arc<Mutex<Slot<D>>>);

fn lock<D>(slot: &Mutex<Slot<D>>) -> MutexGuard<'_, Slot<D>> {
    // No user code runs under the lock.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D> Sink<D> {
    fn put(&self, delivery: D, is_last: impl Fn(&D) -> bool) {
        let mut slot = lock(&self.0);
        slot.ended = slot.ended || is_last(&delivery);
        slot.newest = Some(delivery);
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<D> Drop for Sink<D> {
    fn drop(&mut self) {
        let mut slot = lock(&self.0);
        slot.ended = true;
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<D> Stream for Deliveries<D> {
    type Item = D;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<D>> {
        let mut slot = lock(&self.shared);
        if let Some(newest) = slot.newest.take() {
            return Poll::Ready(Some(newest));
        }
        if slot.ended {
            return Poll::Ready(None);
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<D> fmt::Debug for Deliveries<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliveries").finish_non_exhaustive()
    }
}
