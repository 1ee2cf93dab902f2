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
//!   `io`, through which a connection reaches the file if its I/O is counted.

mod backend;
mod connection;
mod ffi;
mod foreign;
mod io;
mod layout;
mod options;
mod read;
mod repair;
mod upkeep;
mod write;

pub use backend::SqliteBackend;
#[cfg(feature = "faults")]
#[doc(hidden)]
pub use io::faults;
pub use io::{
    CallReport, FileKind, FileReport, IndexReport, IoReport, Operation, PerCommit, Space,
    Suggestion,
};
pub use options::{Durability, FileProtection, Reclaim, SqliteOptions};
pub use repair::check::{Derive, Problem, ProblemKind, Report};
pub use repair::in_place::UnreadableRow;
pub use upkeep::backup::{Progress, in_the_way};
