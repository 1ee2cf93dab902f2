//! Marks the threads that run user code on behalf of the engine.
//!
//! A call that waits for a transaction could wait for ever inside a handler or a callback, because
//! that transaction may wait for the handler or the callback to end. Every blocking call checks the
//! mark, and fails instead.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Result};

/// A job for an executor.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs, on a thread of its choice.
pub type Executor = dyn Fn(Job) + Send + Sync;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

struct UserCodeMark;

impl Drop for UserCodeMark {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs user code on this thread with the mark set. A panic becomes an error.
///
/// # Errors
/// [`ErrorKind::Panicked`] if `code` panics.
pub fn run<R>(what: &str, code: impl FnOnce() -> R) -> Result<R> {
    DEPTH.set(DEPTH.get() + 1);
    let _mark = UserCodeMark;
    contain(what, code)
}

/// Runs user code on this thread without the mark: the code may block. A panic becomes an error.
///
/// # Errors
/// [`ErrorKind::Panicked`] if `code` panics.
pub fn contain<R>(what: &str, code: impl FnOnce() -> R) -> Result<R> {
    // The closure is consumed, and the locks of values that it shares recover from poisoning.
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let message = format!("{what} panicked: {}", panic_message(&*panic));
        // The value of the panic has user code as well: dropping it may panic again.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(another);
        }
        Error::new(ErrorKind::Panicked, message)
    })
}

/// Whether this thread runs a handler or a callback.
#[must_use]
pub fn is_running() -> bool {
    DEPTH.get() > 0
}

/// Refuses a blocking call inside a handler or a callback.
///
/// # Errors
/// [`ErrorKind::WouldDeadlock`] if this thread runs one.
pub fn forbid_blocking(call: &str) -> Result<()> {
    if is_running() {
        let message = format!("cannot {call} inside a transaction's handler or a callback");
        return Err(Error::new(ErrorKind::WouldDeadlock, message));
    }
    Ok(())
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_value_that_panics_when_dropped_is_contained() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                assert!(std::thread::panicking(), "dropped");
            }
        }
        let outcome = run("a callback", || std::panic::panic_any(Bomb));
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Panicked);
        assert!(!is_running());
    }
}
