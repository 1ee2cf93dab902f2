//! Random queries on any paths, answered by an independent implementation of the rules.

use std::cmp::Ordering;

use dflat_model::{
    Comparison, Direction, Expression, Field, FieldKind, Nulls, Order, Predicate, Query, TextTest,
};

use super::compute::term;
use super::literal::{COMPARISONS, compared, literal};
use super::tree::{Node, Types, cell};
use crate::fuzz::question::TEXTS;
use crate::model::{Cell, among, compare, stand};
use crate::random::Random;

/// A query on a few paths, so that its result is not empty.
pub(super) fn query(paths: &[Field], random: &mut Random) -> Query {
    let few: Vec<&Field> = (0..1 + random.below(3))
        .map(|_| random.pick(paths))
        .collect();
    let mut order = Vec::new();
    for _ in 0..random.below(4) {
        order.push(Order {
            key: (*random.pick(&few)).clone().into(),
            direction: *random.pick(&[Direction::Ascending, Direction::Descending]),
            nulls: *random.pick(&[Nulls::Smallest, Nulls::Smallest, Nulls::Largest]),
        });
    }
    let mut predicate = None;
    for _ in 0..random.below(5) {
        let part = part(&few, paths, 2, random);
        predicate = Some(match predicate {
            None => part,
            Some(before) => Predicate::and(before, part),
        });
    }
    Query {
        predicate,
        order,
        after: None,
        offset: if random.one_in(4) { random.below(4) } else { 0 },
        limit: match random.below(6) {
            0 => Some(0),
            1 | 2 => Some(1 + random.below(5)),
            3 => Some(40),
            _ => None,
        },
    }
}

fn part(few: &[&Field], paths: &[Field], depth: usize, random: &mut Random) -> Predicate {
    let field = *random.pick(few);
    let operand = || Expression::from(field.clone());
    let operator = *random.pick(&COMPARISONS);
    match random.below(if depth == 0 { 13 } else { 17 }) {
        0..6 => compared(operand(), operator, literal(field, random).into()),
        6 | 7 => Predicate::In {
            operand: operand(),
            values: (0..random.below(6))
                .map(|_| literal(field, random))
                .collect(),
        },
        8 => Predicate::IsNull(operand()),
        9 => Predicate::Not(Box::new(Predicate::IsNull(operand()))),
        10 if field.kind == FieldKind::Text => Predicate::Text {
            operand: operand(),
            test: *random.pick(&[
                TextTest::StartsWith,
                TextTest::StartsWith,
                TextTest::Contains,
            ]),
            pattern: (*random.pick(&TEXTS)).into(),
            ignore_case: false,
        },
        10 | 11 => {
            let from = compared(
                operand(),
                Comparison::GreaterOrEqual,
                literal(field, random).into(),
            );
            from.and(compared(
                operand(),
                Comparison::Less,
                literal(field, random).into(),
            ))
        }
        12 => {
            let same: Vec<&Field> = paths
                .iter()
                .filter(|path| path.kind == field.kind)
                .collect();
            compared(operand(), operator, (*random.pick(&same)).clone().into())
        }
        13 => part(few, paths, depth - 1, random).and(part(few, paths, depth - 1, random)),
        14 | 15 => part(few, paths, depth - 1, random).or(part(few, paths, depth - 1, random)),
        _ => Predicate::Not(Box::new(part(few, paths, depth - 1, random))),
    }
}

/// The objects of a query, in order; if the query starts after a cursor, without its window
/// applied.
pub(super) fn answer<'n>(types: Types<'_>, objects: &'n [Node], query: &Query) -> Vec<&'n Node> {
    let holds = |object: &&Node| {
        let predicate = query.predicate.as_ref();
        predicate.is_none_or(|predicate| truth(types, object, predicate) == Some(true))
    };
    let mut found: Vec<&Node> = objects.iter().filter(holds).collect();
    // The sort is stable: ties stay in the order of insertion.
    found.sort_by(|a, b| {
        let keys = query.order.iter().map(|order| {
            let key = |object| term(types, object, &order.key);
            arranged(order, &key(a), &key(b))
        });
        keys.fold(Ordering::Equal, Ordering::then)
    });
    found.drain(..query.offset.min(found.len()));
    found.truncate(query.limit.unwrap_or(usize::MAX));
    found
}

fn arranged(order: &Order, a: &Cell, b: &Cell) -> Ordering {
    let one_is_missing = (*a == Cell::Missing) != (*b == Cell::Missing);
    let ordering = match order.nulls {
        Nulls::Largest if one_is_missing => stand(a, b).reverse(),
        _ => stand(a, b),
    };
    match order.direction {
        Direction::Ascending => ordering,
        Direction::Descending => ordering.reverse(),
    }
}

pub(super) fn truth(types: Types<'_>, object: &Node, predicate: &Predicate) -> Option<bool> {
    let read = |expression| term(types, object, expression);
    match predicate {
        Predicate::Compare {
            left,
            operator,
            right,
        } => {
            let ordering = compare(&read(left), &read(right))?;
            Some(match operator {
                Comparison::Equal => ordering.is_eq(),
                Comparison::NotEqual => ordering.is_ne(),
                Comparison::Less => ordering.is_lt(),
                Comparison::LessOrEqual => ordering.is_le(),
                Comparison::Greater => ordering.is_gt(),
                Comparison::GreaterOrEqual => ordering.is_ge(),
            })
        }
        Predicate::In { operand, values } => {
            let values: Vec<Cell> = values.iter().map(cell).collect();
            among(&read(operand), &values)
        }
        Predicate::IsNull(operand) => Some(read(operand) == Cell::Missing),
        Predicate::Text {
            operand,
            test,
            pattern,
            ..
        } => match read(operand) {
            Cell::Text(text) => Some(match test {
                TextTest::StartsWith => text.starts_with(pattern.as_ref()),
                _ => text.contains(pattern.as_ref()),
            }),
            _ => None,
        },
        Predicate::And(parts) => joined(parts.iter().map(|p| truth(types, object, p)), false),
        Predicate::Or(parts) => joined(parts.iter().map(|p| truth(types, object, p)), true),
        Predicate::Not(inner) => Some(!truth(types, object, inner)?),
        Predicate::Constant(value) => Some(*value),
        Predicate::Any { vector, condition } => {
            let members = types.members(object, vector)?.iter();
            // A member has no parts, so it can be treated as an object.
            let leaves = members.map(|member| Node::Leaf(member.clone()));
            joined(leaves.map(|leaf| truth(types, &leaf, condition)), true)
        }
    }
}

/// Joins truth values: the deciding value if it occurs, otherwise unknown if that occurs.
fn joined(truths: impl Iterator<Item = Option<bool>>, decides: bool) -> Option<bool> {
    let truths: Vec<_> = truths.collect();
    if truths.contains(&Some(decides)) {
        return Some(decides);
    }
    (!truths.contains(&None)).then_some(!decides)
}
