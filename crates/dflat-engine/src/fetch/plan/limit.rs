//! The bounds of intervals, and their order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Bound;

use dflat_model::Value;

/// A bound of an interval: a value of the query, or one made of it.
pub(super) type Limit<'q> = Bound<Cow<'q, Value>>;

pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    a.as_ref().order(b.as_ref())
}

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

/// Which lower bound comes first.
pub(super) fn lower_order(a: &Limit<'_>, b: &Limit<'_>) -> Ordering {
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

/// Which upper bound comes first.
pub(super) fn upper_order(a: &Limit<'_>, b: &Limit<'_>) -> Ordering {
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
