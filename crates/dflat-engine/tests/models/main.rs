//! The files of the engine that synchronize threads, run in many orders by a model checker.
//!
//! They are compiled from the engine's own source, with the model's threads, locks and condition
//! variables in place of those of the standard library; see `src/sync.rs`. A thread that is not
//! woken is a deadlock in a model, because waiting with a timeout waits for ever.
//!
//! `DFLAT_MODEL_RUNS` sets how many orders of each model are tried.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    reason = "parts of the engine without the rest of it; a step that fails is a test that fails"
)]

mod error {
    pub(crate) use dflat_engine::error::{Error, ErrorKind, Result};
}

mod change_set {
    pub(crate) use dflat_engine::change_set::{
        ChangeSet, ChangedKeys, Completion, Ended, RereadSet, RowChange, TableChanges,
    };
}

// The parts of the engine that the dictionary uses.
mod callback {
    pub use dflat_engine::callback::{Executor, Job};

    pub(crate) fn run<R>(_: &str, code: impl FnOnce() -> R) -> dflat_engine::Result<R> {
        Ok(code())
    }

    /// Always false: all threads of a model run on one thread of the operating system, so that a
    /// thread-local mark would apply to all of them.
    pub(crate) fn is_running() -> bool {
        false
    }

    pub(crate) fn forbid_blocking(_: &str) -> dflat_engine::Result<()> {
        Ok(())
    }
}

mod engine {
    pub(crate) use crate::beneath::{Engine, PerformOptions};
    pub(crate) use dflat_engine::engine::HeldSubscription;
}

mod fetch {
    pub(crate) use dflat_engine::fetch::corrupt;
}

mod object {
    pub(crate) use dflat_engine::object::{Malformed, Object, TableView, Writer, verify};
}

mod observe {
    pub(crate) use crate::notification::Callback;
}

mod transaction {
    pub(crate) use crate::beneath::{Change, Transaction};
}

#[path = "../../src/delivery/arrivals.rs"]
mod arrivals;
#[path = "../../src/delivery/call_limits.rs"]
mod call_limits;
#[path = "../../src/delivery/deliveries.rs"]
mod deliveries;
#[path = "../../src/dictionary/mod.rs"]
mod dictionary;
#[path = "../../src/observe/notification/mod.rs"]
mod notification;
#[path = "../../src/delivery/queue.rs"]
mod queue;
#[path = "../../src/transaction/scheduler.rs"]
mod scheduler;
#[path = "../../src/delivery/threads.rs"]
mod threads;
#[path = "../../src/transaction/turns.rs"]
mod turns;

mod beneath;
mod cancelling;
mod delivering;
mod explore;
mod keeping;
mod scheduling;
mod sync;
mod telling;

use explore::explore;

/// How many orders of each model are tried.
const RUNS: usize = 3000;
