//! Rows to write, and why a write fails.

use dflat_model::ValueRef;

use super::{IndexEntry, Key};
use crate::error::Error;

/// A row to write.
#[derive(Clone, Copy, Debug)]
pub struct RowWrite<'a> {
    /// The primary key's values; `None` in an update that leaves it as it is.
    pub key: Option<&'a [ValueRef<'a>]>,
    /// The object's bytes.
    pub payload: &'a [u8],
    /// The index entries to write.
    pub entries: &'a [IndexEntry<'a>],
}

/// A row can't be written because another row has the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key that admits the value once.
    pub key: Key,
}

/// Why a write failed.
#[derive(Debug)]
pub enum WriteError {
    /// Another row has the same value; the transaction goes on.
    Conflict(Conflict),
    /// Anything else; the transaction is lost.
    Failed(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
