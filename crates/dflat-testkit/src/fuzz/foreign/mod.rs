//! Bytes that another program or another file has made.
//!
//! - [`record`] damages records of changes.
//! - [`log`] puts the log of another file beside a file.
//! - [`sync`] damages the messages of exchanges.

pub mod log;
pub mod record;
pub mod sync;
