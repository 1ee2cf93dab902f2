//! The objects of a query in groups: the number of each group, and the sum of a value.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_model::{Direction, Domain, Expression, Nulls, Order, Query, Table, Value, ValueRef};

use super::plan::Purpose;
use super::select::value_of;
use super::unordered::UnorderedRows;
use super::{Control, Total, check};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Malformed, Object};
use crate::storage::{Row, Snapshot};

/// How objects are grouped.
#[derive(Clone, Debug)]
pub struct Grouping {
    /// The value that the objects of a group share, and the order of the groups.
    pub order: Order,
    /// The value to sum, and the domain of the sum.
    pub sum: Option<(Expression, Domain)>,
}

/// A group of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The value that the objects share; NULL for the objects without one.
    pub key: Value,
    /// The number of the objects: at least 1.
    pub count: usize,
    /// The sum; `None` if it does not fit. It is NULL if no object has a value, if the values
    /// include both infinities, or if nothing is summed.
    pub sum: Option<Value>,
}

/// The groups of a query's objects, which are kept up to date by adding and removing objects.
#[derive(Clone, Debug)]
pub struct Groups {
    grouping: Arc<Grouping>,
    groups: BTreeMap<GroupKey, Totals>,
}

/// The number of a group's objects, and their sum.
#[derive(Clone, Debug, Default)]
struct Totals {
    count: usize,
    total: Total,
}

/// The key of a group, ordered as values are.
#[derive(Clone, Debug)]
struct GroupKey(Value);

impl GroupKey {
    fn of(value: ValueRef<'_>) -> Self {
        Self(match value {
            // Zeros of both signs are one group: the sum of -0.0 and 0.0 is 0.0.
            ValueRef::Float(number) => Value::Float(number + 0.0),
            key => key.to_value(),
        })
    }
}

impl Ord for GroupKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.as_ref().order(other.0.as_ref())
    }
}

impl PartialOrd for GroupKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for GroupKey {}

impl PartialEq for GroupKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

/// Checks a query whose objects are to be grouped.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if the query has a window, or as [`check`].
pub fn check_groups(table: &Table, query: &Query) -> Result<()> {
    if query.limit.is_some() || query.offset > 0 || query.after.is_some() {
        let name = &table.type_name;
        let message =
            format!("cannot group objects of {name}: the query has a limit, an offset or a cursor");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    check(table, query)
}

/// The groups of a query's objects. The order of the query has no effect.
///
/// # Errors
/// As [`check_groups`]; otherwise as [`count`](super::count).
pub fn groups(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    query: &Query,
    grouping: &Arc<Grouping>,
    control: &Control,
) -> Result<Groups> {
    check_groups(table, query)?;
    let mut groups = Groups::new(Arc::clone(grouping));
    let mut expressions = vec![grouping.order.key.clone()];
    let summed = grouping.sum.iter().map(|(expression, _)| expression);
    expressions.extend(summed.filter(|of| **of != grouping.order.key).cloned());
    let purpose = Purpose::unordered(&expressions);
    let rows = UnorderedRows::find(snapshot, table, (query, purpose), control)?;
    let is_counted = rows.tally(snapshot, table, control, &mut |entry, count| {
        let value = |of: &Expression| {
            let value = of.as_field().and_then(|field| entry.value(field));
            value.unwrap_or(ValueRef::Null)
        };
        let summed = grouping.sum.as_ref().map(|(of, _)| value(of));
        let key = GroupKey::of(value(&grouping.order.key));
        let totals = groups.groups.entry(key).or_default();
        totals.add(summed.unwrap_or(ValueRef::Null), count);
    })?;
    if !is_counted {
        groups.groups.clear();
        rows.visit(snapshot, table, control, &mut |row| {
            let (key, value) = grouping.read(&row)?;
            groups.groups.entry(key).or_default().add(value, 1);
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(groups)
}

impl Grouping {
    /// The key of a row, and the value to sum.
    fn read<'r>(&'r self, row: &Row<'r>) -> Result<(GroupKey, ValueRef<'r>), Malformed> {
        let key = GroupKey::of(value_of(row, &self.order.key)?);
        let value = match &self.sum {
            Some((expression, _)) => value_of(row, expression)?,
            None => ValueRef::Null,
        };
        Ok((key, value))
    }
}

impl Totals {
    /// Adds objects that have the same value to sum.
    fn add(&mut self, value: ValueRef<'_>, count: usize) {
        self.count += count;
        self.total.add_many(value, count);
    }

    fn remove(&mut self, value: ValueRef<'_>, count: usize) {
        self.count = self.count.saturating_sub(count);
        (0..count).for_each(|_| self.total.remove(value));
    }

    fn sum(&self, grouping: &Grouping) -> Option<Value> {
        match &grouping.sum {
            Some((_, domain)) => self.total.sum(*domain),
            None => Some(Value::Null),
        }
    }
}

impl Groups {
    /// No groups.
    #[must_use]
    pub const fn new(grouping: Arc<Grouping>) -> Self {
        Self {
            grouping,
            groups: BTreeMap::new(),
        }
    }

    /// How the objects are grouped.
    #[must_use]
    pub fn grouping(&self) -> &Arc<Grouping> {
        &self.grouping
    }

    /// The groups in their order.
    ///
    /// # Cost
    /// Memory and time for each group.
    #[must_use]
    pub fn to_list(&self) -> Vec<Group> {
        let groups = self.groups.iter().map(|(key, totals)| Group {
            key: key.0.clone(),
            count: totals.count,
            sum: totals.sum(&self.grouping),
        });
        let mut list: Vec<Group> = groups.collect();
        let Order {
            direction, nulls, ..
        } = self.grouping.order;
        if nulls == Nulls::Largest
            && list
                .first()
                .is_some_and(|group| group.key.as_ref().is_null())
        {
            list.rotate_left(1);
        }
        if direction == Direction::Descending {
            list.reverse();
        }
        list
    }

    /// Removes the old states of objects, and adds the new ones. Returns whether a group changed.
    ///
    /// # Errors
    /// If a value cannot be read. The groups are then incomplete.
    pub fn replace<'o>(
        &mut self,
        before: impl Iterator<Item = &'o Object>,
        after: impl Iterator<Item = &'o Object>,
    ) -> Result<bool, Malformed> {
        let mut touched = BTreeMap::new();
        for object in before {
            self.touch(object, &mut touched, Totals::remove)?;
        }
        for object in after {
            self.touch(object, &mut touched, Totals::add)?;
        }
        let mut changed = false;
        for (key, shown) in touched {
            changed |= self.shown(&key) != shown;
            if self.groups.get(&key).is_some_and(|group| group.count == 0) {
                self.groups.remove(&key);
            }
        }
        Ok(changed)
    }

    /// Changes the group of an object, after its count and sum are noted in `touched`.
    fn touch(
        &mut self,
        object: &Object,
        touched: &mut BTreeMap<GroupKey, Shown>,
        change: impl FnOnce(&mut Totals, ValueRef<'_>, usize),
    ) -> Result<(), Malformed> {
        let (row, grouping) = (Row::of(object), Arc::clone(&self.grouping));
        let (key, value) = grouping.read(&row)?;
        if !touched.contains_key(&key) {
            touched.insert(key.clone(), self.shown(&key));
        }
        change(self.groups.entry(key).or_default(), value, 1);
        Ok(())
    }

    /// The count and the sum of a group; `None` if it has no objects.
    fn shown(&self, key: &GroupKey) -> Shown {
        let totals = self.groups.get(key).filter(|totals| totals.count > 0)?;
        Some((totals.count, totals.sum(&self.grouping)))
    }
}

/// The count and the sum of a group.
type Shown = Option<(usize, Option<Value>)>;
