//! Callbacks that can be cancelled.

use crate::callback;
use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, PoisonError};

type Function<E> = Box<dyn FnMut(E) + Send>;

/// A subscriber's callback, and whether it may still be called.
pub struct Callback<E> {
    cancelled: AtomicBool,
    function: Mutex<Option<Function<E>>>,
}

impl<E> Callback<E> {
    /// A callback that has not been cancelled.
    #[must_use]
    pub fn new(function: Function<E>) -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            function: Mutex::new(Some(function)),
        }
    }

    /// Calls the callback, unless it is cancelled. After a panic it is not called again.
    pub fn deliver(&self, event: E) {
        // The lock guards nothing but the callback. `cancel` waits for it.
        let mut function = self.lock();
        if !self.is_cancelled()
            && let Some(call) = function.as_mut()
            && callback::run("a subscription's callback", || call(event)).is_err()
        {
            self.cancelled.store(true, Ordering::Release);
        }
        drop(function);
        // Only now: a cancellation that finds the lock taken leaves the callback to this thread.
        // Order: the lock is released before the mark is read here, and the mark is set before the
        // lock is tried there, so one of the two threads takes the callback.
        fence(Ordering::SeqCst);
        if self.is_cancelled() {
            // The callback may own the last handle on a workspace, and this thread must not wait
            // for the end of that workspace.
            let _ = callback::run("the end of a subscription", || self.end());
        }
    }

    /// Drops the callback, unless another thread holds the lock, which then drops the callback.
    fn end(&self) {
        let ended = self
            .function
            .try_lock()
            .ok()
            .and_then(|mut function| function.take());
        // Dropped without the lock: dropping the values that the callback owns may wait for a
        // delivery to it.
        drop(ended);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Function<E>>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the callback will not be called again.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Cancels the callback. With `wait`, no call is running when this returns.
    pub fn cancel(&self, wait: bool) {
        self.cancelled.store(true, Ordering::Release);
        if wait {
            let ended = self.lock().take();
            // Dropped without the lock, as in `end`.
            drop(ended);
        } else {
            fence(Ordering::SeqCst);
            self.end();
        }
    }
}
