//! Predicates prepared for evaluation on many rows.
//!
//! Most conditions compare a field of a table with a literal. Their paths and literals are prepared
//! once. All other predicates are evaluated as by [`evaluate`](super::evaluate()), with the same
//! results.

use std::convert::Infallible;

use dflat_model::{
    Comparison, Expression, Field, FieldKind, Predicate, Scalar, Step, Value, ValueRef,
};

use super::evaluate::{Visits, holds};
use super::list::ListTest;
use super::truth::{Truth, combine};
use crate::object::{Malformed, Scope, TableView, scalar_value, whole_value};

/// A predicate prepared for evaluation on many rows.
#[derive(Debug)]
pub struct Condition<'p>(Node<'p>);

#[derive(Debug)]
enum Node<'p> {
    Range(IntegerRange),
    Compare(FieldCompare<'p>),
    In(Box<ListTest<'p>>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Other(&'p Predicate),
}

/// The path to a value that is a field of a table.
#[derive(Debug, PartialEq, Eq)]
struct Path {
    /// The steps from the root table to that table.
    way: Vec<TableStep>,
    voffset: u16,
}

/// A step from one table to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableStep {
    /// To a nested table.
    Table(u16),
    /// To the table that a union holds, if the union has this type code.
    Member(u16, u8),
}

/// A test whether an integer field lies in a range, or outside of it.
#[derive(Debug)]
struct IntegerRange {
    path: Path,
    scalar: Scalar,
    /// The ends, which belong to the range. They have room for any 64-bit integer, signed or not,
    /// and for the numbers next to it.
    min: i128,
    max: i128,
    inside: bool,
    /// The answer if the value is absent.
    absent: Option<bool>,
}

/// A comparison of a field with a literal.
#[derive(Debug)]
struct FieldCompare<'p> {
    path: Path,
    kind: FieldKind,
    operator: Comparison,
    literal: ValueRef<'p>,
    /// The answer if the value is absent.
    absent: Option<bool>,
}

impl<'p> Condition<'p> {
    /// Prepares a predicate.
    #[must_use]
    pub fn new(predicate: &'p Predicate) -> Self {
        Self(Node::new(predicate))
    }

    /// Whether a payload, verified or not, meets the predicate.
    ///
    /// # Errors
    /// If a value that the result depends on cannot be read.
    #[inline]
    pub fn holds(&self, payload: &[u8]) -> Truth {
        self.0.holds(TableView::root(payload)?)
    }
}

impl<'p> Node<'p> {
    fn new(predicate: &'p Predicate) -> Self {
        match predicate {
            Predicate::Compare {
                left: Expression::Field(field),
                operator,
                right: Expression::Literal(literal),
            } => compare(field, *operator, literal).unwrap_or(Self::Other(predicate)),
            Predicate::In { operand, values } => Self::In(Box::new(ListTest::new(operand, values))),
            Predicate::And(parts) => {
                let mut nodes: Vec<Self> = Vec::with_capacity(parts.len());
                for part in parts {
                    let node = Self::new(part);
                    let narrowed = match (nodes.last_mut(), &node) {
                        (Some(Self::Range(before)), Self::Range(range)) => before.narrow(range),
                        _ => false,
                    };
                    if !narrowed {
                        nodes.push(node);
                    }
                }
                match <[Self; 1]>::try_from(nodes) {
                    Ok([only]) => only,
                    Err(nodes) => Self::And(nodes),
                }
            }
            Predicate::Or(parts) => Self::Or(parts.iter().map(Self::new).collect()),
            Predicate::Not(inner) => Self::Not(Box::new(Self::new(inner))),
            other => Self::Other(other),
        }
    }

    #[inline]
    fn holds(&self, root: TableView<'_>) -> Truth {
        match self {
            Self::Range(range) => range.holds(root),
            composed => composed.holds_composed(root),
        }
    }

    fn holds_composed(&self, root: TableView<'_>) -> Truth {
        match self {
            Self::Range(range) => range.holds(root),
            Self::Compare(compare) => compare.holds(root),
            Self::In(members) => members.holds(root),
            Self::And(parts) => combine(false, parts.iter().map(|part| part.holds(root))),
            Self::Or(parts) => combine(true, parts.iter().map(|part| part.holds(root))),
            Self::Not(inner) => Ok(inner.holds(root)?.map(|truth| !truth)),
            Self::Other(predicate) => {
                let visits = Visits::new(root.buffer());
                holds(predicate, Scope::from(root), &visits)
            }
        }
    }
}

/// The comparison of a field of a table; `None` for other values, such as members of structs.
fn compare<'p>(field: &Field, operator: Comparison, literal: &'p Value) -> Option<Node<'p>> {
    let path = Path::new(&field.steps)?;
    let literal = literal.as_ref();
    let default = match field.default.as_ref() {
        ValueRef::Float(value) => ValueRef::from_f64(value),
        default => default,
    };
    let absent = default.compare(literal).map(|o| operator.accepts(o));
    if let (FieldKind::Scalar(scalar), Some(number)) = (field.kind, whole(literal))
        && !scalar.is_float()
    {
        let (min, max) = match operator {
            Comparison::Equal | Comparison::NotEqual => (number, number),
            Comparison::Less => (i128::MIN, number - 1),
            Comparison::LessOrEqual => (i128::MIN, number),
            Comparison::Greater => (number + 1, i128::MAX),
            Comparison::GreaterOrEqual => (number, i128::MAX),
        };
        return Some(Node::Range(IntegerRange {
            path,
            scalar,
            min,
            max,
            inside: operator != Comparison::NotEqual,
            absent,
        }));
    }
    Some(Node::Compare(FieldCompare {
        path,
        kind: field.kind,
        operator,
        literal,
        absent,
    }))
}

fn whole(value: ValueRef<'_>) -> Option<i128> {
    match value {
        ValueRef::Int(value) => Some(value.into()),
        ValueRef::UInt(value) => Some(value.into()),
        _ => None,
    }
}

impl Path {
    /// The path of these steps, if they lead only through tables and unions of tables.
    fn new(steps: &[Step]) -> Option<Self> {
        let (last, mut before) = steps.split_last()?;
        let Step::Field(voffset) = *last else {
            return None;
        };
        let mut way = Vec::new();
        while let [Step::Field(container), rest @ ..] = before {
            before = rest;
            way.push(match before {
                [Step::Member(code), rest @ ..] if *container >= 2 => {
                    before = rest;
                    TableStep::Member(*container, *code)
                }
                _ => TableStep::Table(*container),
            });
        }
        before.is_empty().then_some(Self { way, voffset })
    }

    /// Applies `holds` to the table that the value belongs to; UNKNOWN if a table on the way is
    /// absent.
    #[inline]
    fn decide<'a>(&self, root: TableView<'a>, holds: impl Fn(TableView<'a>) -> Truth) -> Truth {
        if self.way.is_empty() {
            return holds(root);
        }
        self.walk(root)?.map_or(Ok(None), holds)
    }

    fn walk<'a>(&self, mut table: TableView<'a>) -> Result<Option<TableView<'a>>, Malformed> {
        for hop in &self.way {
            let next = match *hop {
                TableStep::Table(voffset) => table.table(voffset)?,
                TableStep::Member(voffset, code) => match table.union(voffset)? {
                    Some(union) if union.code == code => Some(union.table()?),
                    _ => None,
                },
            };
            match next {
                None => return Ok(None),
                Some(next) => table = next,
            }
        }
        Ok(Some(table))
    }
}

impl IntegerRange {
    /// Narrows this range to its intersection with another. Returns false, and changes nothing, if
    /// they are not ranges of the same field.
    fn narrow(&mut self, other: &Self) -> bool {
        let same = self.path == other.path && self.scalar == other.scalar;
        if !(same && self.inside && other.inside) {
            return false;
        }
        self.min = self.min.max(other.min);
        self.max = self.max.min(other.max);
        let Ok(absent) = combine::<Infallible>(false, [Ok(self.absent), Ok(other.absent)]);
        self.absent = absent;
        true
    }

    #[inline]
    fn holds(&self, root: TableView<'_>) -> Truth {
        self.path.decide(root, |table| self.holds_in(table))
    }

    #[inline]
    fn holds_in(&self, table: TableView<'_>) -> Truth {
        let Some(bytes) = table.structure_from(self.path.voffset, 0)? else {
            return Ok(self.absent);
        };
        let value = whole_value(self.scalar, bytes).ok_or(Malformed)?;
        Ok(Some(
            (self.min <= value && value <= self.max) == self.inside,
        ))
    }
}

impl FieldCompare<'_> {
    fn holds(&self, root: TableView<'_>) -> Truth {
        self.path.decide(root, |table| self.holds_in(table))
    }

    #[inline]
    fn holds_in(&self, table: TableView<'_>) -> Truth {
        let value = match self.kind {
            FieldKind::Text => table.text(self.path.voffset)?.map(ValueRef::Text),
            FieldKind::Scalar(scalar) => match table.structure_from(self.path.voffset, 0)? {
                None => None,
                Some(bytes) => Some(scalar_value(scalar, bytes).ok_or(Malformed)?),
            },
        };
        let Some(value) = value else {
            return Ok(self.absent);
        };
        let ordering = value.compare(self.literal);
        Ok(ordering.map(|ordering| self.operator.accepts(ordering)))
    }
}
