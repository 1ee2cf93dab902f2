//! What threads share and wait for.
//!
//! It is the standard library's. `tests/models` compiles the same files with a model checker's in
//! its place, to try them in many orders.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic};
pub(crate) use std::thread::{self, JoinHandle};

/// Runs a unit test of a file that the model checker compiles, too.
#[cfg(test)]
pub(crate) fn run(test: impl Fn() + Send + Sync + 'static) {
    test();
}
