//! What of a condition an index of live queries can use: values that a field must have.

use std::cmp::Ordering;

use dflat_model::{Comparison, Expression, Field, Predicate, TextTest, Value, ValueRef};

/// Values between two ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) low: Value,
    /// Whether the low end belongs to it.
    pub(super) from_low: bool,
    /// `None` for no end.
    pub(super) high: Option<Value>,
    pub(super) to_high: bool,
}

impl Interval {
    fn point(value: &Value) -> Self {
        Self {
            low: value.clone(),
            from_low: true,
            high: Some(value.clone()),
            to_high: true,
        }
    }

    /// Values above an end; none of them is NULL.
    fn above(low: Value, from_low: bool) -> Self {
        Self {
            low,
            from_low,
            high: None,
            to_high: false,
        }
    }

    fn below(high: &Value, to_high: bool) -> Self {
        Self {
            high: Some(high.clone()),
            to_high,
            ..Self::above(Value::Null, false)
        }
    }

    pub(super) fn is_point(&self) -> bool {
        let high = self.high.as_ref().filter(|_| self.from_low && self.to_high);
        high.is_some_and(|high| high.as_ref().order(self.low.as_ref()).is_eq())
    }

    /// Whether a value does not come before the low end.
    pub(super) fn starts_before(&self, value: ValueRef<'_>) -> bool {
        match self.low.as_ref().order(value) {
            Ordering::Less => true,
            Ordering::Equal => self.from_low,
            Ordering::Greater => false,
        }
    }

    /// Whether a value does not come after the high end.
    pub(super) fn ends_after(&self, value: ValueRef<'_>) -> bool {
        let Some(high) = &self.high else { return true };
        match high.as_ref().order(value) {
            Ordering::Greater => true,
            Ordering::Equal => self.to_high,
            Ordering::Less => false,
        }
    }

    pub(super) fn contains(&self, value: ValueRef<'_>) -> bool {
        self.starts_before(value) && self.ends_after(value)
    }

    /// The values in both.
    fn intersect(&mut self, other: &Self) {
        let order = self.low.as_ref().order(other.low.as_ref());
        if order.is_lt() || (order.is_eq() && self.from_low) {
            (self.low, self.from_low) = (other.low.clone(), other.from_low);
        }
        let Some(end) = &other.high else { return };
        let order = self
            .high
            .as_ref()
            .map(|high| high.as_ref().order(end.as_ref()));
        match order {
            Some(Ordering::Less) => {}
            Some(Ordering::Equal) => self.to_high &= other.to_high,
            Some(Ordering::Greater) | None => {
                (self.high, self.to_high) = (Some(end.clone()), other.to_high);
            }
        }
    }
}

/// A field whose value must be in an interval.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub(super) field: Field,
    pub(super) interval: Interval,
}

/// An object that meets a condition is in one of these intervals at least.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) atoms: Vec<Atom>,
    /// Whether every object that is in one meets the condition.
    pub(super) exact: bool,
}

/// Conditions with more alternatives are not taken apart.
const ATOMS_MAX: usize = 65_536;

/// The anchor of a condition, if it has one.
pub(super) fn anchor(predicate: &Predicate) -> Option<Anchor> {
    let exact = |atoms| Some(Anchor { atoms, exact: true });
    match predicate {
        Predicate::Constant(false) => exact(Vec::new()),
        Predicate::Compare {
            left,
            operator,
            right,
        } => exact(match (left, right) {
            (Expression::Field(field), Expression::Literal(value)) => {
                compared(field, *operator, value)?
            }
            (Expression::Literal(value), Expression::Field(field)) => {
                compared(field, mirrored(*operator), value)?
            }
            _ => return None,
        }),
        Predicate::In { operand, values } if values.len() <= ATOMS_MAX => {
            let field = operand.as_field()?;
            let values = values.iter().filter(|value| !value.as_ref().is_null());
            exact(
                values
                    .map(|value| atom(field, Interval::point(value)))
                    .collect(),
            )
        }
        Predicate::IsNull(operand) => exact(vec![atom(
            operand.as_field()?,
            Interval::point(&Value::Null),
        )]),
        Predicate::Text {
            operand,
            test,
            pattern,
            ignore_case: false,
        } => {
            let interval = match test {
                TextTest::Equal => Interval::point(&Value::text(pattern)),
                TextTest::StartsWith => beginning_with(pattern),
                _ => return None,
            };
            exact(vec![atom(operand.as_field()?, interval)])
        }
        Predicate::And(parts) => all_of(parts),
        Predicate::Or(parts) => {
            let mut union = Anchor {
                atoms: Vec::new(),
                exact: true,
            };
            for part in parts {
                let part = anchor(part)?;
                union.exact &= part.exact;
                union.atoms.extend(part.atoms);
            }
            (union.atoms.len() <= ATOMS_MAX).then_some(union)
        }
        _ => None,
    }
}

fn atom(field: &Field, interval: Interval) -> Atom {
    let field = field.clone();
    Atom { field, interval }
}

fn mirrored(operator: Comparison) -> Comparison {
    match operator {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

fn compared(field: &Field, operator: Comparison, value: &Value) -> Option<Vec<Atom>> {
    if value.as_ref().is_null() {
        // What is compared with NULL is never true.
        return Some(Vec::new());
    }
    let interval = match operator {
        Comparison::Equal => Interval::point(value),
        Comparison::NotEqual => return None,
        Comparison::Less => Interval::below(value, false),
        Comparison::LessOrEqual => Interval::below(value, true),
        Comparison::Greater => Interval::above(value.clone(), false),
        Comparison::GreaterOrEqual => Interval::above(value.clone(), true),
    };
    Some(vec![atom(field, interval)])
}

fn beginning_with(pattern: &str) -> Interval {
    let mut interval = Interval::above(Value::text(pattern), true);
    let mut end: Vec<char> = pattern.chars().collect();
    while let Some(last) = end.pop() {
        // The order of strings is that of their characters.
        let mut following = (last..=char::MAX).skip(1);
        if let Some(next) = following.next() {
            let end: String = end.into_iter().chain([next]).collect();
            interval.high = Some(Value::text(&end));
            break;
        }
    }
    interval
}

/// The anchor of a conjunction: that of the part that says most, with all that others say of its
/// field.
fn all_of(parts: &[Predicate]) -> Option<Anchor> {
    let anchors: Vec<Option<Anchor>> = parts.iter().map(anchor).collect();
    let known = anchors.iter().enumerate();
    let best = known.filter_map(|(at, anchor)| Some((at, anchor.as_ref()?)));
    let (at, best) = best.min_by_key(|(_, anchor)| width(anchor))?;
    let mut best = best.clone();
    for other in anchors
        .iter()
        .enumerate()
        .filter_map(|(i, a)| (i != at).then_some(a))
    {
        let single = other
            .as_ref()
            .filter(|other| other.exact)
            .map(|other| other.atoms.as_slice());
        match (best.atoms.as_mut_slice(), single) {
            ([mine], Some([other])) if mine.field == other.field => {
                mine.interval.intersect(&other.interval);
            }
            _ => best.exact = false,
        }
    }
    Some(best)
}

/// How much an anchor lets through, as far as can be told from it.
fn width(anchor: &Anchor) -> (u8, usize) {
    let of = |interval: &Interval| match &interval.high {
        _ if interval.low == Value::Null && interval.from_low => 2,
        _ if interval.is_point() => 0,
        Some(_) if interval.low != Value::Null => 1,
        _ => 3,
    };
    let widest = anchor.atoms.iter().map(|atom| of(&atom.interval)).max();
    (widest.unwrap_or_default(), anchor.atoms.len())
}
