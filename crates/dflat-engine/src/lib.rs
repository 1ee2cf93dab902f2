//! The untyped runtime of the Dflat object database.

pub mod error;
pub mod object;
pub mod storage;

pub use error::{Error, ErrorKind, Result};
