//! Finds the live queries that a commit may concern, and the rows that may concern each.

use std::collections::BTreeSet;

use dflat_model::{Field, Predicate, ValueRef};

use super::changed_rows::{Row, Rows};
use super::index_key::{FieldInterval, IndexKey, index_key};
use super::intervals::Intervals;
use super::slots::Slots;
use crate::object::{Object, field_value, root_text};
use crate::query::hash;

/// Up to this many live queries are evaluated on each changed row rather than looked up by values.
///
/// The instructions that a commit takes if it concerns none of the queries: if each query is
/// evaluated, if the queries are looked up by values, and in brackets by ranges. One query and one
/// row: 2,300 and 2,000 (1,900). One query and four rows: 3,300 and 5,100 (6,100). Two queries and
/// one row: 3,700 and 2,000 (2,100). Two queries and two rows: 4,300 and 3,100 (3,300). Four
/// queries and four rows: 10,300 and 5,100 (7,300).
const LINEAR_MAX: usize = 1;

/// The index keys of live queries, by field.
#[derive(Default)]
pub(in super::super) struct Matcher {
    pub(super) fields: Vec<FieldIndex>,
    /// The queries without an index key, which are evaluated on every changed row.
    unkeyed: BTreeSet<u32>,
    keyed_count: usize,
    /// A buffer that is reused from commit to commit.
    hits: Vec<Hit>,
}

/// A live query, a row that may concern it, and whether the row may meet its condition after the
/// commit or before it. They are one number, because many hits are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Hit(u64);

impl Hit {
    /// The largest number of rows of a commit whose positions fit in a hit.
    const ROWS_MAX: usize = 1 << 31;

    const fn new(slot: u32, row: Row, is: bool) -> Self {
        Self((slot as u64) << 32 | (row as u64) << 1 | is as u64)
    }

    /// The slot of the query.
    pub(in super::super) const fn slot(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The row.
    pub(in super::super) const fn row(self) -> Row {
        self.0 as u32 >> 1
    }

    /// Whether the state of the row is the one after the commit.
    pub(in super::super) const fn is(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The largest number of hits whose buffer is kept: 32 KiB.
const HITS_KEPT_MAX: usize = 4096;

pub(super) struct FieldIndex {
    pub(super) field: Field,
    /// The queries whose key is a single value, by the value's hash.
    points: Slots,
    intervals: Intervals,
}

impl FieldIndex {
    fn is_empty(&self) -> bool {
        self.points.is_empty() && self.intervals.is_empty()
    }

    /// The object's value in the field.
    #[inline]
    fn held<'o>(&'o self, object: &'o Object) -> FieldContent<'o> {
        match root_text(object.payload(), &self.field) {
            Ok(Some(text)) => FieldContent::Text(text),
            _ => FieldContent::Value(value(object, &self.field)),
        }
    }

    /// Visits the queries whose keys may contain the object's value.
    fn visit(&self, object: &Object, held: &FieldContent<'_>, visit: &mut impl FnMut(u32)) {
        if !self.points.is_empty() {
            let slots = self.points.get(held.hash());
            slots.iter().copied().for_each(&mut *visit);
        }
        if !self.intervals.is_empty() {
            self.intervals.stab(value(object, &self.field), visit);
        }
    }
}

/// An object's value in a field. A string of the root table, as most keys are, is not decoded.
/// Equal contents are equal values.
#[derive(PartialEq)]
enum FieldContent<'o> {
    Text(&'o [u8]),
    Value(ValueRef<'o>),
}

impl FieldContent<'_> {
    fn hash(&self) -> u64 {
        match self {
            Self::Text(text) => hash::of_bytes(text),
            Self::Value(value) => hash::of_value(*value),
        }
    }
}

/// The way to find a live query.
pub(in super::super) enum MatchBy {
    /// It is evaluated on every row.
    Always,
    /// By an index key.
    By(IndexKey),
}

impl MatchBy {
    pub(in super::super) fn of(predicate: Option<&Predicate>) -> Self {
        let key = predicate.and_then(index_key);
        key.map_or(Self::Always, Self::By)
    }

    fn intervals(&self) -> &[FieldInterval] {
        match self {
            Self::Always => &[],
            Self::By(key) => &key.intervals,
        }
    }
}

impl Matcher {
    pub(in super::super) fn insert(&mut self, slot: u32, found: &MatchBy) {
        if let MatchBy::Always = found {
            self.unkeyed.insert(slot);
            return;
        }
        self.keyed_count += 1;
        for FieldInterval { field, interval } in found.intervals() {
            let place = self.fields.iter().position(|index| index.field == *field);
            let place = place.unwrap_or_else(|| {
                self.fields.push(FieldIndex {
                    field: field.clone(),
                    points: Slots::default(),
                    intervals: Intervals::default(),
                });
                self.fields.len() - 1
            });
            let Some(index) = self.fields.get_mut(place) else {
                continue;
            };
            if let Some(value) = interval.only() {
                let hash = hash::of_value(value.as_ref().as_ref());
                index.points.insert(hash, slot);
            } else {
                index.intervals.insert(interval.clone(), slot);
            }
        }
    }

    pub(in super::super) fn remove(&mut self, slot: u32, found: &MatchBy) {
        if let MatchBy::Always = found {
            self.unkeyed.remove(&slot);
            return;
        }
        self.keyed_count -= 1;
        for FieldInterval { field, interval } in found.intervals() {
            let index = self.fields.iter_mut().find(|index| index.field == *field);
            let Some(index) = index else { continue };
            if let Some(value) = interval.only() {
                let hash = hash::of_value(value.as_ref().as_ref());
                index.points.remove(hash, slot);
            } else {
                index.intervals.remove(interval, slot);
            }
        }
        self.fields.retain(|index| !index.is_empty());
    }

    /// The live queries that a commit may concern.
    ///
    /// Each row is looked up by the hashes of its values, which costs the same for any number of
    /// queries. A single query is evaluated on each row instead. If there are more rows than
    /// queries, and some queries have ranges, which may overlap, each query searches the sorted
    /// rows instead.
    pub(in super::super) fn hits(&mut self, rows: Rows<'_>) -> Hits {
        let ranges = self.fields.iter().any(|index| !index.intervals.is_empty());
        if self.keyed_count <= LINEAR_MAX {
            return Hits::Each;
        }
        if (ranges && rows.len() > self.keyed_count) || rows.len() > Hit::ROWS_MAX {
            return Hits::Sorted;
        }
        let mut hits = std::mem::take(&mut self.hits);
        for index in &mut self.fields {
            index.intervals.tidy();
            for (row, (_, change)) in (0..).zip(rows) {
                let was = change.before.as_ref().map(|was| (was, index.held(was)));
                let is = change.after.as_ref().map(|is| (is, index.held(is)));
                match (&was, &is) {
                    // Most changes leave the values of index keys unchanged.
                    (Some((_, was)), Some((object, is))) if was == is => {
                        index.visit(object, is, &mut |slot| {
                            hits.extend([false, true].map(|is| Hit::new(slot, row, is)));
                        });
                    }
                    (was, is) => {
                        for (is, state) in [(false, was), (true, is)] {
                            if let Some((object, held)) = state {
                                let mut hit = |slot| hits.push(Hit::new(slot, row, is));
                                index.visit(object, held, &mut hit);
                            }
                        }
                    }
                }
            }
        }
        hits.sort_unstable();
        hits.dedup();
        Hits::Of(hits)
    }

    /// Takes back the buffer of hits.
    pub(in super::super) fn recycle(&mut self, mut hits: Vec<Hit>) {
        if hits.capacity() <= HITS_KEPT_MAX {
            hits.clear();
            self.hits = hits;
        }
    }

    pub(in super::super) fn unkeyed(&self) -> &BTreeSet<u32> {
        &self.unkeyed
    }
}

/// The live queries that a commit may concern.
pub(in super::super) enum Hits {
    /// All queries, each with every row.
    Each,
    /// All queries, each with the sorted rows in its intervals.
    Sorted,
    /// These queries and rows, in order.
    Of(Vec<Hit>),
}

pub(super) fn all(rows: Rows<'_>) -> std::ops::Range<Row> {
    0..Row::try_from(rows.len()).unwrap_or(Row::MAX)
}

pub(super) fn value<'a>(object: &'a Object, field: &'a Field) -> ValueRef<'a> {
    // Objects are verified, so that every value can be read.
    field_value(object.payload(), field).unwrap_or(ValueRef::Null)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use dflat_model::{
        Comparison, Expression, FieldKind, Predicate, RowId, Scalar, Step, TextTest, Value,
    };

    use super::*;
    use crate::object::{Origin, Writer};

    fn field(voffset: u16, kind: FieldKind) -> Expression {
        Expression::Field(Field {
            name: format!("f{voffset}").into(),
            steps: vec![Step::Field(voffset)].into(),
            kind,
            default: Value::Null,
        })
    }

    fn number() -> Expression {
        field(4, FieldKind::Scalar(Scalar::I64))
    }

    fn compare(operator: Comparison, value: i64) -> Predicate {
        Predicate::Compare {
            left: number(),
            operator,
            right: Expression::Literal(Value::Int(value)),
        }
    }

    fn intervals(predicate: &Predicate) -> Option<(usize, bool)> {
        index_key(predicate).map(|key| (key.intervals.len(), key.exact))
    }

    #[test]
    fn conditions_that_bound_values_have_index_keys() {
        use Comparison::{Equal, Greater, Less, NotEqual};
        let name = || field(6, FieldKind::Text);
        let text = |test| Predicate::Text {
            operand: name(),
            test,
            pattern: "ab".into(),
            ignore_case: false,
        };
        let range = compare(Greater, 1).and(compare(Less, 9));
        assert_eq!(intervals(&compare(Equal, 1)), Some((1, true)));
        assert_eq!(intervals(&compare(NotEqual, 1)), None);
        assert_eq!(intervals(&range), Some((1, true)));
        assert_eq!(
            intervals(&range.clone().and(Predicate::IsNull(name()))),
            Some((1, false))
        );
        assert_eq!(
            intervals(&range.clone().and(text(TextTest::Contains))),
            Some((1, false))
        );
        assert_eq!(intervals(&text(TextTest::StartsWith)), Some((1, true)));
        assert_eq!(
            intervals(&range.clone().or(text(TextTest::Equal))),
            Some((2, true))
        );
        assert_eq!(intervals(&range.clone().or(text(TextTest::Contains))), None);
        assert_eq!(intervals(&range.negate()), None);
        let values = [Value::Int(1), Value::Null, Value::Int(2)].into();
        let operand = number();
        assert_eq!(
            intervals(&Predicate::In { operand, values }),
            Some((2, true))
        );
    }

    #[test]
    fn a_change_visits_only_the_queries_of_its_values() {
        let mut matcher = Matcher::default();
        let keyed = |n: i64| MatchBy::of(Some(&compare(Comparison::Equal, n)));
        for n in 0..100_000 {
            matcher.insert(n as u32, &keyed(n));
        }
        let changed = |matcher: &mut Matcher, rows: Rows<'_>| match matcher.hits(rows) {
            Hits::Of(hits) => hits,
            Hits::Each | Hits::Sorted => panic!("every query is looked at"),
        };
        let object = |value: i64| {
            let mut writer = Writer::new();
            let root = writer.begin();
            assert!(writer.begin_table(root));
            writer.scalar(4, value);
            writer.end_table();
            let payload = writer.finish().unwrap();
            Some(Object::alone(0, RowId(1), Origin::default(), payload))
        };
        let change = |before, after| {
            let change = crate::change_set::RowChange { before, after };
            [(RowId(1), change)]
        };
        let rows = change(object(-5), object(-6));
        assert!(changed(&mut matcher, &rows).is_empty());
        let rows = change(object(7), object(99_999));
        assert_eq!(
            changed(&mut matcher, &rows),
            [Hit::new(7, 0, false), Hit::new(99_999, 0, true)]
        );
        matcher.remove(7, &keyed(7));
        assert_eq!(changed(&mut matcher, &rows), [Hit::new(99_999, 0, true)]);
    }
}
