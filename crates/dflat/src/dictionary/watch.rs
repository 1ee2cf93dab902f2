//! Subscribing to keys.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dflat_engine::dictionary::{Event, KeySubscription, Pattern};
use futures_core::Stream;

use super::value;
use super::{Dictionary, DictionaryEntry, FromDictionary};
use crate::Result;

/// A delivery to a subscriber of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum SubscribedValue<T> {
    /// The value when the subscription began; `None` if there was none.
    Initial(Option<T>),
    /// A new value.
    Updated(T),
    /// The key has no value any more.
    Deleted,
}

/// A subscription to keys. It ends when it is dropped or cancelled, and when the workspace is shut
/// down.
#[must_use = "a subscription ends when it is dropped"]
pub struct DictionarySubscription {
    inner: KeySubscription,
}

impl DictionarySubscription {
    /// Ends the subscription. After the return, the callback is not running and is not called
    /// again. If this is called inside a callback or handler, a call may still be running on
    /// another thread.
    pub fn cancel(&self) {
        self.inner.cancel();
    }
}

impl fmt::Debug for DictionarySubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DictionarySubscription")
            .finish_non_exhaustive()
    }
}

impl Dictionary {
    /// Calls `callback` with the value of a key, and then with each new value, in order, until the
    /// subscription is cancelled or dropped, or the workspace is shut down. Setting an equal value
    /// makes no call.
    ///
    /// # Concurrency
    /// The first call is made before this returns. Later calls are made on the thread that sets the
    /// value, before `set` returns and with no lock of the library held; if another thread is
    /// running this callback at that time, that thread makes the call with the new value. Values
    /// that a transaction sets are delivered after its commit and before its completion.
    ///
    /// # Errors
    /// As [`get`](Self::get). A value of another type is delivered as the error
    /// [`WrongType`](crate::ErrorKind::WrongType); the subscription goes on.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use dflat::{SubscribedValue, Workspace};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let settings = workspace.dictionary();
    /// let (send, deliveries) = mpsc::channel();
    /// let subscription = settings.subscribe::<i64>("volume", move |value| {
    ///     let _ = send.send(value);
    /// })?;
    /// settings.set("volume", 7_i64)?;
    /// settings.set("volume", 7_i64)?;
    /// settings.remove("volume")?;
    /// subscription.cancel();
    ///
    /// let delivered: Vec<_> = deliveries.iter().collect::<dflat::Result<_>>()?;
    /// use SubscribedValue::{Deleted, Initial, Updated};
    /// assert_eq!(delivered, [Initial(None), Updated(7), Deleted]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe<T: FromDictionary>(
        &self,
        key: &str,
        mut callback: impl FnMut(Result<SubscribedValue<T>>) + Send + 'static,
    ) -> Result<DictionarySubscription> {
        let function = move |event: Event| callback(typed(&event));
        let pattern = Pattern::Key(key.into());
        let inner = self.inner.subscribe(pattern, Box::new(function))?;
        Ok(DictionarySubscription { inner })
    }

    /// Calls `callback` with each key that begins with a text, and its value, and then with each of
    /// these keys that changes, as [`subscribe`](Self::subscribe) does for one key.
    ///
    /// # Errors
    /// As [`keys`](Self::keys).
    pub fn subscribe_prefix(
        &self,
        prefix: &str,
        mut callback: impl FnMut(&str, SubscribedValue<DictionaryEntry>) + Send + 'static,
    ) -> Result<DictionarySubscription> {
        let function = move |event: Event| {
            let key = Arc::clone(&event.key);
            let entry = event.value.map(|value| DictionaryEntry {
                key: event.key,
                value,
            });
            callback(&key, subscribed_value(entry, event.is_initial));
        };
        let pattern = Pattern::Prefix(prefix.into());
        let inner = self.inner.subscribe(pattern, Box::new(function))?;
        Ok(DictionarySubscription { inner })
    }

    /// The values of a key as a stream: the current value, then each new one; `None` for no value.
    /// The stream keeps all values that the consumer has not taken yet. It ends when the workspace
    /// is shut down.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe).
    pub fn stream<T: FromDictionary + Send + 'static>(
        &self,
        key: &str,
    ) -> Result<DictionaryDeliveries<T>> {
        let shared: Arc<Mutex<Queue<T>>> = Arc::default();
        let sink = Sink(Arc::clone(&shared));
        let subscription = self.subscribe(key, move |value| {
            let value = value.map(|value| match value {
                SubscribedValue::Initial(value) => value,
                SubscribedValue::Updated(value) => Some(value),
                SubscribedValue::Deleted => None,
            });
            sink.change(|queue| queue.values.push_back(value));
        })?;
        Ok(DictionaryDeliveries {
            shared,
            _subscription: subscription,
        })
    }
}

fn typed<T: FromDictionary>(event: &Event) -> Result<SubscribedValue<T>> {
    let value = event.value.as_ref();
    let value = value.map(|value| value::read(&event.key, value));
    Ok(subscribed_value(value.transpose()?, event.is_initial))
}

fn subscribed_value<T>(value: Option<T>, is_initial: bool) -> SubscribedValue<T> {
    match value {
        value if is_initial => SubscribedValue::Initial(value),
        Some(value) => SubscribedValue::Updated(value),
        None => SubscribedValue::Deleted,
    }
}

/// The values of a key as a stream, which ends when the workspace is shut down. Dropping it ends
/// the subscription.
#[must_use = "a stream does nothing unless it is polled"]
pub struct DictionaryDeliveries<T> {
    shared: Arc<Mutex<Queue<T>>>,
    /// Kept because its drop ends the subscription.
    _subscription: DictionarySubscription,
}

struct Queue<T> {
    values: VecDeque<Result<Option<T>>>,
    waker: Option<Waker>,
    ended: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            values: VecDeque::new(),
            waker: None,
            ended: false,
        }
    }
}

/// The subscription's end of a stream: the stream ends when it is dropped.
struct Sink<T>(Arc<Mutex<Queue<T>>>);

impl<T> Sink<T> {
    fn change(&self, change: impl FnOnce(&mut Queue<T>)) {
        let mut queue = lock(&self.0);
        change(&mut queue);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Sink<T> {
    fn drop(&mut self) {
        self.change(|queue| queue.ended = true);
    }
}

fn lock<T>(queue: &Mutex<Queue<T>>) -> MutexGuard<'_, Queue<T>> {
    // No user code runs under the lock.
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Stream for DictionaryDeliveries<T> {
    type Item = Result<Option<T>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = lock(&self.shared);
        match queue.values.pop_front() {
            Some(value) => Poll::Ready(Some(value)),
            None if queue.ended => Poll::Ready(None),
            None => {
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> fmt::Debug for DictionaryDeliveries<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DictionaryDeliveries")
            .finish_non_exhaustive()
    }
}
