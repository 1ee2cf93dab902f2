//! The state up to which the commits of other programs are known.

use std::sync::{Mutex, PoisonError};

use dflat_engine::storage::StateId;

use crate::change_log::LogMark;

/// The latest state with which change records were read, while this process has held the lock of
/// the presence file.
#[derive(Clone, Copy)]
pub(super) struct Marked {
    pub(super) standing: u64,
    pub(super) state: StateId,
    pub(super) mark: LogMark,
    /// Whether a commit has been made since this process took the lock.
    pub(super) is_settled: bool,
}

/// The state up to which the commits of other programs are known.
#[derive(Default)]
pub(crate) struct Strangers(Mutex<Option<Marked>>);

impl Strangers {
    pub(super) fn get(&self) -> Option<Marked> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, marked: Option<Marked>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = marked;
    }
}
