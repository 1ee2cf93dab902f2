//! Group commit, run in many orders by a model checker.
//!
//! All of the write path is compiled from the engine's own source, down to the memory backend, with
//! the model's threads, locks and condition variables in place of those of the standard library;
//! see `src/sync.rs`. Where the watchdog waits for a while, any time may pass. So it commits
//! finished transactions at any moment, and the changes of a running handler are undone and written
//! again.
//!
//! `DFLAT_MODEL_RUNS` sets how many orders of each model are tried.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    reason = "parts of the engine without the rest of it; a step that fails is a test that fails"
)]

mod callback {
    pub use dflat_engine::callback::Executor;

    /// Always false: all threads of a model run on one thread of the operating system, so that a
    /// thread-local mark would apply to all of them.
    pub(crate) fn is_running() -> bool {
        false
    }

    pub(crate) fn run<R>(_: &str, code: impl FnOnce() -> R) -> crate::error::Result<R> {
        Ok(code())
    }
}

#[path = "../../src/change_set.rs"]
mod change_set;
#[path = "../../src/delivery/mod.rs"]
mod delivery;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/fetch/mod.rs"]
mod fetch;
#[path = "../../src/history.rs"]
mod history;
#[path = "../../src/object/mod.rs"]
mod object;
#[path = "../../src/query/mod.rs"]
mod query;
#[path = "../../src/storage/mod.rs"]
mod storage;
#[path = "../../src/telemetry.rs"]
mod telemetry;
#[path = "../../src/transaction/mod.rs"]
mod transaction;

#[path = "../models/explore.rs"]
mod explore;
#[path = "../models/sync.rs"]
mod sync;
mod world;
mod writing;

pub(crate) use error::{Error, ErrorKind, Result};

/// How many orders of each model are tried.
const RUNS: usize = 1000;
