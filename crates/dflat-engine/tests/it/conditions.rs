//! A prepared condition gives the same answers as the predicate that it was made of.

use std::collections::HashSet;

use dflat_engine::object::Writer;
use dflat_engine::query::{Condition, evaluate};
use dflat_model::{Comparison, Expression, Field, FieldKind, Predicate, Step, Table, Value};

use crate::table;

const SCHEMA: &str = "
    table Inner { depth: int (indexed); }
    table Orb { power: long = 1 (indexed); }
    struct Point { x: float (indexed); }
    union Gear { Orb, Point }
    table Row {
        name: string (primary);
        flag: bool (indexed);
        i8: byte = -3 (indexed);
        u8: ubyte (indexed);
        i16: short (indexed);
        u16: ushort (indexed);
        i32: int = null (indexed);
        u32: uint (indexed);
        i64: long (indexed);
        u64: ulong (indexed);
        f32: float = nan (indexed);
        f64: double = 2.5 (indexed);
        text: string (indexed);
        inner: Inner;
        gear: Gear (indexed);
    }
    root_type Row;";

const OPERATORS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Values of every class, at the ends of their ranges.
fn literals() -> Vec<Value> {
    let numbers = [i64::MIN, -129, -3, -1, 0, 1, 2, 127, 200, 70_000, i64::MAX];
    let mut literals: Vec<Value> = numbers.map(Value::Int).into();
    literals.extend([i64::MAX as u64 + 1, u64::MAX].map(Value::UInt));
    literals.extend([-0.5, 0.0, 2.5, 1e30, f64::INFINITY].map(Value::Float));
    literals.extend(["", "m", "mm"].map(Value::text));
    literals.push(Value::Null);
    literals
}

fn fields(table: &Table) -> Vec<Field> {
    let indexed = table.indexes.iter().flat_map(|index| index.fields.iter());
    table.primary_key.iter().chain(indexed).cloned().collect()
}

/// A row with values near the literals. Each value is absent in one of the rows.
fn payload(fields: &[Field], step: i64, left_out: usize) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    let mut texts = Vec::new();
    let present = fields
        .iter()
        .enumerate()
        .filter(|(i, f)| *i != left_out && f.steps.len() == 1);
    for (_, field) in present {
        let Step::Field(voffset) = field.steps[0] else {
            continue;
        };
        let number = [i64::MIN, -3, -1, 0, 1, 2, i64::MAX][usize::try_from(step).unwrap()];
        match field.kind {
            FieldKind::Text => texts.push(writer.slot(voffset)),
            FieldKind::Scalar(scalar) => match scalar.size_bytes() {
                1 => writer.scalar(voffset, (number & 1) as u8),
                2 => writer.scalar(voffset, number as i16),
                4 if scalar.is_float() => writer.scalar(voffset, number as f32 / 2.0),
                4 => writer.scalar(voffset, number as i32),
                _ if scalar.is_float() => writer.scalar(voffset, number as f64 / 2.0),
                _ => writer.scalar(voffset, number),
            },
        }
    }
    let [inner, gear] = ["inner.depth", "gear.Orb.power"].map(|name| {
        let field = fields.iter().find(|field| field.name == name).unwrap();
        let [Step::Field(container), .., Step::Field(last)] = *field.steps else {
            panic!("{field:?} does not lead through a container");
        };
        // The union is absent in some rows, holds another member in others, or a member without a
        // value.
        let is_there = step > 1;
        let code = if step == 2 { 2 } else { 1 };
        (
            is_there.then(|| writer.slot(container)),
            container,
            code,
            last,
        )
    });
    if gear.0.is_some() {
        writer.scalar(gear.1 - 2, gear.2);
    }
    writer.end_table();
    for slot in texts {
        writer.text(slot, if step % 2 == 0 { "m" } else { "mm" });
    }
    if let (Some(slot), _, _, last) = inner {
        assert!(writer.begin_table(slot));
        writer.scalar(last, step as i32);
        writer.end_table();
        writer.leave();
    }
    match gear {
        (Some(slot), _, 1, last) => {
            assert!(writer.begin_table(slot));
            if step > 3 {
                writer.scalar(last, step);
            }
            writer.end_table();
            writer.leave();
        }
        (Some(slot), ..) => drop(writer.boxed_structure(slot, 4, 4)),
        _ => {}
    }
    writer.leave();
    writer.finish().unwrap().to_vec()
}

fn payloads(fields: &[Field]) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    for step in 0..7 {
        for left_out in 0..=fields.len() {
            payloads.push(payload(fields, step, left_out));
        }
    }
    // Truncated and damaged rows: one with the union's other member and one with all values.
    for step in [2, 6] {
        let whole = payload(fields, step, fields.len());
        payloads.extend((0..whole.len()).map(|len| whole[..len].to_vec()));
        payloads.extend((0..whole.len()).map(|at| {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x81;
            damaged
        }));
    }
    payloads
}

fn simple(fields: &[Field]) -> Vec<Predicate> {
    let literals = literals();
    let mut predicates = vec![Predicate::Constant(true)];
    for field in fields {
        let operand = || Expression::Field(field.clone());
        for right in &literals {
            predicates.extend(OPERATORS.map(|operator| Predicate::Compare {
                left: operand(),
                operator,
                right: right.clone().into(),
            }));
        }
        for values in [&literals[..], &literals[..5], &literals[13..20], &[]] {
            let values = values.into();
            let operand = operand();
            predicates.push(Predicate::In { operand, values });
        }
        predicates.push(Predicate::IsNull(operand()));
    }
    predicates
}

#[test]
fn prepared_comparisons_answer_like_evaluation() {
    let table = table(SCHEMA);
    let fields = fields(&table);
    let payloads = payloads(&fields);
    let mut answers = HashSet::new();
    for predicate in simple(&fields) {
        let condition = Condition::new(&predicate);
        for payload in &payloads {
            let expected = evaluate(&predicate, payload);
            answers.insert(expected.ok());
            assert_eq!(
                condition.holds(payload),
                expected,
                "{predicate} of {payload:?}"
            );
        }
    }
    assert_eq!(answers.len(), 4, "true, false, UNKNOWN and unreadable");
}

#[test]
fn prepared_combinations_answer_like_evaluation() {
    let table = table(SCHEMA);
    let fields = fields(&table);
    let payloads = payloads(&fields);
    let predicates = simple(&fields);
    // Neighbouring comparisons of one field, which may become one range, and distant ones.
    for (first, distance) in (0..predicates.len())
        .step_by(5)
        .zip([1, 2, 3, 40].iter().cycle())
    {
        let second = &predicates[(first + distance) % predicates.len()];
        let third = &predicates[(first + 7) % predicates.len()];
        let both = predicates[first].clone().and(second.clone());
        let either = both.clone().or(third.clone());
        for predicate in [both.clone().negate(), both.and(third.clone()), either] {
            let condition = Condition::new(&predicate);
            for payload in &payloads {
                let expected = evaluate(&predicate, payload);
                assert_eq!(
                    condition.holds(payload),
                    expected,
                    "{predicate} of {payload:?}"
                );
            }
        }
    }
}
