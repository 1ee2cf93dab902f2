//! Shares the common part of queries that differ only in the literals that they compare with.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Weak};

use dflat_model::{Comparison, Expression, Field, Predicate, Query, Value, ValueRef};
use triomphe::ThinArc;

use super::Interest;
use crate::query::hash;

/// A query and the observed part of its objects, split into a shape, which equal queries share, and
/// the literals.
#[derive(Clone, Debug)]
pub struct ShapedQuery {
    shape: Arc<Shape>,
    /// The literals; `None` if they are in the shape.
    values: Option<ThinArc<(), Value>>,
}

#[derive(Debug, PartialEq)]
struct Shape {
    /// The query, with NULL in place of each literal.
    query: Query,
    interest: Interest,
}

impl From<Query> for ShapedQuery {
    /// A query of which all values of the objects are observed.
    fn from(query: Query) -> Self {
        Self::new(query, Interest::Objects)
    }
}

impl ShapedQuery {
    /// A query that shares its shape with no other.
    #[must_use]
    pub fn new(query: Query, interest: Interest) -> Self {
        Self {
            shape: Arc::new(Shape { query, interest }),
            values: None,
        }
    }

    /// The observed part of the objects.
    #[must_use]
    pub fn interest(&self) -> &Interest {
        &self.shape.interest
    }

    /// The query without regard to its literals: its order, cursor position and window are valid.
    #[must_use]
    pub fn frame(&self) -> &Query {
        &self.shape.query
    }

    /// The condition.
    pub(in super::super) fn predicate(&self) -> Option<Cow<'_, Predicate>> {
        let shape = self.frame().predicate.as_ref()?;
        let values = self.values.as_ref().map(|values| &values.slice);
        let Some(values) = values.filter(|values| !values.is_empty()) else {
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

    /// The field and its value, if the condition is nothing but their equality.
    pub(in super::super) fn key(&self) -> Option<(&Field, ValueRef<'_>)> {
        let Some(Predicate::Compare {
            left: Expression::Field(field),
            operator: Comparison::Equal,
            right: Expression::Literal(_),
        }) = &self.frame().predicate
        else {
            return None;
        };
        let [value] = &self.values.as_ref()?.slice else {
            return None;
        };
        let value = value.as_ref();
        (!value.is_null() && self.frame().after.is_none()).then_some((field, value))
    }

    /// The query.
    #[must_use]
    pub fn query(&self) -> Cow<'_, Query> {
        let frame = self.frame();
        match &self.values {
            None => Cow::Borrowed(frame),
            Some(_) => Cow::Owned(Query {
                predicate: self.predicate().map(Cow::into_owned),
                order: frame.order.clone(),
                after: frame.after.clone(),
                ..*frame
            }),
        }
    }

    /// Whether two queries are equal. Both must have their shapes from the same [`Shapes`].
    pub(in super::super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shape, &other.shape) && self.values == other.values
    }

    /// A hash of the query among those of the same [`Shapes`].
    pub(in super::super) fn hash(&self) -> u64 {
        let mut hash = hash::mix(Arc::as_ptr(&self.shape).addr() as u64, 0);
        for value in self.values.iter().flat_map(|values| &values.slice) {
            hash = hash::mix(hash, hash::of_value(value.as_ref()));
        }
        hash
    }
}

/// Visits the literals of comparisons, in a fixed order.
fn visit_values(predicate: &mut Predicate, visit: &mut impl FnMut(&mut Value)) {
    match predicate {
        Predicate::Compare { left, right, .. } => {
            for side in [left, right] {
                if let Expression::Literal(value) = side {
                    visit(value);
                }
            }
        }
        // The depth of a live query's condition was checked, so this recursion is bounded.
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

/// Shapes by their hashes, for as long as queries use them.
#[derive(Default)]
pub(in super::super) struct Shapes {
    by_hash: HashMap<u64, Vec<Weak<Shape>>>,
    /// From this number of shapes on, unused ones are removed.
    len_max: usize,
}

impl Shapes {
    /// The query with a shape that it shares with others of the same shape.
    pub(in super::super) fn shaped(&mut self, query: &ShapedQuery) -> ShapedQuery {
        let (shape, values) = take_apart(query);
        let hash = hash(&shape.query);
        let known = self.find(hash, &shape);
        let shape = known.unwrap_or_else(|| self.add(hash, shape));
        ShapedQuery { shape, values }
    }

    /// As [`shaped`](Self::shaped), but `None` if no other query uses the shape.
    pub(in super::super) fn known(&self, query: &ShapedQuery) -> Option<ShapedQuery> {
        let (shape, values) = take_apart(query);
        let shape = self.find(hash(&shape.query), &shape)?;
        Some(ShapedQuery { shape, values })
    }

    fn find(&self, hash: u64, shape: &Shape) -> Option<Arc<Shape>> {
        let mut held = self.by_hash.get(&hash)?.iter().filter_map(Weak::upgrade);
        held.find(|other| **other == *shape)
    }

    fn add(&mut self, hash: u64, shape: Shape) -> Arc<Shape> {
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

fn take_apart(query: &ShapedQuery) -> (Shape, Option<ThinArc<(), Value>>) {
    let (interest, mut values) = (query.interest().clone(), Vec::new());
    let mut query = query.query().into_owned();
    if let Some(predicate) = &mut query.predicate {
        visit_values(predicate, &mut |value| {
            values.push(std::mem::replace(value, Value::Null));
        });
    }
    let values = ThinArc::from_header_and_iter((), values.into_iter());
    (Shape { query, interest }, Some(values))
}

/// A hash of a query's text.
fn hash(query: &Query) -> u64 {
    struct Written(DefaultHasher);
    impl std::fmt::Write for Written {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut written = Written(DefaultHasher::new());
    // Writing to a hash can't fail.
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

    fn between(low: Value, high: Value, limit: usize) -> ShapedQuery {
        let low = compare(Comparison::Greater, low);
        ShapedQuery::from(Query {
            predicate: Some(low.and(compare(Comparison::Less, high))),
            limit: Some(limit),
            ..Query::default()
        })
    }

    #[test]
    fn queries_that_differ_only_in_literals_share_their_shape() {
        let mut shapes = Shapes::default();
        let first = between(Value::Int(1), Value::text("b"), 3);
        let second = between(Value::Float(0.5), Value::Null, 3);
        let [a, b] = [&first, &second].map(|query| shapes.shaped(query));
        assert!(Arc::ptr_eq(&a.shape, &b.shape) && !a.is(&b));
        assert_eq!([a.query(), b.query()], [first.query(), second.query()]);
        assert!(a.is(&shapes.shaped(&first)) && a.hash() == shapes.shaped(&first).hash());
        let seen = |number: i64| {
            let values = [Expression::Literal(Value::Int(number))];
            let interest = Interest::Values(Arc::new(values));
            ShapedQuery::new(first.query().into_owned(), interest)
        };
        let others = [
            between(Value::Int(1), Value::text("b"), 4),
            seen(1),
            seen(2),
        ];
        for other in others {
            assert!(shapes.known(&other).is_none());
            let [other, again] = [shapes.shaped(&other), shapes.shaped(&other)];
            assert!(other.is(&again) && !other.is(&a));
            assert!(!Arc::ptr_eq(&other.shape, &a.shape));
        }
    }

    /// A commit took a tenth of a second, because it copied 2.6 million values: issue 27, line 5.
    #[test]
    fn list_of_a_condition_is_not_copied() {
        let mut shapes = Shapes::default();
        let with_list = |values: &Arc<[Value]>| {
            let list = Predicate::In {
                operand: Expression::Literal(Value::Int(-1)),
                values: Arc::clone(values),
            };
            let either = list.or(compare(Comparison::Equal, Value::Int(7)));
            ShapedQuery::from(Query {
                predicate: Some(either),
                ..Query::default()
            })
        };
        let values = [1, 2].map(Value::Int).into();
        let query = with_list(&values);
        let shaped = shapes.shaped(&query);
        assert_eq!(shaped.query(), query.query());
        let Cow::Owned(Predicate::Or(parts)) = shaped.predicate().unwrap() else {
            panic!("the literal is put back in a copy");
        };
        let Predicate::In { values: own, .. } = &parts[0] else {
            panic!("the list stays in its place");
        };
        assert!(Arc::ptr_eq(own, &values));
        let other = with_list(&[Value::Int(1)].into());
        assert!(shaped.is(&shapes.shaped(&query)) && !shaped.is(&shapes.shaped(&other)));
    }

    #[test]
    fn unused_shapes_are_removed() {
        let mut shapes = Shapes::default();
        for limit in 0..1000 {
            drop(shapes.shaped(&between(Value::Int(1), Value::Int(2), limit)));
        }
        assert!(shapes.by_hash.len() < 20, "{}", shapes.by_hash.len());
    }
}
