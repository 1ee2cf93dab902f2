//! Compares key scans with a naive model: every combination of bounds over values of every class.

use std::cmp::Ordering;
use std::mem::discriminant;
use std::ops::Bound;
use std::sync::Arc;

use dflat_engine::storage::{
    EntryValues, IndexEntry, IndexState, Key, KeyScan, RowWrite, Snapshot, Source, View,
};
use dflat_model::{
    Direction, FieldKind, IndexDescriptor, RowId, Step, Table, TableDescriptor, Value, ValueRef,
};
use dflat_sqlite::SqliteBackend;

use crate::key_counts::{compared, tallied};
use crate::sample::*;

const BOTH: [Direction; 2] = [Direction::Ascending, Direction::Descending];

/// Values that a query may compare a column with, whatever the column's type.
fn probes() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Int(i64::MIN),
        Value::Int(-3),
        Value::Int(0),
        Value::Int(2),
        Value::Int((1 << 53) + 1),
        Value::Int(i64::MAX),
        Value::UInt(i64::MAX as u64 + 1),
        Value::UInt(u64::MAX),
        Value::Float(f64::NEG_INFINITY),
        Value::Float(-0.0),
        Value::Float(2.5),
        Value::Float(9_007_199_254_740_992.0),
        Value::Float(f64::INFINITY),
        Value::text(""),
        Value::text("2"),
        Value::text("b\0a"),
        Value::text("ü"),
    ]
}

/// Values that a column of the type can hold, some of them twice.
fn stored(kind: FieldKind) -> Vec<Value> {
    let fits = |value: &Value| match value {
        Value::Null => true,
        Value::Int(_) | Value::UInt(_) => kind == INT,
        Value::Float(_) => kind == REAL,
        Value::Text(_) => kind == TEXT,
    };
    let mut values: Vec<Value> = probes().into_iter().filter(fits).collect();
    values.reverse();
    values.extend(values.clone().into_iter().step_by(2));
    values
}

fn bounds(values: &[Value]) -> Vec<Bound<&Value>> {
    let mut bounds = vec![Bound::Unbounded];
    bounds.extend(values.iter().map(Bound::Included));
    bounds.extend(values.iter().map(Bound::Excluded));
    bounds
}

fn within(value: ValueRef<'_>, lower: Bound<&Value>, upper: Bound<&Value>) -> bool {
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => value.order(bound.into()) != Ordering::Less,
        Bound::Excluded(bound) => value.order(bound.into()) == Ordering::Greater,
    };
    let below = match upper {
        Bound::Unbounded => true,
        Bound::Included(bound) => value.order(bound.into()) != Ordering::Greater,
        Bound::Excluded(bound) => value.order(bound.into()) == Ordering::Less,
    };
    above && below
}

/// The rows that a scan must return, by their keys.
fn expected<'r>(rows: &'r [(i64, Vec<Value>)], scan: &KeyScan<'_>) -> Vec<&'r (i64, Vec<Value>)> {
    let open = scan.prefix.len();
    let mut rows: Vec<&(i64, Vec<Value>)> = rows
        .iter()
        .filter(|(id, key)| {
            if scan.after.is_some_and(|after| *id <= after.0) {
                return false;
            }
            let mut parts = key.iter().zip(scan.prefix);
            parts.all(|(a, b)| a.as_ref().order(b.into()) == Ordering::Equal)
                && key
                    .get(open)
                    .is_none_or(|next| within(next.into(), scan.lower, scan.upper))
        })
        .collect();
    rows.sort_by(|(a_id, a), (b_id, b)| {
        let parts = a.iter().zip(b).skip(open);
        let order = parts.fold(Ordering::Equal, |order, (a, b)| {
            order.then_with(|| a.as_ref().order(b.into()))
        });
        let order = match scan.direction {
            Direction::Ascending => order,
            Direction::Descending => order.reverse(),
        };
        order.then(a_id.cmp(b_id))
    });
    rows
}

fn check(reader: &mut dyn Snapshot, table: &Table, rows: &[(i64, Vec<Value>)], scan: &KeyScan<'_>) {
    let found = ids(reader, table, Source::Key(scan.clone()));
    let expected = expected(rows, scan);
    let expected_ids: Vec<i64> = expected.iter().map(|(id, _)| *id).collect();
    assert_eq!(found, expected_ids, "{} {scan:?}", table.name);
    let parts_max = (scan.prefix.len() + 1).min(rows[0].1.len());
    for parts in 0..=parts_max {
        let mut values: Vec<&[Value]> = expected.iter().map(|(_, key)| &key[..parts]).collect();
        values.sort_by(|a, b| compared(a, b));
        let counted = tallied(reader, table, scan, parts);
        let groups = values.chunk_by(|a, b| compared(a, b) == Ordering::Equal);
        let groups: Vec<_> = groups
            .map(|group| (group[0].to_vec(), group.len()))
            .collect();
        let types = |values: &[Value]| values.iter().map(discriminant).collect::<Vec<_>>();
        let is_same = counted.len() == groups.len()
            && counted.iter().zip(&groups).all(|((a, n), (b, m))| {
                n == m && compared(a, b) == Ordering::Equal && types(a) == types(b)
            });
        assert!(
            is_same,
            "{} {scan:?} {parts}: {counted:?} {groups:?}",
            table.name
        );
    }
}

/// Rows of an index over two fields, with the values of each row.
fn pairs(backend: &Arc<SqliteBackend>, table: &Table) -> Vec<(i64, Vec<Value>)> {
    let mut tx = begin(backend);
    tx.create(table).unwrap();
    let mut rows = Vec::new();
    let texts = [
        Value::text("b"),
        Value::Null,
        Value::text("a"),
        Value::Null,
        Value::text("a"),
    ];
    for (n, first) in texts.iter().cycle().take(40).enumerate() {
        let second = [Value::Int(3), Value::Null, Value::Int(-1), Value::Int(3)][n / 3 % 4].clone();
        let entry = EntryValues::Several(vec![first.as_ref(), second.as_ref()]);
        let row = RowWrite {
            key: Some(&[ValueRef::Int(n as i64)]),
            payload: b"p",
            entries: &[IndexEntry {
                index: 0,
                values: entry,
            }],
        };
        rows.push((
            tx.insert(table, &row).unwrap().0,
            vec![first.clone(), second],
        ));
    }
    tx.commit().unwrap();
    rows
}

#[test]
fn composite_index_scan_gives_the_range_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let fields = [
        (field(&[Step::Field(6)], TEXT), false),
        (field(&[Step::Field(8)], INT), false),
    ];
    let single = table_of("pairs", &[INT], &fields);
    let mut descriptor = TableDescriptor::clone(&single);
    let fields: Vec<_> = single
        .indexes
        .iter()
        .map(|index| index.fields[0].clone())
        .collect();
    descriptor.indexes = vec![IndexDescriptor {
        fields: fields.into(),
        ..single.indexes[0].clone()
    }]
    .into();
    let table = Table::new(descriptor);
    let rows = pairs(&backend, &table);
    let probes = [
        Value::Null,
        Value::text("a"),
        Value::text("b"),
        Value::Int(-1),
        Value::Int(3),
    ];
    let mut prefixes = vec![vec![]];
    prefixes.extend(probes[..3].iter().map(|probe| vec![probe.clone()]));
    prefixes.push(vec![Value::text("a"), Value::Int(3)]);
    prefixes.push(vec![Value::Null, Value::Null]);
    let mut reader = snapshot(&backend, View::Latest);
    for (prefix, after) in prefixes
        .iter()
        .flat_map(|prefix| [None, Some(RowId(0)), Some(RowId(17))].map(|after| (prefix, after)))
    {
        for direction in BOTH {
            for lower in bounds(&probes) {
                for upper in bounds(&probes) {
                    let key = Key::Index(0);
                    let scan = KeyScan {
                        key,
                        prefix,
                        lower,
                        upper,
                        direction,
                        after,
                    };
                    check(&mut *reader, &table, &rows, &scan);
                }
            }
        }
    }
}

#[test]
fn an_index_scan_gives_the_range_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    for (name, kind) in [("ints", INT), ("reals", REAL), ("texts", TEXT)] {
        let table = table_of(name, &[INT], &[(field(&[], kind), false)]);
        let mut tx = begin(&backend);
        tx.create(&table).unwrap();
        let mut rows = Vec::new();
        for (i, value) in stored(kind).into_iter().enumerate() {
            let row = RowWrite {
                key: Some(&[ValueRef::Int(i as i64)]),
                payload: b"p",
                entries: &[IndexEntry::one(0, value.as_ref())],
            };
            rows.push((tx.insert(&table, &row).unwrap().0, vec![value]));
        }
        tx.commit().unwrap();
        let probes = probes();
        let mut reader = snapshot(&backend, View::Latest);
        for direction in BOTH {
            for lower in bounds(&probes) {
                for upper in bounds(&probes) {
                    let key = Key::Index(0);
                    let scan = KeyScan {
                        key,
                        prefix: &[],
                        lower,
                        upper,
                        direction,
                        after: None,
                    };
                    check(&mut *reader, &table, &rows, &scan);
                }
            }
            for probe in &probes {
                let prefix = std::slice::from_ref(probe);
                let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
                let scan = KeyScan {
                    key: Key::Index(0),
                    prefix,
                    lower,
                    upper,
                    direction,
                    after: None,
                };
                check(&mut *reader, &table, &rows, &scan);
            }
        }
    }
}

#[test]
fn a_primary_key_scan_gives_the_range_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let kinds = [TEXT, INT];
    for count in 1..=2 {
        let table = table_of(&format!("keys{count}"), &kinds[..count], &[]);
        let mut tx = begin(&backend);
        tx.create(&table).unwrap();
        let mut rows = Vec::new();
        for first in [Value::text("b"), Value::Null, Value::text("a"), Value::Null] {
            for second in [Value::Int(3), Value::Null, Value::Int(-1), Value::Null] {
                let key = [first.clone(), second][..count].to_vec();
                let refs: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
                let row = RowWrite {
                    key: Some(&refs),
                    payload: b"p",
                    entries: &[],
                };
                if let Ok(row_id) = tx.insert(&table, &row) {
                    rows.push((row_id.0, key));
                }
            }
        }
        let probes = [
            Value::Null,
            Value::text("a"),
            Value::text("b"),
            Value::Int(-1),
            Value::Int(3),
        ];
        let mut prefixes = vec![vec![]];
        prefixes.extend(probes.iter().map(|probe| vec![probe.clone()]));
        for a in &probes[..if count == 2 { 3 } else { 0 }] {
            prefixes.extend(probes.iter().map(|b| vec![a.clone(), b.clone()]));
        }
        for prefix in &prefixes {
            for direction in BOTH {
                for lower in bounds(&probes) {
                    for upper in bounds(&probes) {
                        let scan = KeyScan {
                            key: Key::Primary,
                            prefix,
                            lower,
                            upper,
                            direction,
                            after: None,
                        };
                        check(&mut *tx, &table, &rows, &scan);
                    }
                }
            }
        }
    }
}

/// Dflat for Swift joined the tables of all indexes of a type, and SQLite allows at most 64 tables
/// in a join.
#[test]
fn type_may_have_more_indexes_than_sqlite_joins_tables() {
    const INDEXES: usize = 70;
    let fields: Vec<_> = (0..INDEXES)
        .map(|index| (field(&[Step::Field(2 * index as u16 + 6)], INT), false))
        .collect();
    let table = table_of("wide", &[INT], &fields);
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let mut tx = begin(&backend);
    tx.create(&table).unwrap();
    for key in 0..20 {
        let entry = |index| IndexEntry::one(index, ValueRef::Int((key + index as i64) % 20));
        let entries: Vec<_> = (0..INDEXES).map(entry).collect();
        let row = RowWrite {
            key: Some(&[ValueRef::Int(key)]),
            payload: b"p",
            entries: &entries,
        };
        tx.insert(&table, &row).unwrap();
    }
    tx.commit().unwrap();
    let mut reader = snapshot(&backend, View::Pinned);
    let states = reader.indexes(&table).unwrap().states.to_vec();
    assert_eq!(states, [IndexState::Ready; INDEXES]);
    for index in [0, 63, 64, 69] {
        let three = Source::Key(KeyScan {
            key: Key::Index(index),
            prefix: &[Value::Int(3)],
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            after: None,
        });
        let row_id = (3 - index as i64).rem_euclid(20) + 1;
        assert_eq!(ids(&mut *reader, &table, three), [row_id], "{index}");
    }
}
