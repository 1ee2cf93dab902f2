//! The access to the files of a database. It writes the pages of a transaction to the log together,
//! and counts every call if the backend was asked to count I/O. With the feature `faults`, for
//! tests, it also records calls and makes them fail.
//!
//! Input: the calls of SQLite to the operating system. Output: the same calls, but fewer writes to
//! the log, forwarded to the VFS that SQLite uses by default, and an [`IoReport`] that counts them.
//!
//! A connection uses this module if it writes, or if its calls are counted. Two things are never
//! counted: pages read through a memory map, and reads and writes of the index of the
//! write-ahead log, which is in shared memory. Only locks and mappings of these two are calls.

mod call;
mod counter;
#[cfg(feature = "faults")]
pub mod faults;
mod file;
mod log_buffer;
mod memory_index;
mod monitor;
mod monitors;
pub(crate) mod names;
mod open_file;
mod register;
mod report;
mod request;
mod suggestion;
mod usage;

pub use call::{FileKind, Operation};
pub(crate) use monitor::Monitor;
pub(crate) use monitors::monitor_of;
pub(crate) use register::{VfsKind, name};
pub use report::{CallReport, FileReport, IndexReport, IoReport, PerCommit, Space, WrittenRecords};
pub use suggestion::Suggestion;
pub(crate) use usage::TableUsage;
