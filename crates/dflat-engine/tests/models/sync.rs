//! The model's threads, locks and condition variables, compiled in place of `src/sync.rs`.

pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak, atomic};
pub(crate) use shuttle::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) fn spawn(_: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    drop(thread::spawn(run));
    Ok(())
}

/// Returns at once, because in a model any time may pass at any moment.
pub(crate) fn wait_for_while<'g, T>(
    _: &Condvar,
    guard: MutexGuard<'g, T>,
    _: Duration,
    _: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'g, T> {
    guard
}

/// True: in a model every duration may have passed.
pub(crate) fn have_passed(_: Duration, _: Instant) -> bool {
    true
}

/// Runs a unit test of a file of the engine once, in one random order of threads.
pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(test, 1);
}
