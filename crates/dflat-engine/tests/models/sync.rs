//! What stands in the place of `src/sync.rs`: the model's threads, locks and condition variables.

pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic};
pub(crate) use shuttle::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) fn spawn(_: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    drop(thread::spawn(run));
    Ok(())
}

/// Any time may pass at any moment.
pub(crate) fn wait_for_while<'g, T>(
    _: &Condvar,
    guard: MutexGuard<'g, T>,
    _: Duration,
    _: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'g, T> {
    guard
}

/// What could have passed has.
pub(crate) fn have_passed(_: Duration, _: Instant) -> bool {
    true
}

/// Runs a unit test of a file of the engine, which needs no order of threads but the model's.
pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(test, 1);
}
