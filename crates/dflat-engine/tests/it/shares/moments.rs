//! Plans of several scans read one state, and unusual row ids do no harm.

use super::*;

/// A snapshot of the latest state. Another writer commits before each scan but the first.
struct Meanwhile<'s> {
    snapshot: Box<dyn Snapshot>,
    scans: usize,
    write: Box<dyn FnMut(usize) + Send + 's>,
}

impl Snapshot for Meanwhile<'_> {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        (self.write)(self.scans);
        self.scans += 1;
        self.snapshot.scan(plan, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.snapshot.indexes(table)
    }
}

fn id_field(s: &Setting) -> Field {
    s.table.primary_key[0].clone()
}

fn id_below(s: &Setting, value: i64) -> Query {
    Query {
        predicate: Some(Predicate::Compare {
            left: id_field(s).into(),
            operator: Comparison::Less,
            right: Value::Int(value).into(),
        }),
        ..Query::default()
    }
}

fn payload(id: i32) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    for (slot, value) in [(4, id), (6, 0), (8, 0), (10, 7)] {
        writer.scalar(slot, value);
    }
    writer.end_table();
    writer.finish().unwrap().to_vec()
}

const PLAIN: &str = "
    table Doc {
        id: int (primary);
        n: int;
        same: int;
        plain: int;
    }
    root_type Doc;";

/// Deletes the object in row 1 and creates another with a smaller key, in one commit.
fn exchange(s: &Setting, row_id: i64, id: i32) {
    let mut tx = Arc::clone(&s.backend)
        .begin(s.backend.durability())
        .unwrap();
    tx.create(&s.table).unwrap();
    tx.delete(&s.table, RowId(row_id)).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(id.into())]),
        payload: &payload(id),
        entries: &[],
    };
    tx.insert(&s.table, &row).unwrap();
    tx.commit().unwrap();
}

/// In every state there is one object with an id below 100.
#[test]
fn pages_of_a_primary_key_range_are_of_one_state() {
    let s = Setting::of(PLAIN, 1, 1);
    let query = Query {
        limit: Some(10),
        ..id_below(&s, 100)
    };
    let mut next = 1_i64;
    let backend = Arc::clone(&s.backend);
    let mut snapshot = Meanwhile {
        snapshot: backend
            .snapshot(dflat_engine::fetch::view_for(&s.table, &query))
            .unwrap(),
        scans: 0,
        write: Box::new(|scans| {
            if scans > 0 {
                exchange(&s, next, next as i32);
                next += 1;
            }
        }),
    };
    let control = Control::default();
    let found = fetch(&mut snapshot, &s.table, &query, &control, Origin::default()).unwrap();
    assert_eq!(found.len(), 1);
}

/// In every state there are a thousand objects, and all meet the condition.
#[test]
fn a_count_with_a_limit_is_of_one_state() {
    let s = Setting::of(PLAIN, 1_000, 1);
    let query = Query {
        limit: Some(100_000),
        predicate: id_below(&s, 5_000)
            .predicate
            .map(|below| below.and(s.where_("plain", Comparison::Less, 100).predicate.unwrap())),
        ..Query::default()
    };
    let backend = Arc::clone(&s.backend);
    let mut done = false;
    let mut snapshot = Meanwhile {
        snapshot: backend
            .snapshot(dflat_engine::fetch::view_for(&s.table, &query))
            .unwrap(),
        scans: 0,
        write: Box::new(|scans| {
            if scans > 0 && !done {
                exchange(&s, 1, 2_000);
                done = true;
            }
        }),
    };
    let control = Control::default();
    assert_eq!(
        count(&mut snapshot, &s.table, &query, &control).unwrap(),
        1_000
    );
}

/// Another program may use any row id.
#[test]
fn the_smallest_possible_row_id_is_read() {
    let s = Setting::of(PLAIN, 600, 1);
    let mut tx = Arc::clone(&s.backend)
        .begin(s.backend.durability())
        .unwrap();
    tx.create(&s.table).unwrap();
    tx.delete(&s.table, RowId(513)).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(512)]),
        payload: &payload(512),
        entries: &[],
    };
    tx.restore(&s.table, RowId(i64::MIN), &row).unwrap();
    tx.commit().unwrap();
    let query = Query {
        predicate: Some(Predicate::In {
            operand: id_field(&s).into(),
            values: (0..600).map(Value::Int).collect(),
        }),
        ..Query::default()
    };
    assert_eq!(s.fetched(&query).0, 600);
}

/// Another program may leave gaps of any width.
#[test]
fn row_ids_far_apart_are_read() {
    for spread in [1, 3, 1 << 40, 1 << 50, (1 << 62) / 3_000] {
        let s = Setting::new(6_000, spread);
        for rows in [0, 511, 513, 700, 3_000, 6_000] {
            let query = s.where_("n", Comparison::Less, rows);
            assert_eq!(s.fetched(&query).0, rows as usize, "{spread} {rows}");
        }
    }
}

/// A table whose oldest rows are deleted regularly.
#[test]
fn unused_row_ids_do_not_hide_other_rows() {
    for gone in [0, 10_000, 100_000, 1_000_000, 100_000_000] {
        let s = Setting::behind(SCHEMA, 10_000, 1, gone);
        let (count, visits) = s.fetched(&s.where_("n", Comparison::Less, 700));
        assert_eq!((count, visits.rows), (700, 0), "{gone}: {visits:?}");
    }
}

/// Ranges without rows take time as well.
#[test]
fn ranges_without_rows_are_cancelled() {
    let s = Setting::of(PLAIN, 10, 1);
    let query = Query {
        predicate: Some(Predicate::In {
            operand: id_field(&s).into(),
            values: (1_000..3_000).map(Value::Int).collect(),
        }),
        ..Query::default()
    };
    for abandoned in [false, true] {
        let scans = scans_until_the_fifth_cancels(&s, &query, abandoned);
        assert!(scans < 70, "{scans} scans");
    }
}

/// Runs a query that is cancelled, by its caller or by the library, during its fifth scan. Returns
/// the number of its scans.
fn scans_until_the_fifth_cancels(s: &Setting, query: &Query, abandoned: bool) -> usize {
    let cancellation = dflat_engine::fetch::Cancellation::new();
    let backend = Arc::clone(&s.backend);
    let (mut scans, cancel) = (0, cancellation.clone());
    let mut snapshot = Meanwhile {
        snapshot: backend.snapshot(View::Pinned).unwrap(),
        scans: 0,
        write: Box::new(|count| {
            scans = count;
            if count == 5 {
                cancel.cancel();
            }
        }),
    };
    let mut control = Control::default();
    if abandoned {
        control.abandonment = Some(cancellation);
    } else {
        control.cancellation = Some(cancellation);
    }
    let outcome = fetch(&mut snapshot, &s.table, query, &control, Origin::default());
    drop(snapshot);
    assert!(outcome.is_err(), "{scans} scans");
    scans
}
