//! The test whether a value is one of a list, prepared for many rows.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use dflat_model::{Expression, Value, ValueRef};

use super::evaluate::value;
use super::hash::{self, Prehashed};
use super::truth::Truth;
use crate::object::{Scope, TableView};

/// A list with at most this many values is always searched from its start.
const SHORT: usize = 8;

/// A longer list is searched from its start this often before a set of its values is made, which
/// takes about as long. A live query with a list of millions of values often has one changed row to
/// check.
const SEARCHES_MAX: u32 = 8;

/// A test whether a value is one of a list.
#[derive(Debug)]
pub(super) struct ListTest<'p> {
    operand: &'p Expression,
    values: &'p [Value],
    /// The number of values that were searched for from the start of the list.
    searches: Cell<u32>,
    /// The values, once the list has been searched several times.
    set: OnceCell<HashSet<Listed<'p>, Prehashed>>,
    /// The answer for a value that is not in the list.
    otherwise: Option<bool>,
}

/// A value of a list. Values are equal if they compare as equal.
#[derive(Clone, Copy, Debug)]
struct Listed<'p>(ValueRef<'p>);

impl PartialEq for Listed<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.order(other.0).is_eq()
    }
}

impl Eq for Listed<'_> {}

impl Hash for Listed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(hash::of_value(self.0));
    }
}

impl<'p> ListTest<'p> {
    pub(super) fn new(operand: &'p Expression, values: &'p [Value]) -> Self {
        Self {
            operand,
            values,
            searches: Cell::new(0),
            set: OnceCell::new(),
            otherwise: (!values.contains(&Value::Null)).then_some(false),
        }
    }

    fn contains(&self, value: ValueRef<'_>) -> bool {
        let searches = self.searches.get();
        if self.values.len() <= SHORT || searches < SEARCHES_MAX {
            self.searches.set(searches.saturating_add(1));
            let mut known = self.values.iter();
            return known.any(|known| known.as_ref().order(value).is_eq());
        }
        let set = self.set.get_or_init(|| {
            let values = self.values.iter();
            values.map(|value| Listed(value.as_ref())).collect()
        });
        set.contains(&Listed(value))
    }

    pub(super) fn holds(&self, root: TableView<'_>) -> Truth {
        let operand = value(self.operand, Scope::from(root))?;
        if operand.is_null() {
            return Ok(None);
        }
        Ok(if self.contains(operand) {
            Some(true)
        } else {
            self.otherwise
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Writer;

    #[test]
    fn a_set_is_made_once_a_list_has_been_searched_several_times() {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        writer.end_table();
        let payload = writer.finish().unwrap().to_vec();
        let root = TableView::root(&payload).unwrap();
        let values: Vec<Value> = (0..100).rev().map(Value::Int).collect();
        for (searched, expected) in [
            (Value::Int(50), true),
            (Value::Float(50.0), true),
            (Value::Float(50.5), false),
            (Value::Int(100), false),
            (Value::text("50"), false),
        ] {
            let operand = Expression::Literal(searched);
            let list = ListTest::new(&operand, &values);
            for search in 0..2 * SEARCHES_MAX {
                assert_eq!(list.holds(root), Ok(Some(expected)));
                assert_eq!(list.set.get().is_some(), search >= SEARCHES_MAX);
            }
        }
    }

    #[test]
    fn a_short_list_needs_no_set() {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        writer.end_table();
        let payload = writer.finish().unwrap().to_vec();
        let root = TableView::root(&payload).unwrap();
        let values = [Value::Int(1), Value::Null];
        let operand = Expression::Literal(Value::Int(2));
        let list = ListTest::new(&operand, &values);
        for _ in 0..2 * SEARCHES_MAX {
            assert_eq!(list.holds(root), Ok(None));
        }
        assert!(list.set.get().is_none());
    }
}
