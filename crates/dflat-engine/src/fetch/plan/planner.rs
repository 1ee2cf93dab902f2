//! The data from which a query is planned.

use dflat_model::{Expression, Field, IndexDescriptor, Order, Predicate, Query, Table, Value};
use smallvec::SmallVec;

use super::super::scan::Reads;
use super::candidate::Candidate;
use super::conjuncts::set_of;
use super::purpose::{NeededValues, Purpose};
use super::{AccessPath, RowOrder};
use crate::storage::{IndexState, Key};

/// A query, its table and the parts of its condition.
pub(super) struct Planner<'a> {
    pub(super) table: &'a Table,
    pub(super) query: &'a Query,
    pub(super) states: &'a [IndexState],
    /// The use of the rows.
    pub(super) purpose: Purpose<'a>,
    /// The conjuncts of the predicate.
    pub(super) parts: &'a [Predicate],
    /// For each key of the order, its value if the condition fixes it.
    fixed: SmallVec<[Option<Value>; 2]>,
    /// Whether the order is that of row ids, because the condition fixes all its keys.
    pub(super) by_row_id: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        table: &'a Table,
        (query, purpose): (&'a Query, Purpose<'a>),
        states: &'a [IndexState],
    ) -> Self {
        let parts = match &query.predicate {
            None => &[],
            Some(Predicate::And(parts)) => parts.as_slice(),
            Some(predicate) => std::slice::from_ref(predicate),
        };
        let fixed = query.order.iter().map(|order| {
            let (set, _) = set_of(parts, order.key.as_field()?)?;
            match set.0.as_slice() {
                [one] => one.only().map(|only| Value::clone(only)),
                _ => None,
            }
        });
        let fixed: SmallVec<[Option<Value>; 2]> = fixed.collect();
        Self {
            table,
            query,
            states,
            purpose,
            parts,
            by_row_id: fixed.iter().all(Option::is_some),
            fixed,
        }
    }

    pub(super) fn index(&self, key: Key) -> Option<&'a IndexDescriptor> {
        match key {
            Key::Primary => None,
            Key::Index(position) => self.table.indexes.get(position),
        }
    }

    pub(super) fn fields(&self, key: Key) -> &'a [Field] {
        match key {
            Key::Primary => &self.table.primary_key,
            Key::Index(_) => self.index(key).map_or(&[], |index| &index.fields),
        }
    }

    /// The keys of the order that the condition does not fix, with their positions.
    pub(super) fn order(&self) -> impl Iterator<Item = (usize, &'a Order)> {
        let order = self.query.order.iter().enumerate().zip(self.fixed());
        order.filter_map(|(order, fixed)| fixed.is_none().then_some(order))
    }

    /// For each key of the order, the value that the condition fixes it to, if any.
    pub(super) fn fixed(&self) -> impl Iterator<Item = Option<&Value>> {
        self.fixed.iter().map(Option::as_ref)
    }

    /// Whether the needed values are read from an index, and no objects.
    pub(super) fn has_values(&self, candidate: &Candidate, is_sorted: bool) -> bool {
        let Some(values) = self.purpose.values else {
            return false;
        };
        let access = (&candidate.access, is_sorted);
        self.unused(candidate) == 0
            && self.query.after.is_none()
            && values.reads(self.table, self.query, access) != Reads::Payloads
    }

    /// Whether the needed values are read from an index in any order. Reading most entries of an
    /// index takes less than reading all objects.
    pub(super) fn needs_entries_only(&self, candidate: &Candidate) -> bool {
        matches!(self.purpose.values, Some(NeededValues::Unordered(_)))
            && self.has_values(candidate, false)
    }

    /// Whether an access gives its rows in the query's order.
    pub(super) fn is_sorted(&self, access: &AccessPath) -> bool {
        self.row_order(access).is_sorted()
    }

    /// The order in which an access gives its rows. Without a limit, all rows are read and sorted
    /// anyway, and an order by the first keys does not count.
    pub(super) fn row_order(&self, access: &AccessPath) -> RowOrder {
        let mut order = self.order().peekable();
        let is_all = order.peek().is_none();
        let access = match access {
            AccessPath::Nothing => return RowOrder::Sorted,
            AccessPath::Rows(_) | AccessPath::Union(_) | AccessPath::Intersection(_) if is_all => {
                return RowOrder::Sorted;
            }
            AccessPath::Rows(_) | AccessPath::Union(_) | AccessPath::Intersection(_) => {
                return RowOrder::Any;
            }
            AccessPath::Key(access) => access,
        };
        let fields = self.fields(access.key);
        let fixed = access.fixed_parts();
        let open = fields.get(fixed..).unwrap_or_default();
        let mut sorted = 0;
        for (at, field) in open.iter().enumerate() {
            let is_sorted = order.next_if(|(_, order)| {
                order.direction == access.direction
                    && is_field(&order.key, field)
                    && self.has_nulls_in_place(access, (fixed, at), field, order)
            });
            if is_sorted.is_none() {
                break;
            }
            sorted += 1;
        }
        match order.peek() {
            // Rows with equal keys come by row id, and so must equal rows of the order.
            None if sorted == open.len() => RowOrder::Sorted,
            _ if sorted == 0 || self.query.limit.is_none() => RowOrder::Any,
            None => RowOrder::Presorted(self.query.order.len()),
            Some((position, _)) => RowOrder::Presorted(*position),
        }
    }
}

/// Whether an expression is this field.
pub(super) fn is_field(expression: &Expression, field: &Field) -> bool {
    expression
        .as_field()
        .is_some_and(|other| other.steps == field.steps)
}
