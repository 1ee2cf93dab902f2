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
//! - Everything unsafe is in the module `ffi`, which lets nothing of SQLite's outlive a call.

mod backend;
mod ddl;
mod ffi;
mod key_range;
mod open;
mod options;
mod pool;
mod read;
mod session;
mod snapshot;
mod statement_text;
mod transaction;

pub use backend::SqliteBackend;
pub use options::{Durability, SqliteOptions};
