//! The outcome of a commit group, which transactions that have seen the group keep.

use dflat_model::Table;

use crate::error::Error;
use crate::sync::{Arc, Mutex, PoisonError};

/// The tables of a commit group whose changes were not committed, each with the error. A
/// transaction that has read such changes fails too, so each transaction that reads from an open
/// commit group keeps the outcome of that group.
#[derive(Clone, Default)]
pub(in super::super) struct GroupOutcome {
    failed: Arc<Mutex<Vec<(String, Error)>>>,
}

impl GroupOutcome {
    /// Notes that changes to these tables were not committed.
    pub(super) fn fail<'t>(&self, tables: impl Iterator<Item = &'t Table>, error: &Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.extend(tables.map(|table| (table.name.to_string(), error.clone())));
    }

    /// Whether both are outcomes of the same commit group.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.failed, &other.failed)
    }

    /// The error with which changes to one of these tables were not committed, if any.
    pub(super) fn failure(&self, tables: &[Table]) -> Option<Error> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failed
            .iter()
            .find(|(name, _)| tables.iter().any(|table| table.name == *name));
        found.map(|(_, error)| error.clone())
    }
}
