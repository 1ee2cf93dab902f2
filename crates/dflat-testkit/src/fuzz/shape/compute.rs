//! Random conditions with arithmetic at the limits of types, tests of bits, and members of vectors,
//! with an independent implementation of the arithmetic.

use dflat_model::{
    Arithmetic, Comparison, Direction, Domain, Expression, Field, FieldKind, Nulls, Order,
    Predicate, Query, Scalar, TextTest, Value, VectorField, VectorMember,
};

use super::literal::{COMPARISONS, compared, literal};
use super::members::Paths;
use super::tree::{Node, Types, cell, value as to_value};
use crate::fuzz::question::{REALS, TEXTS, WIDES};
use crate::model::{Cell, compare};
use crate::random::Random;

const OPERATORS: [Arithmetic; 6] = [
    Arithmetic::Add,
    Arithmetic::Subtract,
    Arithmetic::Multiply,
    Arithmetic::Divide,
    Arithmetic::Remainder,
    Arithmetic::BitAnd,
];

/// Adds a condition with arithmetic to a query, and sometimes an order.
pub(super) fn computing(mut query: Query, paths: &Paths, random: &mut Random) -> Query {
    let part = part(paths, random);
    let before = query.predicate.take().filter(|_| random.one_in(2));
    query.predicate = Some(match before {
        None => part,
        Some(before) if random.one_in(3) => before.or(part),
        Some(before) => before.and(part),
    });
    if random.one_in(3) {
        let (key, _) = expression(paths, 2, random);
        let order = Order {
            key,
            direction: *random.pick(&[Direction::Ascending, Direction::Descending]),
            nulls: *random.pick(&[Nulls::Smallest, Nulls::Largest]),
        };
        query
            .order
            .insert(random.below(query.order.len() + 1), order);
    }
    query
}

fn part(paths: &Paths, random: &mut Random) -> Predicate {
    let part = match random.below(8) {
        0 | 1 if !paths.vectors.is_empty() => {
            let vector = random.pick(&paths.vectors);
            any(vector, random)
        }
        2 | 3 => bits(paths, random),
        4 => {
            let (left, _) = expression(paths, 2, random);
            Predicate::IsNull(left)
        }
        _ => {
            let (left, is_float) = expression(paths, 2, random);
            let right = limit(is_float, random);
            compared(left, *random.pick(&COMPARISONS), right.into())
        }
    };
    match random.one_in(4) {
        true => Predicate::Not(Box::new(part)),
        false => part,
    }
}

/// Whether all of some bits, or one of them, are set.
fn bits(paths: &Paths, random: &mut Random) -> Predicate {
    let whole = |field: &&Field| matches!(field.kind, FieldKind::Scalar(s) if !s.is_float());
    let fields: Vec<&Field> = paths.fields.iter().filter(whole).collect();
    if fields.is_empty() {
        return Predicate::Constant(random.one_in(2));
    }
    let mask = Value::Int(i64::try_from(random.below(8)).unwrap());
    let masked = Expression::Arithmetic {
        operator: Arithmetic::BitAnd,
        domain: *random.pick(&[Domain::Unsigned, Domain::Unsigned, Domain::Signed]),
        left: Box::new((*random.pick(&fields)).clone().into()),
        right: Box::new(mask.clone().into()),
    };
    match random.one_in(2) {
        true => compared(masked, Comparison::Equal, mask.into()),
        false => compared(masked, Comparison::Greater, Value::Int(0).into()),
    }
}

/// A condition on the members of a vector. The path of a member has no step.
fn any(vector: &VectorField, random: &mut Random) -> Predicate {
    let kind = match vector.member {
        VectorMember::Scalar(scalar) => FieldKind::Scalar(scalar),
        VectorMember::Text => FieldKind::Text,
        other => panic!("{other:?} is not asked for"),
    };
    let member = Field {
        name: "member".into(),
        steps: Vec::new().into(),
        kind,
        default: Value::Null,
    };
    let operand = Expression::from(member.clone());
    let condition = match random.below(4) {
        0 => Predicate::In {
            values: (0..random.below(3))
                .map(|_| literal(&member, random))
                .collect(),
            operand,
        },
        1 if kind == FieldKind::Text => Predicate::Text {
            operand,
            test: *random.pick(&[TextTest::StartsWith, TextTest::Contains]),
            pattern: (*random.pick(&TEXTS)).into(),
            ignore_case: false,
        },
        _ => compared(
            operand,
            *random.pick(&COMPARISONS),
            literal(&member, random).into(),
        ),
    };
    Predicate::Any {
        vector: vector.clone(),
        condition: Box::new(condition),
    }
}

/// A computed expression, and whether its value is a floating-point number.
fn expression(paths: &Paths, depth: usize, random: &mut Random) -> (Expression, bool) {
    let field = random.pick(&paths.fields);
    match random.below(6) {
        0 if field.kind == FieldKind::Text => {
            (Expression::Length(Box::new(field.clone().into())), false)
        }
        1 if !paths.vectors.is_empty() => (
            Expression::Count(random.pick(&paths.vectors).clone()),
            false,
        ),
        2 => {
            let values = (0..random.below(4)).map(|_| literal(field, random));
            let values = values.collect();
            let operand = Box::new(field.clone().into());
            (Expression::Position { operand, values }, false)
        }
        _ => {
            let domain = *random.pick(&[Domain::Signed, Domain::Unsigned, Domain::Float]);
            let limit = |random: &mut Random| limit(domain == Domain::Float, random).into();
            let inner = match depth > 0 && random.one_in(3) {
                true => expression(paths, depth - 1, random).0,
                false => number(paths, domain, random),
            };
            // One side depends on the object.
            let (left, right) = match random.below(3) {
                0 => (inner, limit(random)),
                1 => (limit(random), inner),
                _ => (inner, number(paths, domain, random)),
            };
            let computed = Expression::Arithmetic {
                operator: *random.pick(&OPERATORS),
                domain,
                left: Box::new(left),
                right: Box::new(right),
            };
            (computed, domain == Domain::Float)
        }
    }
}

/// A field with numbers of a domain; sometimes any field, because a value that does not fit is
/// NULL.
fn number(paths: &Paths, domain: Domain, random: &mut Random) -> Expression {
    let fits = |field: &&Field| match field.kind {
        FieldKind::Text => false,
        FieldKind::Scalar(scalar) => match domain {
            Domain::Float => scalar.is_float(),
            Domain::Unsigned => !scalar.is_float(),
            Domain::Signed => {
                matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
            }
        },
    };
    let fitting: Vec<&Field> = paths.fields.iter().filter(fits).collect();
    let field = match fitting.is_empty() || random.one_in(8) {
        true => random.pick(&paths.fields),
        false => *random.pick(&fitting),
    };
    field.clone().into()
}

/// A number that is small, or at the edge of a type.
fn limit(is_float: bool, random: &mut Random) -> Value {
    to_value(&match is_float {
        true => Cell::Real(*random.pick(&REALS)),
        false if random.one_in(3) => Cell::Whole((*random.pick(&WIDES)).into()),
        false => {
            let edges = [i64::MIN, i64::MIN, i64::MIN + 1, -1, 0, 1, 2, i64::MAX];
            Cell::Whole((*random.pick(&edges)).into())
        }
    })
}

/// The value of an expression for an object.
pub(super) fn term(types: Types<'_>, object: &Node, expression: &Expression) -> Cell {
    match expression {
        Expression::Field(field) => types.read(object, field),
        Expression::Literal(value) => cell(value),
        computed => value(types, object, computed),
    }
}

/// The value of an expression.
fn value(types: Types<'_>, object: &Node, expression: &Expression) -> Cell {
    let whole = |number: usize| Cell::Whole(i128::try_from(number).unwrap());
    match expression {
        Expression::Arithmetic {
            operator,
            domain,
            left,
            right,
        } => {
            let (left, right) = (term(types, object, left), term(types, object, right));
            computed(*operator, *domain, &left, &right).unwrap_or(Cell::Missing)
        }
        Expression::Length(operand) => match term(types, object, operand) {
            Cell::Text(text) => whole(text.chars().count()),
            _ => Cell::Missing,
        },
        Expression::Count(vector) => {
            let members = types.members(object, vector);
            members.map_or(Cell::Missing, |members| whole(members.len()))
        }
        Expression::Position { operand, values } => match term(types, object, operand) {
            Cell::Missing => Cell::Missing,
            operand => {
                let is_it = |value: &Value| {
                    let ordering = compare(&operand, &cell(value));
                    ordering.is_some_and(|ordering| ordering.is_eq())
                };
                whole(values.iter().position(is_it).unwrap_or(values.len()))
            }
        },
        Expression::Field(_) | Expression::Literal(_) => term(types, object, expression),
    }
}

/// The result of an operation on two numbers; `None` if there is no result, or none in the domain.
fn computed(operator: Arithmetic, domain: Domain, left: &Cell, right: &Cell) -> Option<Cell> {
    if domain == Domain::Float {
        let (left, right) = (real(left)?, real(right)?);
        let result = match operator {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide if right == 0.0 => return None,
            Arithmetic::Divide => left / right,
            Arithmetic::Remainder => left % right,
            Arithmetic::BitAnd => return None,
        };
        let has_overflown = result.is_infinite() && left.is_finite() && right.is_finite();
        return (!result.is_nan() && !has_overflown).then_some(Cell::Real(result));
    }
    let has = |number: &i128| match domain {
        Domain::Signed => i64::try_from(*number).is_ok(),
        _ => u64::try_from(*number).is_ok(),
    };
    let (Cell::Whole(left), Cell::Whole(right)) = (left, right) else {
        return None;
    };
    if !has(left) || !has(right) {
        return None;
    }
    let result = match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        // A product that overflows `i128` is too large for both integer domains.
        Arithmetic::Multiply => left.checked_mul(*right)?,
        Arithmetic::Divide => left.checked_div(*right)?,
        Arithmetic::Remainder => left.checked_rem(*right)?,
        Arithmetic::BitAnd => left & right,
    };
    Some(result).filter(has).map(Cell::Whole)
}

fn real(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Whole(number) => Some(*number as f64),
        Cell::Real(number) => Some(*number),
        Cell::Text(_) | Cell::Missing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_values_respect_the_limits_of_their_domains() {
        let (least, most) = (Cell::Whole(i64::MIN.into()), Cell::Whole(i64::MAX.into()));
        let one = Cell::Whole(-1);
        let signed = |operator, left, right| computed(operator, Domain::Signed, left, right);
        assert_eq!(signed(Arithmetic::Divide, &least, &one), None);
        assert_eq!(
            signed(Arithmetic::Remainder, &least, &one),
            Some(Cell::Whole(0))
        );
        assert_eq!(signed(Arithmetic::Subtract, &most, &one), None);
        let unsigned = computed(Arithmetic::Add, Domain::Unsigned, &most, &most);
        assert_eq!(unsigned, Some(Cell::Whole(i128::from(i64::MAX) * 2)));
        let nothing = Cell::Whole(0);
        assert_eq!(signed(Arithmetic::Divide, &most, &nothing), None);
        assert_eq!(
            computed(Arithmetic::Divide, Domain::Float, &most, &nothing),
            None
        );
    }
}
