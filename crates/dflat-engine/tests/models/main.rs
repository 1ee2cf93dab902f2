//! The files on which the order of threads depends, run in many orders by a model checker.
//!
//! They are compiled from the engine's own source, with the model's threads, locks and condition
//! variables in the place of the standard library's; see `src/sync.rs`. A thread that is not woken
//! is a deadlock in a model, because waiting with a timeout waits for ever.
//!
//! `DFLAT_MODEL_RUNS` says how many orders of each model are tried, instead of 3,000.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "parts of the engine without the rest of it; a step that fails is a test that fails"
)]

mod error {
    pub(crate) use dflat_engine::error::{Error, ErrorKind, Result};
}

mod change_set {
    pub(crate) use dflat_engine::change_set::ChangeSet;
}

mod sync {
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use shuttle::thread::{self, JoinHandle};
    pub(crate) use std::sync::PoisonError;
}

#[path = "../../src/transaction/group/deliveries.rs"]
mod deliveries;
#[path = "../../src/transaction/scheduler.rs"]
mod scheduler;

mod delivering;
mod scheduling;

/// Runs a model in many orders: half of them at random, half by changing threads rarely, at places
/// chosen at random, which finds what needs few changes in the right places.
fn explore(model: fn()) {
    const CHANGES: usize = 3;
    let runs = std::env::var("DFLAT_MODEL_RUNS").ok();
    let runs: usize = runs.map_or(3000, |runs| runs.parse().unwrap());
    shuttle::check_random(model, runs / 2);
    shuttle::check_pct(model, runs / 2, CHANGES);
}
