//! Random indexes over several fields, and indexes with a condition.

use std::borrow::Cow;

use dflat_model::{
    Comparison, Direction, Field, IndexCondition, IndexDescriptor, Nulls, Order, Query, Value,
};

use super::literal::literal;
use crate::random::Random;

/// The largest number of such indexes of a table.
const INDEXES_MAX: usize = 4;

/// Indexes over any paths, no two of them equal.
pub(super) fn indexes(paths: &[Field], random: &mut Random) -> Vec<IndexDescriptor> {
    let mut indexes: Vec<IndexDescriptor> = Vec::new();
    for _ in 0..random.below(INDEXES_MAX + 1) {
        let mut fields: Vec<Field> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let field = random.pick(paths);
            if fields.iter().all(|other| other.steps != field.steps) {
                fields.push(field.clone());
            }
        }
        let index = IndexDescriptor {
            condition: (fields.len() == 1 || random.one_in(2))
                .then(|| condition(&fields, paths, 2, random)),
            fields: Cow::Owned(fields),
            unique: random.one_in(8),
        };
        let key = index.storage_key();
        if indexes.iter().all(|other| other.storage_key() != key) {
            indexes.push(index);
        }
    }
    indexes
}

/// A condition on the fields of an index, or on other fields.
pub(super) fn condition(
    fields: &[Field],
    paths: &[Field],
    depth: usize,
    random: &mut Random,
) -> IndexCondition {
    let field = match random.one_in(2) {
        true => random.pick(fields).clone(),
        false => random.pick(paths).clone(),
    };
    let parts = |random: &mut Random| {
        let parts = 1 + random.below(3);
        (0..parts)
            .map(|_| condition(fields, paths, depth - 1, random))
            .collect()
    };
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => is_null(field),
        1 if field.is_tag() => compared(field, Comparison::NotEqual, Value::Int(0)),
        1 => IndexCondition::IsNotNull(field),
        2..6 => IndexCondition::Compare {
            operator: *random.pick(&[
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ]),
            value: literal(&field, random),
            field,
        },
        6 => IndexCondition::And(parts(random)),
        _ => IndexCondition::Or(parts(random)),
    }
}

/// The meaning of `is null` in a schema: an empty union has the type code 0, a missing one has no
/// type code.
fn is_null(field: Field) -> IndexCondition {
    if !field.is_tag() {
        return IndexCondition::IsNull(field);
    }
    let is_empty = compared(field.clone(), Comparison::Equal, Value::Int(0));
    IndexCondition::Or(vec![is_empty, IndexCondition::IsNull(field)].into())
}

const fn compared(field: Field, operator: Comparison, value: Value) -> IndexCondition {
    IndexCondition::Compare {
        field,
        operator,
        value,
    }
}

/// Visits the fields of a condition.
pub(super) fn each_field(condition: &mut IndexCondition, visit: &mut dyn FnMut(&mut Field)) {
    match condition {
        IndexCondition::Compare { field, .. }
        | IndexCondition::IsNull(field)
        | IndexCondition::IsNotNull(field) => visit(field),
        IndexCondition::And(parts) | IndexCondition::Or(parts) => {
            for part in parts.to_mut() {
                each_field(part, visit);
            }
        }
    }
}

/// Changes a query so that an index can serve it: the query gets the condition of the index, and
/// some values or the order of its fields.
pub(super) fn serve(query: &mut Query, index: &IndexDescriptor, random: &mut Random) {
    let mut parts = Vec::new();
    parts.extend(index.condition.as_ref().map(IndexCondition::to_predicate));
    for field in index.fields.iter() {
        let operator = match random.below(4) {
            0 => break,
            1 => Comparison::GreaterOrEqual,
            _ => Comparison::Equal,
        };
        let value = literal(field, random);
        parts.push(compared(field.clone(), operator, value).to_predicate());
        if operator != Comparison::Equal {
            break;
        }
    }
    if random.one_in(2) {
        let direction = *random.pick(&[Direction::Ascending, Direction::Descending]);
        let fields = index.fields.iter().skip(random.below(2));
        let order = fields.map(|field| Order {
            key: field.clone().into(),
            direction,
            nulls: Nulls::Smallest,
        });
        query.order = order.collect();
    }
    for part in parts {
        query.predicate = Some(match query.predicate.take() {
            Some(before) => before.and(part),
            None => part,
        });
    }
}
