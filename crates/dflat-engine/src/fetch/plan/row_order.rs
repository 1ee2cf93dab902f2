//! The order in which rows come.

use dflat_model::Query;

/// The order in which rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// The query's order.
    Sorted,
    /// Sorted by this number of first keys of the query's order, which has a limit.
    Presorted(usize),
    /// Any order.
    Any,
}

impl RowOrder {
    /// Whether rows come in the query's order.
    #[must_use]
    pub const fn is_sorted(self) -> bool {
        matches!(self, Self::Sorted)
    }

    /// The number of first keys of the query's order by which rows that are not in this order come
    /// sorted.
    #[must_use]
    pub const fn presorted(self) -> usize {
        match self {
            Self::Presorted(keys) => keys,
            Self::Sorted | Self::Any => 0,
        }
    }

    /// The order of these rows if foreign rows, which belong anywhere among them, come first.
    pub(in super::super) fn behind_foreign_rows(self, query: &Query) -> Self {
        match self {
            Self::Sorted if query.limit.is_some() && !query.order.is_empty() => {
                Self::Presorted(query.order.len())
            }
            Self::Sorted => Self::Any,
            other => other,
        }
    }
}
