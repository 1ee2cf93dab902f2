//! The SQLite backend of the Dflat object database.
//!
//! It keeps objects in one file, laid out exactly as Dflat for Swift lays it out, so that either
//! implementation opens the other's files. What a backend does is said in
//! [`dflat_engine::storage`]; what is particular to this one:
//!
//! - Readers are pooled connections, a writer is the one connection of its kind. Each is owned by
//!   what uses it, and comes back when that is dropped.
//! - Statements are prepared once a connection and table, and held.
//! - Opening writes nothing. The file is created, and turns to a write-ahead log, with the first
//!   write.
//! - Everything unsafe is in the modules `ffi`, which lets nothing of SQLite's outlive a call, and
//!   `vfs`, through which a connection reaches the file if its I/O is counted.

mod backend;
mod backup;
mod check;
mod checkpointer;
mod commits;
mod control;
mod ddl;
mod ffi;
mod identity;
mod index_tables;
mod keeper;
mod key_range;
mod log_header;
mod maintain;
mod open;
mod options;
mod part;
mod pool;
mod read;
mod read_only;
mod readers;
mod reading;
mod reclaimer;
mod repair;
mod row_write;
#[cfg(test)]
mod sample;
mod session;
mod snapshot;
mod statement_text;
mod sync_ahead;
mod transaction;
mod triggers;
mod trust;
mod upkeep;
mod vfs;

pub use backend::SqliteBackend;
pub use backup::{Progress, in_the_way};
pub use check::{Derive, Problem, ProblemKind, Report};
pub use options::{Durability, FileProtection, Reclaim, SqliteOptions};
pub use repair::Aside;
#[doc(hidden)]
pub use vfs::inject;
pub use vfs::{
    CallReport, FileKind, FileReport, IndexReport, IoReport, Operation, PerCommit, Space,
    Suggestion,
};
