//! The objects of a query in groups: the number of each group, and the sum of a value.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_model::{Direction, Domain, Expression, Nulls, Order, Query, Table, Value};

use super::select::{value_of, visit_unordered};
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
    expressions.extend(
        grouping
            .sum
            .iter()
            .map(|(expression, _)| expression.clone()),
    );
    visit_unordered(snapshot, table, query, &expressions, control, &mut |row| {
        let (key, value) = groups.read(&row)?;
        groups.groups.entry(key).or_default().add(&value);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(groups)
}

impl Totals {
    fn add(&mut self, value: &Value) {
        self.count += 1;
        self.total.add(value.as_ref());
    }

    fn remove(&mut self, value: &Value) {
        self.count = self.count.saturating_sub(1);
        self.total.remove(value.as_ref());
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
        change: impl FnOnce(&mut Totals, &Value),
    ) -> Result<(), Malformed> {
        let (key, value) = self.read(&Row::of(object))?;
        if !touched.contains_key(&key) {
            touched.insert(key.clone(), self.shown(&key));
        }
        change(self.groups.entry(key).or_default(), &value);
        Ok(())
    }

    /// The count and the sum of a group; `None` if it has no objects.
    fn shown(&self, key: &GroupKey) -> Shown {
        let totals = self.groups.get(key).filter(|totals| totals.count > 0)?;
        Some((totals.count, totals.sum(&self.grouping)))
    }

    /// The key of a row, and the value to sum.
    fn read(&self, row: &Row<'_>) -> Result<(GroupKey, Value), Malformed> {
        let key = match value_of(row, &self.grouping.order.key)?.to_value() {
            // Zeros of both signs are one group: the sum of -0.0 and 0.0 is 0.0.
            Value::Float(number) => Value::Float(number + 0.0),
            key => key,
        };
        let value = match &self.grouping.sum {
            Some((expression, _)) => value_of(row, expression)?.to_value(),
            None => Value::Null,
        };
        Ok((GroupKey(key), value))
    }
}

/// The count and the sum of a group.
type Shown = Option<(usize, Option<Value>)>;
