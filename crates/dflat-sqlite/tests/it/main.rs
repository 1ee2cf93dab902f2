//! Tests of the SQLite backend through the storage seam and through plain SQL.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod backup;
mod change_log;
mod change_log_faults;
mod commits;
mod counted;
mod encoding;
mod file;
mod foreign_rows;
mod freed_memory;
mod hostile;
mod index_cost;
mod io;
mod key_counts;
mod key_scan;
mod law;
mod layout;
mod log_frames;
mod maintain;
mod raw;
mod read_only;
mod replaced;
mod sample;
mod suggestions;
mod traced;

// The crate's own wrappers are used for the second, plain connection.
#[allow(
    dead_code,
    missing_docs,
    unused_imports,
    unreachable_pub,
    reason = "the tests use a part of it"
)]
#[path = "../../src/ffi/mod.rs"]
mod ffi;
