//! The use of a query's rows, which decides which plan takes the least work.

use dflat_model::{ColumnType, Expression, Field, Query, Table};

use super::super::scan::Reads;
use super::{AccessPath, KeyAccess, RowOrder};
use crate::error::Result;
use crate::storage::{Key, position_of};

/// Finds out how many rows plans would read.
pub trait Probe {
    /// Counts the rows of ranges; `None` if there are more than `max`.
    ///
    /// # Errors
    /// Those of reading the ranges.
    fn size(&mut self, access: &KeyAccess, max: usize) -> Result<Option<usize>>;

    /// Whether the first `max` rows of an access tell which `wanted` rows the query has. If so, the
    /// access becomes the plan.
    ///
    /// # Errors
    /// Those of reading the rows.
    fn has_enough(
        &mut self,
        rows: (&AccessPath, RowOrder),
        wanted: usize,
        max: usize,
    ) -> Result<bool>;
}

/// The values that are needed of each row.
#[derive(Clone, Copy)]
pub(in super::super) enum NeededValues<'e> {
    /// The values of expressions. The sign of a zero does not matter.
    Unordered(&'e [Expression]),
    /// The values of expressions, exactly as stored, and the keys of the order.
    Selected(&'e [Expression]),
}

/// The use of a query's rows.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Purpose<'e> {
    /// The values that are needed of each row; `None` if objects are.
    pub(in super::super) values: Option<NeededValues<'e>>,
    /// The number of rows that are enough, if any rows will do.
    pub(in super::super) enough: Option<usize>,
}

impl<'e> Purpose<'e> {
    /// The values of expressions in each row, in any order.
    pub(in super::super) const fn unordered(expressions: &'e [Expression]) -> Self {
        Self {
            values: Some(NeededValues::Unordered(expressions)),
            enough: None,
        }
    }
}

impl NeededValues<'_> {
    /// The part of the rows of an access that must be read, if there is no condition left to check
    /// on each row.
    pub(in super::super) fn reads(
        self,
        table: &Table,
        query: &Query,
        (access, is_sorted): (&AccessPath, bool),
    ) -> Reads {
        let index = match access {
            AccessPath::Key(access) => match access.key {
                Key::Index(position) => table.indexes.get(position),
                Key::Primary => None,
            },
            _ => None,
        };
        let fields = index.map_or(&[][..], |index| &*index.fields);
        let (is_empty, has_all) = match self {
            NeededValues::Unordered(expressions) => (
                expressions.is_empty(),
                expressions.iter().all(|of| has(fields, of)),
            ),
            NeededValues::Selected(expressions) => {
                let order = query.order.iter().map(|order| &order.key);
                let mut order = order.filter(|_| !is_sorted).peekable();
                let is_empty = expressions.is_empty() && order.peek().is_none();
                let mut all = expressions.iter().chain(order);
                (is_empty, all.all(|of| has_exactly(fields, of)))
            }
        };
        match has_all {
            _ if is_empty => Reads::RowIds,
            true => Reads::Values,
            false => Reads::Payloads,
        }
    }
}

impl Purpose<'_> {
    /// Whether another index than the one on a single field may have the values that are needed of
    /// each row with a value of this field.
    pub(in super::super) fn prefers_other(self, table: &Table, query: &Query, key: Key) -> bool {
        let (Some(values), Key::Index(position)) = (self.values, key) else {
            return false;
        };
        let Some([field]) = table.indexes.get(position).map(|index| &*index.fields) else {
            return false;
        };
        let must_read_objects = |key: Key| {
            let access = AccessPath::Key(KeyAccess::new(key, smallvec::smallvec![]));
            values.reads(table, query, (&access, false)) == Reads::Payloads
        };
        // With a limit, rows in the order of row ids are fewer.
        query.limit.is_none()
            && must_read_objects(key)
            && table.indexes.iter().enumerate().any(|(position, index)| {
                let begins = index.fields.first().is_some_and(|f| f.steps == field.steps);
                begins && !must_read_objects(Key::Index(position))
            })
    }
}

/// Whether an index on these fields has the value of an expression.
fn has(fields: &[Field], expression: &Expression) -> bool {
    let asked = expression.as_field();
    // An index stores NULL for an empty union.
    let asked = asked.filter(|field| !field.is_tag());
    asked.is_some_and(|field| position_of(fields, field).is_some())
}

/// Whether an index on these fields has the value of an expression exactly as it is stored.
fn has_exactly(fields: &[Field], expression: &Expression) -> bool {
    let field = expression.as_field();
    // An index does not keep the sign of a zero.
    has(fields, expression) && field.is_some_and(|field| field.column_type() != ColumnType::Real)
}
