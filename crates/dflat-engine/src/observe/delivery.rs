//! Calling a subscriber, and stopping to.

use crate::callback;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

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
        let mut function = self.lock();
        if !self.is_cancelled()
            && let Some(call) = function.as_mut()
            && callback::run("a subscription's callback", || call(event)).is_err()
        {
            self.cancelled.store(true, Ordering::Release);
        }
        let ended = self.is_cancelled().then(|| function.take()).flatten();
        drop(function);
        // What the function holds may be the last workspace, whose end must not be waited for here.
        let _ = callback::run("the end of a subscription", || drop(ended));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Function<E>>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the function will not be called again.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Stops calling the function. With `wait`, a call that is running has ended when this returns.
    pub fn cancel(&self, wait: bool) {
        self.cancelled.store(true, Ordering::Release);
        let ended = if wait {
            self.lock().take()
        } else {
            self.function.try_lock().ok().and_then(|mut f| f.take())
        };
        // Dropped without the lock: the end of what it holds may wait for a delivery to this
        // callback.
        drop(ended);
    }
}
