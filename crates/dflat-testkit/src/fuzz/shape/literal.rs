//! Random comparisons with literal values.

use dflat_model::{Comparison, Expression, Field, FieldKind, Predicate, Value};

use super::tree::{number, value};
use crate::fuzz::question::TEXTS;
use crate::model::Cell;
use crate::random::Random;

pub(super) const COMPARISONS: [Comparison; 7] = [
    Comparison::Equal,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

pub(super) fn compared(left: Expression, operator: Comparison, right: Expression) -> Predicate {
    Predicate::Compare {
        left,
        operator,
        right,
    }
}

/// A value to compare a field with; NULL only in the form of NaN.
pub(super) fn literal(field: &Field, random: &mut Random) -> Value {
    value(&match field.kind {
        FieldKind::Text => Cell::Text((*random.pick(&TEXTS)).to_owned()),
        FieldKind::Scalar(scalar) => number(scalar, random),
    })
}
