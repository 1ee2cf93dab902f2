//! Locks, threads and time, as the standard library has them.
//!
//! `tests/models` and `tests/grouping` compile the engine's files with the locks and threads of a
//! model checker instead, which runs the code in many orders of the threads.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic};
pub(crate) use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Starts a thread with a name.
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(run).map(drop)
}

/// Waits while a condition holds, for `longest` at most.
pub(crate) fn wait_for_while<'g, T>(
    condvar: &Condvar,
    guard: MutexGuard<'g, T>,
    longest: Duration,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'g, T> {
    let waited = condvar.wait_timeout_while(guard, longest, condition);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Whether at least `time` has passed since a moment.
pub(crate) fn have_passed(time: Duration, since: Instant) -> bool {
    since.elapsed() >= time
}

/// Runs a unit test of a file that the model checker compiles as well.
#[cfg(test)]
pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
    test();
}
