//! What threads share and wait for.
//!
//! It is the standard library's. `tests/models` and `tests/grouping` compile the same files with a
//! model checker's in its place, to try them in many orders.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic};
pub(crate) use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Starts a thread of a name.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(run).map(drop)
}

/// Waits while a condition holds, but no longer than this.
pub(crate) fn wait_for_while<'g, T>(
    condvar: &Condvar,
    guard: MutexGuard<'g, T>,
    longest: Duration,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'g, T> {
    let waited = condvar.wait_timeout_while(guard, longest, condition);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Whether some time has passed since then.
pub(crate) fn have_passed(time: Duration, since: Instant) -> bool {
    since.elapsed() >= time
}

/// Runs a unit test of a file that the model checker compiles, too.
#[cfg(test)]
pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
    test();
}
