//! Tests of the documented bytes, and of bytes that cannot be decoded.

use std::borrow::Cow;

use super::*;
use crate::{
    Comparison, Direction, Expression, Field, FieldKind, Nulls, Order, RowId, Scalar, Step, Value,
};

fn priority() -> Expression {
    Expression::Field(Field {
        name: Cow::Borrowed("n"),
        steps: vec![Step::Field(10)].into(),
        kind: FieldKind::Scalar(Scalar::I32),
        default: Value::Int(0),
    })
}

fn above(value: Value) -> Predicate {
    Predicate::Compare {
        left: priority(),
        operator: Comparison::Greater,
        right: value.into(),
    }
}

#[test]
fn bytes_are_as_documented() {
    let expected = [
        1, // version
        1, // comparison
        0, 1, b'n', 1, 0, 10, 0, 5, 1, 0, // field: name, steps, kind, default
        4, // >
        1, 1, 200, 1, // literal: 100, twice that in two bytes
    ];
    let predicate = above(Value::Int(100));
    assert_eq!(predicate.to_bytes(), expected);
    assert_eq!(Predicate::from_bytes(&expected), Ok(predicate));
}

#[test]
fn queries_and_cursors_are_read_back() {
    let values = [
        Value::Null,
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::UInt(u64::MAX),
        Value::Float(-0.5),
        Value::text("a\0\u{e9}"),
    ];
    let cursor = Cursor {
        order: u64::MAX,
        keys: values.to_vec(),
        row_id: RowId(7),
    };
    assert_eq!(Cursor::from_bytes(&cursor.to_bytes()), Ok(cursor.clone()));
    let query = Query {
        predicate: Some(above(Value::Int(1)).and(above(Value::Null)).negate()),
        order: vec![Order {
            key: priority(),
            direction: Direction::Descending,
            nulls: Nulls::Largest,
        }],
        after: Some(cursor),
        offset: 300,
        limit: Some(usize::MAX),
    };
    let bytes = query.to_bytes();
    assert_eq!(Query::from_bytes(&bytes), Ok(query));
    for end in 0..bytes.len() {
        assert!(Query::from_bytes(&bytes[..end]).is_err(), "{end}");
    }
    assert_eq!(
        Query::from_bytes(&[&bytes[..], &[0]].concat()),
        Err(DecodeError::Malformed)
    );
}

#[test]
fn the_deepest_condition_is_read_back() {
    const DEPTH: usize = 256;
    let leaf = Predicate::In {
        operand: priority(),
        values: [Value::Int(1)].into(),
    };
    let nested = |inner, _| Predicate::Not(Box::new(inner));
    let predicate = (1..DEPTH - 1).fold(leaf, nested);
    let predicate = Predicate::And(vec![predicate, Predicate::Constant(true)]);
    assert_eq!(predicate.depth(), DEPTH);
    let bytes = predicate.to_bytes();
    assert!(Predicate::from_bytes(&bytes).is_ok_and(|read| read == predicate));
    let length = |inner, _| Expression::Length(Box::new(inner));
    let query = Query {
        predicate: Some(predicate),
        order: vec![Order {
            key: (0..DEPTH).fold(priority(), length),
            direction: Direction::Ascending,
            nulls: Nulls::Smallest,
        }],
        ..Query::default()
    };
    assert!(Query::from_bytes(&query.to_bytes()).is_ok_and(|read| read == query));
}

#[test]
fn a_fingerprint_depends_on_keys_directions_and_nulls() {
    let by = |key, direction, nulls| Query {
        order: vec![Order {
            key,
            direction,
            nulls,
        }],
        ..Query::default()
    };
    let length = || Expression::Length(Box::new(priority()));
    let orders = [
        Query::default(),
        by(priority(), Direction::Ascending, Nulls::Smallest),
        by(priority(), Direction::Descending, Nulls::Smallest),
        by(priority(), Direction::Ascending, Nulls::Largest),
        by(length(), Direction::Ascending, Nulls::Smallest),
    ];
    let mut prints: Vec<u64> = orders.iter().map(Query::order_fingerprint).collect();
    // FNV-1a of one byte, 0: an empty list.
    assert_eq!(prints[0], 0xAF63_BD4C_8601_B7DF);
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), orders.len());
}

#[test]
fn hostile_bytes_are_refused() {
    let deep = |depth: usize| {
        let mut bytes = vec![ENCODING_VERSION];
        bytes.extend(vec![8; depth]);
        bytes.extend([0, 1]);
        Predicate::from_bytes(&bytes)
    };
    assert!(deep(NESTING_MAX - 1).is_ok());
    assert_eq!(deep(NESTING_MAX), Err(DecodeError::TooDeep));
    assert_eq!(deep(1_000_000), Err(DecodeError::TooDeep));
    // A list with a count larger than the number of bytes.
    let long = [&[1, 6][..], &[0xFF; 9], &[1, 0, 1]].concat();
    assert_eq!(Predicate::from_bytes(&long), Err(DecodeError::Malformed));
    assert_eq!(
        Predicate::from_bytes(&[2, 0, 1]),
        Err(DecodeError::Version(2))
    );
    assert_eq!(Predicate::from_bytes(&[]), Err(DecodeError::Malformed));
    assert_eq!(
        Predicate::from_bytes(&vec![1; BYTES_MAX + 1]),
        Err(DecodeError::TooLarge)
    );
    // Numbers of more than 64 bits, and numbers in a longer encoding than needed.
    let number = |bytes: &[u8]| Cursor::from_bytes(&[&[1, 0, 1], bytes, &[0]].concat());
    assert!(number(&[2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).is_ok());
    assert!(number(&[2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]).is_err());
    assert!(number(&[2, 7]).is_err());
}
