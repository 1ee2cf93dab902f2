//! The untyped workspace of the Dflat object database.
//!
//! This crate holds the code that all language interfaces share: opening files and sharing one
//! engine among the workspaces of a process on one file, transactions with the dictionary, queries
//! and aggregates, writes by query, copies of tables and of whole workspaces, and the upkeep of a
//! file. A type is a descriptor
//! ([`Table`]), an object is verified bytes ([`Object`](dflat_engine::object::Object)), a query is
//! a [`Query`]. The crate `dflat` is the typed interface for Rust.
//!
//! # Features
//!
//! - `bundled` (default): the SQLite backend, with SQLite compiled in.
//! - `system-sqlite`: the SQLite backend, linked to the system's library.
//! - Neither: the memory backend alone, without C code.
//! - `serde`: objects from and to JSON by their descriptors.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod copy;
#[cfg(feature = "sqlite")]
mod file;
#[cfg(feature = "serde")]
mod json;
mod observe;
mod read;
mod stats;
mod transaction;
#[cfg(feature = "sqlite")]
mod upkeep;
mod workspace;

pub use copy::{Copied, CopyPhase, CopyState, OnConflict, WorkspaceCopy};
pub use dflat_engine::{Error, ErrorKind, Result};
pub use dflat_model::{Query, Table};
#[cfg(feature = "sqlite")]
pub use file::{Base, FileOptions};
#[cfg(feature = "serde")]
pub use json::{JsonType, JsonValue};
pub use observe::{is_silent_count, is_silent_result};
pub use read::{Access, Explanation, Fetch, KeyUse, OwnedSource, Rows, Source, domain_of};
pub use stats::Stats;
pub use transaction::{CopyProgress, Operation, TableCopy, TransactionContext};
#[cfg(feature = "sqlite")]
pub use upkeep::{
    CheckReport, Purged, RepairReport, SalvageReport, StoredTable, described_table, open_damaged,
    salvage,
};
pub use workspace::Workspace;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
