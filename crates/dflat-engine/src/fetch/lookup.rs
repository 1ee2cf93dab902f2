//! The most frequent query, one value of a field that has a key of its own: nothing is chosen.

use dflat_model::{Comparison, Expression, Field, Predicate, Query, Table, Value};
use smallvec::smallvec;

use super::{AccessPath, KeyAccess, KeyRange, Plan};
use crate::error::Result;
use crate::storage::{IndexState, Indexes, Key, View};

/// A query for the objects with one value of a field, by row id, and the key that has these alone.
#[derive(Clone, Copy, Debug)]
pub(in crate::fetch) struct Lookup<'q> {
    key: Key,
    value: &'q Value,
}

impl<'q> Lookup<'q> {
    /// The query as one, if it is one.
    pub(in crate::fetch) fn of(table: &Table, query: &'q Query) -> Option<Self> {
        let Some(Predicate::Compare {
            left: Expression::Field(field),
            operator: Comparison::Equal,
            right: Expression::Literal(value),
        }) = &query.predicate
        else {
            return None;
        };
        // An index has NULL for an empty union, whose type code is 0 to a query.
        let is_special = *value == Value::Null || field.is_tag();
        if is_special || !query.order.is_empty() || query.after.is_some() {
            return None;
        }
        let is_it = |fields: &[Field]| match fields {
            [only] => only.steps == field.steps && only.kind == field.kind,
            _ => false,
        };
        let mut indexes = table.indexes.iter();
        let key = match is_it(&table.primary_key) {
            true => Key::Primary,
            false => Key::Index(indexes.position(|i| i.condition.is_none() && is_it(&i.fields))?),
        };
        Some(Self { key, value })
    }

    /// The view that it needs: the state of an index is one of the same moment.
    pub(in crate::fetch) const fn view(self) -> View {
        match self.key {
            Key::Primary => View::Latest,
            Key::Index(_) => View::Pinned,
        }
    }

    /// Its plan, unless its index is not ready. No other can have fewer rows.
    pub(in crate::fetch) fn plan(
        self,
        indexes: impl FnOnce() -> Result<Indexes>,
    ) -> Result<Option<Plan>> {
        let mut apart = Vec::new();
        if let Key::Index(position) = self.key {
            let indexes = indexes()?;
            if indexes.states.get(position) != Some(&IndexState::Ready) {
                return Ok(None);
            }
            apart = indexes.apart;
        }
        let range = KeyRange::of(smallvec![self.value.clone()]);
        let mut plan = Plan {
            access: AccessPath::Key(KeyAccess::new(self.key, smallvec![range])),
            residual: None,
            sorted: true,
            by_row_id: true,
            apart: Vec::new(),
        };
        plan.set_apart(apart);
        Ok(Some(plan))
    }
}
