//! Sets of values, as intervals of the total order of values.

use std::cmp::Ordering;
use std::ops::Bound;

use dflat_model::{Comparison, Expression, Field, FieldKind, Predicate, TextTest, Value};

/// A set of values that lie together: NULL is the smallest value, so that no lower bound takes it
/// in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) lower: Bound<Value>,
    pub(super) upper: Bound<Value>,
}

impl Interval {
    pub(super) const ALL: Self = Self {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };

    fn point(value: Value) -> Self {
        Self {
            lower: Bound::Included(value.clone()),
            upper: Bound::Included(value),
        }
    }

    /// The only value, if it has just one.
    pub(super) fn only(&self) -> Option<&Value> {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper))
                if lower.as_ref().order(upper.as_ref()).is_eq() =>
            {
                Some(lower)
            }
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (_, Bound::Excluded(Value::Null)) => true,
            (Bound::Included(lower), Bound::Included(upper)) => {
                lower.as_ref().order(upper.as_ref()).is_gt()
            }
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower.as_ref().order(upper.as_ref()).is_ge(),
            _ => false,
        }
    }

    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let lower = match lower_order(&self.lower, &other.lower) {
            Ordering::Less => other.lower.clone(),
            _ => self.lower.clone(),
        };
        let upper = match upper_order(&self.upper, &other.upper) {
            Ordering::Greater => other.upper.clone(),
            _ => self.upper.clone(),
        };
        Some(Self { lower, upper }).filter(|both| !both.is_empty())
    }
}

/// Which lower bound comes first.
fn lower_order(a: &Bound<Value>, b: &Bound<Value>) -> Ordering {
    let key = |bound: &Bound<Value>| match bound {
        Bound::Unbounded => (Value::Null, 0),
        Bound::Included(value) => (value.clone(), 0),
        Bound::Excluded(value) => (value.clone(), 1),
    };
    let ((a, a_side), (b, b_side)) = (key(a), key(b));
    a.as_ref().order(b.as_ref()).then(a_side.cmp(&b_side))
}

/// Which upper bound comes first.
fn upper_order(a: &Bound<Value>, b: &Bound<Value>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (
            Bound::Included(left) | Bound::Excluded(left),
            Bound::Included(right) | Bound::Excluded(right),
        ) => {
            let side = |bound: &Bound<Value>| i32::from(matches!(bound, Bound::Included(_)));
            let ordering = left.as_ref().order(right.as_ref());
            ordering.then(side(a).cmp(&side(b)))
        }
    }
}

/// A set of values: intervals in order that have no value in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set(pub(super) Vec<Interval>);

/// Values that `not in` leaves out beyond which it is no range any more.
const GAPS_MAX: usize = 8;

/// Intervals that are looked at to find what sets have in common, beyond which further sets are
/// left to be checked row by row.
const STEPS_MAX: usize = 65_536;

impl Set {
    fn one(lower: Bound<Value>, upper: Bound<Value>) -> Self {
        let interval = Interval { lower, upper };
        Self(if interval.is_empty() {
            Vec::new()
        } else {
            vec![interval]
        })
    }

    fn points(values: &[Value]) -> Self {
        let known = values.iter().filter(|value| **value != Value::Null);
        Self(known.cloned().map(Interval::point).collect()).sorted()
    }

    /// Puts intervals in order and joins those that overlap.
    fn sorted(mut self) -> Self {
        self.0.sort_by(|a, b| lower_order(&a.lower, &b.lower));
        let mut joined: Vec<Interval> = Vec::with_capacity(self.0.len());
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

    /// Whether it reaches from the smallest value to the largest.
    pub(super) fn is_wide(&self) -> bool {
        let from = self.0.first().map(|interval| &interval.lower);
        let to = self.0.last().map(|interval| &interval.upper);
        matches!(
            from,
            Some(Bound::Unbounded | Bound::Excluded(Value::Null) | Bound::Included(Value::Null))
        ) && matches!(to, Some(Bound::Unbounded))
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
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

    /// The values that numbered sets have in common, and the numbers of the sets that this was
    /// worth it for, in order; `None` if there is no set.
    pub(super) fn common(mut sets: Vec<(usize, Self)>) -> Option<(Self, Vec<usize>)> {
        // The smallest first, which leave the least to do for others.
        sets.sort_by_key(|(_, set)| set.0.len());
        let mut sets = sets.into_iter();
        let (first, mut all) = sets.next()?;
        let (mut used, mut steps) = (vec![first], 0);
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
    /// is not on this field alone, or not on its value.
    pub(super) fn of(condition: &Predicate, field: &Field) -> Option<Self> {
        let is_field = |expression: &Expression| {
            expression
                .as_field()
                .is_some_and(|other| other.steps == field.steps && other.kind == field.kind)
        };
        match condition {
            Predicate::Compare {
                left,
                operator,
                right: Expression::Literal(value),
            } if is_field(left) => Some(Self::compared(*operator, value)),
            Predicate::In { operand, values } if is_field(operand) => Some(Self::points(values)),
            Predicate::IsNull(operand) if is_field(operand) => {
                Some(Self(vec![Interval::point(Value::Null)]))
            }
            Predicate::Text {
                operand,
                test: TextTest::StartsWith,
                pattern,
                ignore_case: false,
            } if is_field(operand) && field.kind == FieldKind::Text => Some(Self::one(
                Bound::Included(Value::Text(pattern.clone())),
                after_prefix(pattern).map_or(Bound::Unbounded, Bound::Excluded),
            )),
            Predicate::Or(parts) => {
                let sets: Option<Vec<Self>> = parts.iter().map(|p| Self::of(p, field)).collect();
                Some(Self(sets?.into_iter().flat_map(|set| set.0).collect()).sorted())
            }
            Predicate::And(parts) => {
                let sets = parts.iter().map(|part| Self::of(part, field)).enumerate();
                let sets: Option<Vec<_>> = sets.map(|(at, set)| Some((at, set?))).collect();
                match Self::common(sets?) {
                    None => Some(Self(vec![Interval::ALL])),
                    Some((all, used)) => (used.len() == parts.len()).then_some(all),
                }
            }
            Predicate::Not(inner) => Self::negated(inner, field, &is_field),
            _ => None,
        }
    }

    fn negated(
        condition: &Predicate,
        field: &Field,
        is_field: &dyn Fn(&Expression) -> bool,
    ) -> Option<Self> {
        match condition {
            Predicate::Compare {
                left,
                operator,
                right: Expression::Literal(value),
            } if is_field(left) => Some(Self::compared(operator.opposite(), value)),
            Predicate::IsNull(operand) if is_field(operand) => Some(Self::not_null()),
            Predicate::In { operand, values } if is_field(operand) && values.len() <= GAPS_MAX => {
                let others = values
                    .iter()
                    .map(|value| Self::compared(Comparison::NotEqual, value));
                Some(others.fold(Self::not_null(), |all, other| all.intersection(&other)))
            }
            Predicate::Not(inner) => Self::of(inner, field),
            _ => None,
        }
    }

    fn not_null() -> Self {
        Self::one(Bound::Excluded(Value::Null), Bound::Unbounded)
    }

    fn compared(operator: Comparison, value: &Value) -> Self {
        let not_null = Bound::Excluded(Value::Null);
        let (included, excluded) = (
            Bound::Included(value.clone()),
            Bound::Excluded(value.clone()),
        );
        if *value == Value::Null {
            return Self(Vec::new());
        }
        match operator {
            Comparison::Equal => Self(vec![Interval::point(value.clone())]),
            Comparison::NotEqual => {
                let below = Self::one(not_null, excluded.clone());
                let above = Self::one(excluded, Bound::Unbounded);
                Self(below.0.into_iter().chain(above.0).collect())
            }
            Comparison::Less => Self::one(not_null, excluded),
            Comparison::LessOrEqual => Self::one(not_null, included),
            Comparison::Greater => Self::one(excluded, Bound::Unbounded),
            Comparison::GreaterOrEqual => Self::one(included, Bound::Unbounded),
        }
    }
}

/// Whether an interval begins before another that comes first in order has ended.
fn overlap(first: &Interval, second: &Interval) -> bool {
    let both = Interval {
        lower: second.lower.clone(),
        upper: first.upper.clone(),
    };
    !both.is_empty()
}

/// The smallest string above all that begin with a prefix; `None` if there is none.
fn after_prefix(prefix: &str) -> Option<Value> {
    let mut rest = prefix.chars();
    while let Some(last) = rest.next_back() {
        // The next character; surrogates are none.
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
