//! The open connections to the file: opening, pooling, and which state each of them reads.

pub(crate) mod commits;
pub(crate) mod configure;
pub(crate) mod connections;
pub(crate) mod encoding;
pub(crate) mod file_connection;
pub(crate) mod held_table;
pub(crate) mod identity;
pub(crate) mod log_header;
pub(crate) mod open;
pub(crate) mod polled_file;
pub(crate) mod pool;
pub(crate) mod read_only;
pub(crate) mod readers;
pub(crate) mod reading;
