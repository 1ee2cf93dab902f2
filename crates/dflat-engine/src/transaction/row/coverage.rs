//! How far the indexes of a table are built.

use std::sync::Arc;

use dflat_model::RowId;

use super::entries::Entries;
use crate::storage::IndexState;

/// How far a table's indexes are built: `None` if all are ready, otherwise the largest row id up to
/// which each index has entries. The indexer adds the entries of later rows.
#[derive(Clone, Default)]
pub(in super::super) struct IndexCoverage(Option<Arc<[RowId]>>);

impl IndexCoverage {
    pub(in super::super) fn of(states: &[IndexState]) -> Self {
        if states.iter().all(|state| *state == IndexState::Ready) {
            return Self(None);
        }
        let covered = states.iter().map(|state| match state {
            IndexState::Ready => RowId(i64::MAX),
            IndexState::Incomplete(coverage) => *coverage,
            IndexState::Missing => RowId(0),
        });
        Self(Some(covered.collect()))
    }

    /// Whether all indexes are ready.
    pub(in super::super) const fn is_whole(&self) -> bool {
        self.0.is_none()
    }

    /// Removes the entries that the indexer will add from the entries to write for a row: the row
    /// with this id, or a new row.
    pub(in super::super) fn leave(&self, entries: &mut Entries<'_>, row_id: Option<RowId>) {
        if let Some(covered) = &self.0 {
            let row_id = row_id.unwrap_or(RowId(i64::MAX));
            entries.retain(|entry| covered.get(entry.index).is_some_and(|r| *r >= row_id));
        }
    }
}
