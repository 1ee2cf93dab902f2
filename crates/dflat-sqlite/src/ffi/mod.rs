//! Safe wrappers of the few functions of SQLite that this crate uses.
//!
//! Input: a path, SQL text and values. Output: rows lent to a closure, or a [`SqliteError`].
//!
//! Invariant: a [`Connection`] owns everything that SQLite made for it, including statements. It
//! gives out neither pointers nor anything else that could be used without it. So the holder of the
//! connection is its only user, which SQLite requires of connections without a mutex of their own.

mod backup;
mod blob;
mod connection;
mod file_calls;
mod file_handle;
mod log_index;
mod memory;
mod page_damage;
mod platform;
mod progress;
mod sqlite_error;
mod statement;
mod switch;
mod version;

pub(crate) use connection::{Access, Connection, StatementId, is_keyword};
pub(crate) use log_index::{LogCount, LogExtent, LogStamp, LogState};
pub(crate) use memory::keep_freed_memory;
pub(crate) use page_damage::{PageCheck, each_page_damage, refuse_damage};
pub use platform::FileProtection;
pub(crate) use platform::{
    FileNumber, create_private, file_number, file_number_and_length, is_pipe, linked_length,
    may_write, open_unread, path_of, sync_directory,
};
pub(crate) use sqlite_error::SqliteError;
pub(crate) use statement::{Columns, Param};
pub(crate) use switch::Switch;
