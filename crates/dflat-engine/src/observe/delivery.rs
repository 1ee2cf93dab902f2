//! Calling a subscriber, and stopping to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::callback;

type Function<E> = Box<dyn FnMut(E) + Send>;

/// A subscriber's function, and whether it may still be called.
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

    /// Calls the function, unless it is cancelled. One that panics is not called again.
    pub fn deliver(&self, event: E) {
        // The lock is the callback's own: it is what `cancel` waits for, and guards nothing else.
        let mut function = self.function.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cancelled() {
            *function = None;
            return;
        }
        if let Some(call) = function.as_mut()
            && callback::run("a subscription's callback", || call(event)).is_err()
        {
            self.cancelled.store(true, Ordering::Release);
        }
        if self.is_cancelled() {
            *function = None;
        }
    }

    /// Whether the function will not be called again.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Stops calling the function. With `wait`, a call that is running has ended when this returns.
    pub(super) fn cancel(&self, wait: bool) {
        self.cancelled.store(true, Ordering::Release);
        if wait {
            *self.function.lock().unwrap_or_else(PoisonError::into_inner) = None;
        } else if let Ok(mut function) = self.function.try_lock() {
            *function = None;
        }
    }
}
