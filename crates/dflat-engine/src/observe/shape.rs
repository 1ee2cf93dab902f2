//! Queries that differ only in the values which they compare with: what they have in common is
//! kept once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Weak};

use dflat_model::{Comparison, Expression, Field, Predicate, Query, Value, ValueRef};

/// A query in two parts: its shape, and the values that stand in it.
#[derive(Clone, Debug)]
pub struct ShapedQuery {
    /// The query, with NULL in the place of each value.
    shape: Arc<Query>,
    /// The values; `None` if they stand in the shape.
    values: Option<Arc<[Value]>>,
}

impl From<Arc<Query>> for ShapedQuery {
    fn from(query: Arc<Query>) -> Self {
        Self {
            shape: query,
            values: None,
        }
    }
}

impl ShapedQuery {
    /// What does not depend on the values: the order, the place behind which it starts, and the
    /// window.
    #[must_use]
    pub fn frame(&self) -> &Query {
        &self.shape
    }

    /// The condition.
    pub(super) fn predicate(&self) -> Option<Cow<'_, Predicate>> {
        let shape = self.shape.predicate.as_ref()?;
        let Some(values) = self.values.as_ref().filter(|values| !values.is_empty()) else {
            return Some(Cow::Borrowed(shape));
        };
        let (mut predicate, mut values) = (shape.clone(), values.iter());
        visit_values(&mut predicate, &mut |value| {
            if let Some(own) = values.next() {
                value.clone_from(own);
            }
        });
        Some(Cow::Owned(predicate))
    }

    /// The field and its value, if all that the query asks is that they are equal.
    pub(super) fn key(&self) -> Option<(&Field, ValueRef<'_>)> {
        let Some(Predicate::Compare {
            left: Expression::Field(field),
            operator: Comparison::Equal,
            right: Expression::Literal(_),
        }) = &self.shape.predicate
        else {
            return None;
        };
        let [value] = self.values.as_deref()? else {
            return None;
        };
        let value = value.as_ref();
        (!value.is_null() && self.shape.after.is_none()).then_some((field, value))
    }

    /// The query.
    #[must_use]
    pub fn to_query(&self) -> Query {
        Query {
            predicate: self.predicate().map(Cow::into_owned),
            order: self.shape.order.clone(),
            after: self.shape.after.clone(),
            ..*self.shape
        }
    }

    /// The query, shared if it is kept as one.
    #[must_use]
    pub fn to_shared(&self) -> Arc<Query> {
        match &self.values {
            None => Arc::clone(&self.shape),
            Some(_) => Arc::new(self.to_query()),
        }
    }

    /// Whether another one asks for the same; both have their shapes from the same place.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shape, &other.shape) && self.values == other.values
    }

    /// A hash of the query among those of the same place.
    pub(super) fn hash(&self) -> u64 {
        let mut hash = super::hash::mix(Arc::as_ptr(&self.shape).addr() as u64, 0);
        for value in self.values.iter().flat_map(|values| values.iter()) {
            hash = super::hash::mix(hash, super::hash::of_value(value.as_ref()));
        }
        hash
    }
}

/// Visits the values that comparisons compare with, in an order of their own.
fn visit_values(predicate: &mut Predicate, visit: &mut impl FnMut(&mut Value)) {
    match predicate {
        Predicate::Compare { left, right, .. } => {
            for side in [left, right] {
                if let Expression::Literal(value) = side {
                    visit(value);
                }
            }
        }
        // A condition that is followed was checked to be no deeper than a stack is.
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter_mut().for_each(|part| visit_values(part, visit));
        }
        Predicate::Constant(_)
        | Predicate::In { .. }
        | Predicate::IsNull(_)
        | Predicate::Text { .. }
        | Predicate::Any { .. }
        | Predicate::Not(_) => {}
    }
}

/// Shapes by a hash of them, for as long as somebody else holds them.
#[derive(Default)]
pub(super) struct Shapes {
    by_hash: HashMap<u64, Vec<Weak<Query>>>,
    /// From so many on those that nobody holds are looked for.
    len_max: usize,
}

impl Shapes {
    /// A query with the shape that others have, if there are any.
    pub(super) fn shaped(&mut self, query: &Query) -> ShapedQuery {
        let (shape, values) = take_apart(query);
        let hash = hash(&shape);
        let known = self.find(hash, &shape);
        let shape = known.unwrap_or_else(|| self.add(hash, shape));
        let values = Some(values.into());
        ShapedQuery { shape, values }
    }

    /// The same, if somebody holds its shape.
    pub(super) fn known(&self, query: &Query) -> Option<ShapedQuery> {
        let (shape, values) = take_apart(query);
        let shape = self.find(hash(&shape), &shape)?;
        let values = Some(values.into());
        Some(ShapedQuery { shape, values })
    }

    fn find(&self, hash: u64, shape: &Query) -> Option<Arc<Query>> {
        let mut held = self.by_hash.get(&hash)?.iter().filter_map(Weak::upgrade);
        held.find(|other| **other == *shape)
    }

    fn add(&mut self, hash: u64, shape: Query) -> Arc<Query> {
        if self.by_hash.len() >= self.len_max {
            self.by_hash.retain(|_, shapes| {
                shapes.retain(|shape| shape.strong_count() > 0);
                !shapes.is_empty()
            });
            self.len_max = 2 * self.by_hash.len() + 8;
        }
        let shape = Arc::new(shape);
        let shapes = self.by_hash.entry(hash).or_default();
        shapes.retain(|shape| shape.strong_count() > 0);
        shapes.push(Arc::downgrade(&shape));
        shape
    }
}

fn take_apart(query: &Query) -> (Query, Vec<Value>) {
    let (mut shape, mut values) = (query.clone(), Vec::new());
    if let Some(predicate) = &mut shape.predicate {
        visit_values(predicate, &mut |value| {
            values.push(std::mem::replace(value, Value::Null));
        });
    }
    (shape, values)
}

/// A hash of what a query asks.
fn hash(query: &Query) -> u64 {
    struct Written(DefaultHasher);
    impl std::fmt::Write for Written {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut written = Written(DefaultHasher::new());
    // A hash can't fail to be written to.
    let _ = std::fmt::write(&mut written, format_args!("{query}"));
    written.0.finish()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use dflat_model::{FieldKind, Scalar, Step};

    use super::*;

    fn compare(operator: Comparison, value: Value) -> Predicate {
        Predicate::Compare {
            left: Expression::Field(Field {
                name: Cow::Borrowed("number"),
                steps: Cow::Borrowed(&[Step::Field(4)]),
                kind: FieldKind::Scalar(Scalar::I64),
                default: Value::Null,
            }),
            operator,
            right: Expression::Literal(value),
        }
    }

    fn between(low: Value, high: Value) -> Query {
        let low = compare(Comparison::Greater, low);
        Query {
            predicate: Some(low.and(compare(Comparison::Less, high))),
            limit: Some(3),
            ..Query::default()
        }
    }

    #[test]
    fn queries_that_differ_in_values_alone_share_their_shape() {
        let mut shapes = Shapes::default();
        let first = between(Value::Int(1), Value::text("b"));
        let second = between(Value::Float(0.5), Value::Null);
        let [a, b] = [&first, &second].map(|query| shapes.shaped(query));
        assert!(Arc::ptr_eq(&a.shape, &b.shape) && !a.is(&b));
        assert_eq!([a.to_query(), b.to_query()], [first.clone(), second]);
        assert!(a.is(&shapes.shaped(&first)) && a.hash() == shapes.shaped(&first).hash());
        let other = Query {
            limit: None,
            ..first
        };
        assert!(shapes.known(&other).is_none());
        assert!(!Arc::ptr_eq(&shapes.shaped(&other).shape, &a.shape));
    }

    #[test]
    fn shapes_that_nobody_holds_are_forgotten() {
        let mut shapes = Shapes::default();
        for limit in 0..1000 {
            let query = Query {
                limit: Some(limit),
                ..between(Value::Int(1), Value::Int(2))
            };
            drop(shapes.shaped(&query));
        }
        assert!(shapes.by_hash.len() < 20, "{}", shapes.by_hash.len());
    }
}
