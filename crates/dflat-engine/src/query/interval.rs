//! Intervals of the total order of values, in which NULL is the smallest.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Bound;

use dflat_model::{Value, ValueRef};

/// A bound of an interval. It borrows from a query where it can: a query is planned each time it is
/// run.
pub(crate) type Limit<'q> = Bound<Cow<'q, Value>>;

/// The values between two bounds. If the lower bound is unbounded, NULL is in the interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interval<'q> {
    pub(crate) lower: Limit<'q>,
    pub(crate) upper: Limit<'q>,
}

impl<'q> Interval<'q> {
    pub(crate) const ALL: Self = Self {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };

    /// One value.
    pub(crate) const fn point(value: &'q Value) -> Self {
        Self {
            lower: Bound::Included(Cow::Borrowed(value)),
            upper: Bound::Included(Cow::Borrowed(value)),
        }
    }

    /// The value, if the interval has only one.
    pub(crate) fn only(&self) -> Option<&Cow<'q, Value>> {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if order(lower, upper).is_eq() => {
                Some(lower)
            }
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        is_empty(&self.lower, &self.upper)
    }

    /// The same interval of whole numbers, with excluded bounds turned into included ones: above 2
    /// becomes from 3.
    pub(crate) fn of_whole_numbers(self) -> Self {
        let next = |bound: Limit<'q>, by: i64| match &bound {
            Bound::Excluded(value) => match **value {
                Value::Int(number) => number.checked_add(by).map_or(bound, |number| {
                    Bound::Included(Cow::Owned(Value::Int(number)))
                }),
                _ => bound,
            },
            _ => bound,
        };
        Self {
            lower: next(self.lower, 1),
            upper: next(self.upper, -1),
        }
    }

    /// The values in both intervals; `None` if there are none.
    pub(crate) fn intersection(&self, other: &Self) -> Option<Self> {
        let lower = match lower_order(&self.lower, &other.lower) {
            Ordering::Less => &other.lower,
            _ => &self.lower,
        };
        let upper = match upper_order(&self.upper, &other.upper) {
            Ordering::Greater => &other.upper,
            _ => &self.upper,
        };
        (!is_empty(lower, upper)).then(|| Self {
            lower: lower.clone(),
            upper: upper.clone(),
        })
    }

    /// Whether all values of another interval are in this one.
    pub(crate) fn covers(&self, other: &Interval<'_>) -> bool {
        lower_order(&self.lower, &other.lower).is_le()
            && upper_order(&self.upper, &other.upper).is_ge()
    }

    /// Whether a value is not below the lower bound.
    #[inline]
    pub(crate) fn starts_before(&self, value: ValueRef<'_>) -> bool {
        match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => lower.as_ref().as_ref().order(value).is_le(),
            Bound::Excluded(lower) => lower.as_ref().as_ref().order(value).is_lt(),
        }
    }

    /// Whether a value is not above the upper bound.
    #[inline]
    pub(crate) fn ends_after(&self, value: ValueRef<'_>) -> bool {
        match &self.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => upper.as_ref().as_ref().order(value).is_ge(),
            Bound::Excluded(upper) => upper.as_ref().as_ref().order(value).is_gt(),
        }
    }

    pub(crate) fn contains(&self, value: ValueRef<'_>) -> bool {
        self.starts_before(value) && self.ends_after(value)
    }

    /// A copy that borrows from no query.
    pub(crate) fn to_owned(&self) -> Interval<'static> {
        let owned = |bound: &Limit<'q>| bound.as_ref().map(|value| Cow::Owned(Value::clone(value)));
        Interval {
            lower: owned(&self.lower),
            upper: owned(&self.upper),
        }
    }
}

fn order(a: &Value, b: &Value) -> Ordering {
    a.as_ref().order(b.as_ref())
}

/// Whether no value lies between two bounds.
pub(super) fn is_empty(lower: &Limit<'_>, upper: &Limit<'_>) -> bool {
    match (lower, upper) {
        (_, Bound::Excluded(upper)) if **upper == Value::Null => true,
        (Bound::Included(lower), Bound::Included(upper)) => order(lower, upper).is_gt(),
        (
            Bound::Included(lower) | Bound::Excluded(lower),
            Bound::Included(upper) | Bound::Excluded(upper),
        ) => order(lower, upper).is_ge(),
        _ => false,
    }
}

/// The order of two lower bounds.
pub(crate) fn lower_order(a: &Limit<'_>, b: &Limit<'_>) -> Ordering {
    fn key<'k>(bound: &'k Limit<'_>) -> (&'k Value, u8) {
        match bound {
            Bound::Unbounded => (&Value::Null, 0),
            Bound::Included(value) => (value, 0),
            Bound::Excluded(value) => (value, 1),
        }
    }
    let ((a, a_side), (b, b_side)) = (key(a), key(b));
    order(a, b).then(a_side.cmp(&b_side))
}

/// The order of two upper bounds.
pub(crate) fn upper_order(a: &Limit<'_>, b: &Limit<'_>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (
            Bound::Included(left) | Bound::Excluded(left),
            Bound::Included(right) | Bound::Excluded(right),
        ) => {
            let side = |bound: &Limit<'_>| i32::from(matches!(bound, Bound::Included(_)));
            order(left, right).then(side(a).cmp(&side(b)))
        }
    }
}
