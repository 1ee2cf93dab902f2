//! Counts of the rows of a key's range, which end early if they are told to.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use dflat_engine::storage::{IndexEntry, Key, KeyScan, RowWrite, Snapshot, View};
use dflat_model::{Direction, Table, Value, ValueRef};
use dflat_sqlite::SqliteBackend;

use crate::sample::*;

/// The order of two lists of values.
pub(crate) fn compared(a: &[Value], b: &[Value]) -> Ordering {
    let parts = a.iter().zip(b);
    parts.fold(Ordering::Equal, |order, (a, b)| {
        order.then_with(|| a.as_ref().order(b.into()))
    })
}

/// The groups of a range that have rows, in order.
pub(crate) fn tallied(
    reader: &mut dyn Snapshot,
    table: &Table,
    scan: &KeyScan<'_>,
    parts: usize,
) -> Vec<(Vec<Value>, usize)> {
    let mut groups: Vec<(Vec<Value>, usize)> = Vec::new();
    let mut visit = |values: &[ValueRef<'_>], count: usize| {
        let values: Vec<Value> = values.iter().map(|value| value.to_value()).collect();
        match groups
            .iter_mut()
            .find(|(of, _)| compared(of, &values) == Ordering::Equal)
        {
            Some((_, total)) => *total += count,
            None => groups.push((values, count)),
        }
        ControlFlow::Continue(())
    };
    let mut proceed = || ControlFlow::Continue(());
    assert!(
        reader
            .tally(table, (scan, parts), &mut proceed, &mut visit)
            .unwrap()
    );
    groups.retain(|(_, count)| *count > 0);
    groups.sort_by(|(a, _), (b, _)| compared(a, b));
    groups
}

/// Numbers of objects, most of which have one value.
fn with_ties(backend: &Arc<SqliteBackend>, table: &Table, count: i64) {
    let mut tx = begin(backend);
    tx.create(table).unwrap();
    for key in 0..count {
        let row = RowWrite {
            key: Some(&[ValueRef::Int(key)]),
            payload: b"p",
            entries: &[IndexEntry::one(0, ValueRef::Int((key % 10 / 9) * key))],
        };
        tx.insert(table, &row).unwrap();
    }
    tx.commit().unwrap();
}

#[test]
fn long_count_of_rows_can_be_ended() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let table = table_of("ties", &[INT], &[(field(&[], INT), false)]);
    with_ties(&backend, &table, 20_000);
    let scan = KeyScan {
        key: Key::Index(0),
        prefix: &[],
        lower: Bound::Included(&Value::Int(0)),
        upper: Bound::Unbounded,
        direction: Direction::Ascending,
        after: None,
    };
    for mut reader in [
        snapshot(&backend, View::Pinned),
        snapshot(&backend, View::Latest),
    ] {
        for parts in [0, 1] {
            let mut asked = 0;
            let mut proceed = || {
                asked += 1;
                if asked == 3 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let mut groups = 0;
            let mut visit = |_: &[ValueRef<'_>], _| {
                groups += 1;
                ControlFlow::Continue(())
            };
            let range = (&scan, parts);
            assert!(
                reader
                    .tally(&table, range, &mut proceed, &mut visit)
                    .unwrap()
            );
            assert_eq!((asked, groups), (3, 0), "{parts}");
            // The reader goes on as if nothing had happened.
            let all = tallied(&mut *reader, &table, &scan, 1);
            assert_eq!((all.len(), all[0].1), (2_001, 18_000));
            let mut first = |_: &[ValueRef<'_>], _| {
                groups += 1;
                ControlFlow::Break(())
            };
            let mut proceed = || ControlFlow::Continue(());
            assert!(
                reader
                    .tally(&table, range, &mut proceed, &mut first)
                    .unwrap()
            );
            assert_eq!(groups, 1);
        }
    }
}
