//! The number of rows that plans visit.

mod moments;
mod windows;

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::fetch::{Control, aggregate, count, cursor_of, explain, fetch, select, value_of};
use dflat_engine::object::{Object, Origin, Writer};
use dflat_engine::query::compute;
use dflat_engine::storage::{
    Backend, EntryValues, IndexEntry, Indexes, MemoryBackend, Row, RowWrite, ScanPlan, Snapshot,
    Source, View,
};
use dflat_model::{
    Comparison, Direction, Field, FieldKind, Nulls, Order, Predicate, Query, RowId, Scalar, Step,
    Table, Value, ValueRef,
};

use crate::{field, table};

const SCHEMA: &str = "
    table Doc {
        id: int (primary);
        n: int (indexed);
        same: int (indexed);
        plain: int;
    }
    root_type Doc;";

/// The numbers of rows that scans have visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Visits {
    /// In sequence.
    rows: usize,
    /// One by one, by a key or a row id, with payloads.
    jumps: usize,
    /// Index entries or row ids, without payloads.
    entries: usize,
}

/// A snapshot that counts the visited rows.
struct Counting {
    snapshot: Box<dyn Snapshot>,
    visits: Visits,
}

impl Snapshot for Counting {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let visits = &mut self.visits;
        let count = match plan.source {
            Source::Rows | Source::RowsAfter(_) if plan.payload => &mut visits.rows,
            Source::RowIds(_) | Source::Key(_) if plan.payload => &mut visits.jumps,
            _ => &mut visits.entries,
        };
        self.snapshot.scan(plan, &mut |row| {
            *count += 1;
            visit(row)
        })
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.snapshot.indexes(table)
    }
}

struct Setting {
    table: Table,
    backend: Arc<MemoryBackend>,
}

impl Setting {
    /// `rows` rows whose `n` are the numbers below `rows` in another order, with row ids `spread`
    /// apart.
    fn new(rows: i32, spread: i64) -> Self {
        Self::of(SCHEMA, rows, spread)
    }

    fn of(schema: &str, rows: i32, spread: i64) -> Self {
        Self::behind(schema, rows, spread, 0)
    }

    /// The same, with all row ids above `gone`.
    fn behind(schema: &str, rows: i32, spread: i64, gone: i64) -> Self {
        let table = table(schema);
        let backend = MemoryBackend::new();
        let mut tx = Arc::clone(&backend).begin(backend.durability()).unwrap();
        tx.create(&table).unwrap();
        for id in 0..rows {
            let (n, same) = (id * 7919 % rows, id % 2);
            let mut writer = Writer::new();
            let root = writer.begin();
            assert!(writer.begin_table(root));
            for (slot, value) in [(4, id), (6, n), (8, same), (10, id % 100)] {
                writer.scalar(slot, value);
            }
            writer.end_table();
            let value = |field: &Field| match &*field.name {
                "n" => ValueRef::Int(n.into()),
                _ => ValueRef::Int(same.into()),
            };
            let indexes = table.indexes.iter().enumerate();
            let entries: Vec<IndexEntry<'_>> = indexes
                .map(|(index, descriptor)| IndexEntry {
                    index,
                    values: EntryValues::Several(descriptor.fields.iter().map(value).collect()),
                })
                .collect();
            let row = RowWrite {
                key: Some(&[ValueRef::Int(id.into())]),
                payload: writer.finish().unwrap(),
                entries: &entries,
            };
            let row_id = RowId(gone + i64::from(id) * spread + 1);
            tx.restore(&table, row_id, &row).unwrap();
        }
        tx.commit().unwrap();
        Self { table, backend }
    }

    fn field(&self, name: &str) -> Field {
        let indexes = self.table.indexes.iter();
        let mut indexed = indexes.flat_map(|index| index.fields.iter());
        let found = indexed.find(|field| field.name == name).cloned();
        found.unwrap_or_else(|| {
            let kind = FieldKind::Scalar(Scalar::I32);
            field("plain", &[Step::Field(10)], kind, Value::Int(0))
        })
    }

    fn where_(&self, name: &str, operator: Comparison, value: i64) -> Query {
        Query {
            predicate: Some(Predicate::Compare {
                left: self.field(name).into(),
                operator,
                right: Value::Int(value).into(),
            }),
            ..Query::default()
        }
    }

    fn counted<R>(&self, read: impl FnOnce(&mut dyn Snapshot) -> Result<R>) -> (R, Visits) {
        let backend = Arc::clone(&self.backend);
        let mut counting = Counting {
            snapshot: backend.snapshot(View::Pinned).unwrap(),
            visits: Visits::default(),
        };
        let read = read(&mut counting).unwrap();
        (read, counting.visits)
    }

    fn fetched(&self, query: &Query) -> (usize, Visits) {
        let control = Control::default();
        let (objects, visits) = self
            .counted(|snapshot| fetch(snapshot, &self.table, query, &control, Origin::default()));
        (objects.len(), visits)
    }
}

fn ordered(query: &Query, key: Field, direction: Direction) -> Query {
    let order = Order {
        key: key.into(),
        direction,
        nulls: Nulls::Smallest,
    };
    Query {
        order: vec![order],
        ..query.clone()
    }
}
/// The most rows that may be reached by a key, with room for the error of the estimate.
fn share_of(rows: usize) -> usize {
    512.max(rows / 8 + rows / 40) + 1
}

#[test]
fn a_key_is_followed_for_an_eighth_of_all_rows() {
    let s = Setting::new(6_000, 1);
    let half = |query: &Query| {
        let mut half = query.clone();
        half.predicate = half
            .predicate
            .map(|all| all.and(s.where_("plain", Comparison::Less, 50).predicate.unwrap()));
        half
    };
    let all = s.where_("n", Comparison::GreaterOrEqual, 0);
    let third = s.where_("n", Comparison::Less, 2_000);
    let odd = s.where_("same", Comparison::Equal, 1);
    for (query, found) in [(all, 6_000), (third, 2_000), (odd, 3_000)] {
        for query in [query.clone(), half(&query)] {
            let by_n = |direction| ordered(&query, s.field("n"), direction);
            let windowed = |query: &Query| Query {
                limit: Some(9_000),
                offset: 7,
                ..query.clone()
            };
            let ascending = by_n(Direction::Ascending);
            let queries = [
                query.clone(),
                ascending.clone(),
                by_n(Direction::Descending),
                windowed(&query),
                windowed(&ordered(&query, s.field("plain"), Direction::Descending)),
            ];
            for query in queries {
                let (count, visits) = s.fetched(&query);
                let is_half = query
                    .predicate
                    .as_ref()
                    .unwrap()
                    .to_string()
                    .contains("plain");
                let least = if is_half { found / 3 } else { found - 7 };
                assert!((least..=found).contains(&count), "{query}: {count}");
                assert!(visits.jumps <= share_of(6_000), "{query}: {visits:?}");
                assert!(visits.rows <= 6_000, "{query}: {visits:?}");
            }
        }
    }
}

#[test]
fn fewer_rows_than_an_eighth_are_reached_by_their_key_alone() {
    let s = Setting::new(6_000, 1);
    for rows in [0, 1, 511, 512, 513, 700] {
        let query = s.where_("n", Comparison::Less, rows);
        let rows = rows as usize;
        for query in [
            query.clone(),
            ordered(&query, s.field("n"), Direction::Descending),
        ] {
            let (count, visits) = s.fetched(&query);
            assert_eq!((count, visits.rows), (rows, 0), "{query}");
            // One row is visited twice when the number of rows is estimated.
            assert!(visits.jumps <= rows + 1, "{query}: {visits:?}");
            // Without samples, all 6,000 rows would be counted.
            assert!(visits.entries <= 600, "{query}: {visits:?}");
        }
    }
}

/// In Dflat for Swift, a scan with a limit goes on to the end and decodes rows that it drops.
#[test]
fn scan_with_limit_stops_early() {
    let s = Setting::new(1_000, 1);
    let plain = s.where_("plain", Comparison::Equal, 7);
    for (query, visited) in [(Query::default(), 5), (plain, 408)] {
        let query = Query {
            offset: 2,
            limit: Some(3),
            ..query
        };
        let (count, visits) = s.fetched(&query);
        assert_eq!(
            (count, visits.rows, visits.jumps),
            (3, visited, 0),
            "{query}"
        );
    }
}

#[test]
fn unused_row_ids_do_not_count_as_rows() {
    let s = Setting::new(6_000, 16);
    let (count, visits) = s.fetched(&s.where_("n", Comparison::GreaterOrEqual, 0));
    assert_eq!(count, 6_000);
    assert!(
        visits.jumps <= share_of(6_000) && visits.rows == 6_000,
        "{visits:?}"
    );
}

#[test]
fn counts_and_values_visit_an_eighth_or_the_index_alone() {
    let s = Setting::new(6_000, 1);
    let control = Control::default();
    let all = s.where_("n", Comparison::GreaterOrEqual, 0);
    let (n, plain) = (s.field("n").into(), s.field("plain").into());
    let (counted, visits) = s.counted(|snapshot| count(snapshot, &s.table, &all, &control));
    assert_eq!((counted, visits.rows, visits.jumps), (6_000, 0, 0));
    for (field, is_covered) in [(n, true), (plain, false)] {
        let mut sum = 0;
        let (_, visits) = s.counted(|snapshot| {
            let fold = &mut |value: ValueRef<'_>| sum += i64::from(!value.is_null());
            aggregate(snapshot, &s.table, &all, &field, &control, fold)
        });
        assert_eq!(sum, 6_000);
        let jumps = if is_covered { 0 } else { share_of(6_000) };
        assert!(visits.jumps <= jumps && visits.rows <= 6_000, "{visits:?}");
        let descending = ordered(&all, s.field("n"), Direction::Descending);
        let (values, visits) = s.counted(|snapshot| {
            let fields = std::slice::from_ref(&field);
            let read = &mut |row: Row<'_>| Ok(row.row_id);
            select(snapshot, &s.table, &descending, fields, &control, read)
        });
        assert_eq!(values.len(), 6_000);
        assert!(visits.jumps <= jumps && visits.rows <= 6_000, "{visits:?}");
        let sorted: Vec<i64> = values
            .iter()
            .map(|row| (row.0 - 1) * 7919 % 6_000)
            .collect();
        assert!(sorted.is_sorted_by(|a, b| a > b));
    }
}

#[test]
fn a_field_is_read_from_an_index_over_several_fields() {
    let schema = SCHEMA
        .replace(" (indexed)", "")
        .replace("Doc {", "Doc (indexed: \"same, n\") {");
    let s = Setting::of(&schema, 1_000, 1);
    let control = Control::default();
    let query = s.where_("same", Comparison::Equal, 1);
    let (n, plain) = (s.field("n").into(), s.field("plain").into());
    for (field, is_covered) in [(n, true), (plain, false)] {
        let fields = std::slice::from_ref(&field);
        let by_n = ordered(&query, s.field("n"), Direction::Descending);
        for query in [&query, &by_n] {
            let (values, visits) = s.counted(|snapshot| {
                let read = &mut |row: Row<'_>| Ok(value_of(&row, &field)?.to_value());
                select(snapshot, &s.table, query, fields, &control, read)
            });
            assert_eq!(values.len(), 500);
            assert_eq!(visits.jumps == 0, is_covered, "{query}: {visits:?}");
            let (found, _) =
                s.counted(|snapshot| fetch(snapshot, &s.table, query, &control, Origin::default()));
            let read = |object: &Object| compute(&field, object.payload()).unwrap().to_value();
            assert_eq!(
                values,
                found.iter().map(read).collect::<Vec<_>>(),
                "{query}"
            );
        }
        let (_, visits) = s.counted(|snapshot| {
            let fold = &mut |_: ValueRef<'_>| {};
            aggregate(snapshot, &s.table, &query, &field, &control, fold)
        });
        assert_eq!(visits.jumps == 0, is_covered, "{visits:?}");
    }
    // If directions differ, the rows with the first value are sorted. Behind them is no wanted row.
    let mut mixed = ordered(&Query::default(), s.field("same"), Direction::Ascending);
    mixed
        .order
        .extend(ordered(&query, s.field("n"), Direction::Descending).order);
    mixed.limit = Some(5);
    let (objects, visits) = s.fetched(&mixed);
    assert_eq!((objects, visits.jumps, visits.rows), (5, 501, 0));
}

#[test]
fn a_sum_of_a_part_of_the_primary_key_reads_rows_in_sequence() {
    for key in [
        "id: int (primary);",
        "id: int (primary); more: int (primary);",
    ] {
        let schema = SCHEMA.replace("id: int (primary);", key);
        let s = Setting::of(&schema, 1_000, 1);
        let id = s.table.primary_key[0].clone().into();
        let (mut count, control) = (0, Control::default());
        let ((), visits) = s.counted(|snapshot| {
            let fold = &mut |_: ValueRef<'_>| count += 1;
            aggregate(snapshot, &s.table, &Query::default(), &id, &control, fold)
        });
        let rows = Visits {
            rows: 1_000,
            ..Visits::default()
        };
        assert_eq!((count, visits), (1_000, rows), "{key}");
    }
}

#[test]
fn an_explanation_has_the_point_of_giving_up() {
    let s = Setting::new(6_000, 1);
    let explained = |query: &Query| {
        let control = Control::default();
        s.counted(|snapshot| explain(snapshot, &s.table, query, &control))
            .0
            .1
    };
    assert_eq!(explained(&s.where_("n", Comparison::Less, 700)), None);
    let after = explained(&s.where_("n", Comparison::Less, 1_000)).unwrap();
    assert!((700..850).contains(&after), "{after}");
    assert!(explained(&s.where_("same", Comparison::Equal, 1)).is_some());
    let all = s.where_("n", Comparison::GreaterOrEqual, 0);
    let first = Query {
        limit: Some(5),
        ..ordered(&all, s.field("n"), Direction::Ascending)
    };
    assert_eq!(explained(&first), None);
}
