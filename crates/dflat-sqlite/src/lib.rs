//! The SQLite backend of the Dflat object database.
//!
//! It keeps objects in one file, laid out exactly as Dflat for Swift lays it out, so that either
//! implementation opens the other's files. [`dflat_engine::storage`] describes the behaviour of
//! every backend. In addition:
//!
//! - Readers use pooled connections; one connection writes. A snapshot or transaction owns its
//!   connection, which returns to the pool when the snapshot or transaction is dropped.
//! - A connection prepares a statement once for each table, and keeps it.
//! - Opening writes nothing. The first write creates the file and switches it to a write-ahead log.
//! - Unsafe code is in two modules only: `ffi`, from which no pointer of SQLite's escapes, and
//!   `io`, through which a connection reaches the file if its I/O is counted.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod change_log;
mod connection;
mod ffi;
mod foreign;
mod history;
mod io;
mod layout;
mod options;
mod presence;
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
    Suggestion, WrittenRecords,
};
pub use options::{Durability, FileProtection, Reclaim, SqliteOptions};
pub use presence::Following;
pub use repair::contents::{FilePages, ObjectTable};
pub use repair::in_place::{Mending, RowsToTakeOut, UnreadableRow};
pub use repair::problem::{Derive, Problem, ProblemKind, Report};
pub use upkeep::backup::{PartialDatabase, Progress, obstacle};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
