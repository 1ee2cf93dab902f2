//! Steps of the history as a backend keeps them.

use dflat_model::RowId;

/// The number of a step. Later steps have larger numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub i64);

/// A step of the history, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRow<'a> {
    /// The number.
    pub id: StepId,
    /// The part that only a history has; empty for the change of a program.
    pub note: &'a [u8],
    /// The change record.
    pub record: &'a [u8],
}

/// A row that another program has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedRow<'a> {
    /// The row id.
    pub row_id: RowId,
    /// The payload before the first such change; `None` if there was no such row.
    pub before: Option<&'a [u8]>,
}
