//! Every access to the file, seen and counted; with the feature `faults`, for tests, also recorded
//! and made to fail.
//!
//! In: the calls by which SQLite asks the operating system for something. Out: the same calls,
//! handed on to the VFS that SQLite uses by default, and an [`IoReport`] of what they were.
//!
//! A connection passes through here only if its backend was asked to count; others do not know of
//! this module. What it can't see: pages read through a memory map, and the index of the
//! write-ahead log, which lies in shared memory. Of these only locks and mappings are calls.

mod call;
mod counter;
#[cfg(feature = "faults")]
pub mod faults;
mod file;
mod memory_index;
mod monitor;
pub(crate) mod names;
mod register;
mod report;
mod request;
mod suggestion;
mod usage;
mod watch;
mod watched;

pub use call::{FileKind, Operation};
pub(crate) use monitor::Monitor;
pub(crate) use register::{VfsKind, name};
pub use report::{CallReport, FileReport, IndexReport, IoReport, PerCommit, Space};
pub use suggestion::Suggestion;
pub(crate) use usage::TableUsage;
pub(crate) use watched::monitor_of;
