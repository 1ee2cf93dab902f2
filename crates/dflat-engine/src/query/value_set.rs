//! Sets of values, and the rule by which a condition on a field becomes one.
//!
//! By this rule, the planner chooses ranges of keys and indexes with a condition, and live queries
//! are found.

use std::borrow::Cow;
use std::ops::Bound;

use dflat_model::{
    Comparison, Expression, Field, FieldKind, IndexCondition, Predicate, TextTest, Value,
};
use smallvec::{SmallVec, smallvec};

use super::interval::{Interval, Limit, is_empty, lower_order, upper_order};

/// A set of values: intervals in order that have no value in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueSet<'q>(pub(crate) SmallVec<[Interval<'q>; 1]>);

/// Positions of conjuncts.
pub(crate) type ConjunctPositions = SmallVec<[usize; 4]>;

/// The largest number of values of a `not in` that is turned into intervals. Each value splits an
/// interval. Nearly all rows are in the intervals, so with many of them a scan of all rows is
/// cheaper.
const GAPS_MAX: usize = 8;

/// The largest number of intervals that are compared to intersect the sets of one field. Further
/// sets are left to the residual condition, so that a query with long lists does not make planning
/// expensive.
const STEPS_MAX: usize = 65_536;

impl<'q> ValueSet<'q> {
    fn one(lower: Limit<'q>, upper: Limit<'q>) -> Self {
        let interval = Interval { lower, upper };
        Self(
            (!interval.is_empty())
                .then_some(interval)
                .into_iter()
                .collect(),
        )
    }

    fn points(values: &'q [Value]) -> Self {
        let known = values.iter().filter(|value| **value != Value::Null);
        Self(known.map(Interval::point).collect()).sorted()
    }

    /// Whether all values are in another set.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let mut intervals = self.0.iter();
        intervals.all(|inner| other.0.iter().any(|outer| outer.covers(inner)))
    }

    /// The same set for a field of this kind, in a form that compares as equal for equal sets of
    /// whole numbers: above 2 becomes from 3.
    pub(crate) fn of_kind(self, kind: FieldKind) -> Self {
        match kind {
            FieldKind::Scalar(scalar) if !scalar.is_float() => {
                let intervals = self.0.into_iter();
                Self(intervals.map(Interval::of_whole_numbers).collect())
            }
            _ => self,
        }
    }

    /// The field of an index's condition and the values for which the condition is true; `None` if
    /// the condition is on several fields.
    pub(crate) fn of_index(condition: &'q IndexCondition) -> Option<(&'q Field, Self)> {
        let all = |parts: &'q [IndexCondition]| -> Option<(&'q Field, Vec<Self>)> {
            let mut of = None;
            let mut sets = Vec::with_capacity(parts.len());
            for part in parts {
                let (field, set) = Self::of_index(part)?;
                let same: &Field = of.get_or_insert(field);
                if same.steps != field.steps {
                    return None;
                }
                sets.push(set);
            }
            Some((of?, sets))
        };
        match condition {
            IndexCondition::Compare {
                field,
                operator,
                value,
            } => Some((field, Self::compared(*operator, value))),
            IndexCondition::IsNull(field) => Some((field, Self::null())),
            IndexCondition::IsNotNull(field) => Some((field, Self::not_null())),
            IndexCondition::And(parts) => {
                let (field, sets) = all(parts)?;
                let both = |all: Self, set: Self| all.intersection(&set);
                Some((field, sets.into_iter().reduce(both)?))
            }
            IndexCondition::Or(parts) => {
                let (field, sets) = all(parts)?;
                let intervals = sets.into_iter().flat_map(|set| set.0);
                Some((field, Self(intervals.collect()).sorted()))
            }
        }
    }

    /// Sorts the intervals and joins those that overlap.
    fn sorted(mut self) -> Self {
        self.0.sort_by(|a, b| lower_order(&a.lower, &b.lower));
        let mut joined: SmallVec<[Interval<'q>; 1]> = SmallVec::with_capacity(self.0.len());
        for interval in self.0 {
            match joined.last_mut() {
                Some(last) if overlap(last, &interval) => {
                    if upper_order(&last.upper, &interval.upper).is_lt() {
                        last.upper = interval.upper;
                    }
                }
                _ => joined.push(interval),
            }
        }
        Self(joined)
    }

    /// Whether the set reaches from the smallest value to the largest.
    pub(crate) fn is_wide(&self) -> bool {
        let from_smallest = match self.0.first().map(|interval| &interval.lower) {
            Some(Bound::Unbounded) => true,
            Some(Bound::Excluded(value) | Bound::Included(value)) => **value == Value::Null,
            None => false,
        };
        from_smallest && matches!(self.0.last(), Some(last) if last.upper == Bound::Unbounded)
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = SmallVec::new();
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            both.extend(left.intersection(right));
            if upper_order(&left.upper, &right.upper).is_lt() {
                a.next();
            } else {
                b.next();
            }
        }
        Self(both)
    }

    /// The intersection of numbered sets, and the numbers of the sets that were intersected, in
    /// order: all of them, unless that takes too many steps. `None` if there are no sets.
    pub(crate) fn common(
        mut sets: SmallVec<[(usize, Self); 1]>,
    ) -> Option<(Self, ConjunctPositions)> {
        // The smallest sets first: they leave the fewest intervals for the others.
        sets.sort_by_key(|(_, set)| set.0.len());
        let mut sets = sets.into_iter();
        let (first, mut all) = sets.next()?;
        let (mut used, mut steps): (ConjunctPositions, usize) = (smallvec![first], 0);
        for (number, set) in sets {
            if steps > STEPS_MAX {
                break;
            }
            steps += all.0.len() + set.0.len();
            all = all.intersection(&set);
            used.push(number);
        }
        used.sort_unstable();
        Some((all, used))
    }

    /// The values of a field for which a condition is true, and no others; `None` if the condition
    /// is not on this field alone, or its values are not a set of intervals.
    pub(crate) fn of(condition: &'q Predicate, field: &Field) -> Option<Self> {
        match condition {
            Predicate::Or(parts) => {
                let mut all = SmallVec::new();
                for part in parts {
                    all.extend(Self::of(part, field)?.0);
                }
                Some(Self(all).sorted())
            }
            Predicate::And(parts) => {
                let sets = parts.iter().map(|part| Self::of(part, field)).enumerate();
                let sets: Option<SmallVec<_>> = sets.map(|(at, set)| Some((at, set?))).collect();
                match Self::common(sets?) {
                    None => Some(Self(smallvec![Interval::ALL])),
                    Some((all, used)) => (used.len() == parts.len()).then_some(all),
                }
            }
            test => {
                let tested = tested_field(test)?;
                let is_it = tested.steps == field.steps && tested.kind == field.kind;
                is_it.then(|| Self::of_test(test))?
            }
        }
    }

    /// The values of the [tested field](tested_field) that pass a test, and no others; `None` if
    /// they are not a set of intervals.
    pub(crate) fn of_test(test: &'q Predicate) -> Option<Self> {
        match test {
            Predicate::Compare {
                left,
                operator,
                right,
            } => {
                let (operator, value) = comparison(left, *operator, right)?;
                Some(Self::compared(operator, value))
            }
            Predicate::In { values, .. } => Some(Self::points(values)),
            Predicate::IsNull(_) => Some(Self::null()),
            Predicate::Text {
                operand: Expression::Field(field),
                test,
                pattern,
                ignore_case: false,
            } if field.kind == FieldKind::Text => {
                let text = || Bound::Included(Cow::Owned(Value::Text(pattern.clone())));
                match test {
                    TextTest::Equal => Some(Self::one(text(), text())),
                    TextTest::StartsWith => {
                        let end = after_prefix(pattern).map(Cow::Owned);
                        Some(Self::one(
                            text(),
                            end.map_or(Bound::Unbounded, Bound::Excluded),
                        ))
                    }
                    TextTest::EndsWith | TextTest::Contains | TextTest::Like => None,
                }
            }
            Predicate::Not(inner) => Self::of_failed_test(inner),
            _ => None,
        }
    }

    /// The values for which a test is false.
    fn of_failed_test(test: &'q Predicate) -> Option<Self> {
        match test {
            Predicate::Compare {
                left,
                operator,
                right,
            } => {
                let (operator, value) = comparison(left, *operator, right)?;
                Some(Self::compared(operator.opposite(), value))
            }
            Predicate::IsNull(_) => Some(Self::not_null()),
            Predicate::In { values, .. } if values.len() <= GAPS_MAX => {
                let others = values
                    .iter()
                    .map(|value| Self::compared(Comparison::NotEqual, value));
                Some(others.fold(Self::not_null(), |all, other| all.intersection(&other)))
            }
            Predicate::Not(inner) => Self::of_test(inner),
            _ => None,
        }
    }

    fn null() -> Self {
        Self(smallvec![Interval::point(&Value::Null)])
    }

    fn not_null() -> Self {
        Self::one(above_null(), Bound::Unbounded)
    }

    fn compared(operator: Comparison, value: &'q Value) -> Self {
        if *value == Value::Null {
            return Self(SmallVec::new());
        }
        let value = Cow::Borrowed(value);
        let (included, excluded) = (Bound::Included(value.clone()), Bound::Excluded(value));
        match operator {
            Comparison::Equal => Self::one(included.clone(), included),
            Comparison::NotEqual => {
                let mut both = Self::one(above_null(), excluded.clone());
                both.0.extend(Self::one(excluded, Bound::Unbounded).0);
                both
            }
            Comparison::Less => Self::one(above_null(), excluded),
            Comparison::LessOrEqual => Self::one(above_null(), included),
            Comparison::Greater => Self::one(excluded, Bound::Unbounded),
            Comparison::GreaterOrEqual => Self::one(included, Bound::Unbounded),
        }
    }
}

const fn above_null<'q>() -> Limit<'q> {
    Bound::Excluded(Cow::Borrowed(&Value::Null))
}

/// The field that a condition tests: the condition compares the field with a literal or a list of
/// values, tests it for NULL, or tests its string; or it is the negation of such a test.
pub(crate) fn tested_field(test: &Predicate) -> Option<&Field> {
    match test {
        Predicate::Compare { left, right, .. } => match (left, right) {
            (Expression::Field(field), Expression::Literal(_))
            | (Expression::Literal(_), Expression::Field(field)) => Some(field),
            _ => None,
        },
        Predicate::In { operand, .. }
        | Predicate::IsNull(operand)
        | Predicate::Text { operand, .. } => operand.as_field(),
        Predicate::Not(inner) => tested_field(inner),
        _ => None,
    }
}

/// A comparison with a literal, with the literal on the right.
fn comparison<'q>(
    left: &'q Expression,
    operator: Comparison,
    right: &'q Expression,
) -> Option<(Comparison, &'q Value)> {
    let mirrored = match operator {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same @ (Comparison::Equal | Comparison::NotEqual) => same,
    };
    match (left, right) {
        (_, Expression::Literal(value)) => Some((operator, value)),
        (Expression::Literal(value), _) => Some((mirrored, value)),
        _ => None,
    }
}

/// Whether two intervals overlap. `first` begins no later than `second`.
fn overlap(first: &Interval<'_>, second: &Interval<'_>) -> bool {
    !is_empty(&second.lower, &first.upper)
}

/// The smallest string above all strings with a prefix; `None` if there is none.
fn after_prefix(prefix: &str) -> Option<Value> {
    let mut rest = prefix.chars();
    while let Some(last) = rest.next_back() {
        // The next character; surrogates are not characters.
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            last => char::from_u32(last as u32 + 1),
        };
        if let Some(next) = next {
            return Some(Value::text(&format!("{}{next}", rest.as_str())));
        }
    }
    None
}
