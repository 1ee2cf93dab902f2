//! What queries cost, counted: how many rows and entries the backend is asked for.

use std::ops::ControlFlow;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::fetch::{self, Control, PROBE_MAX};
use dflat_engine::object::Origin;
use dflat_engine::storage::{
    Backend, CloseOptions, Indexes, Row, ScanPlan, Snapshot, Source, StateId, View,
};
use dflat_model::{
    Comparison, Cursor, Direction, Expression, Nulls, Order, Predicate, Query, RowId, Table, Value,
    ValueRef,
};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::Fixture;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Task, TaskData};

/// How many objects there are.
const COUNT: i32 = 2000;

/// A snapshot that counts what it is asked for.
struct Counting {
    inner: Box<dyn Snapshot>,
    /// Rows with their payloads.
    rows: usize,
    /// Those of them that a key gave.
    reached: usize,
    /// Entries of keys, without payloads.
    entries: usize,
}

impl Snapshot for Counting {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Self {
            inner,
            rows,
            reached,
            entries,
        } = self;
        let by_key = plan.payload && !matches!(plan.source, Source::Rows | Source::RowsAfter(_));
        let counter = if plan.payload { rows } else { entries };
        inner.scan(plan, &mut |row| {
            *counter += 1;
            *reached += usize::from(by_key);
            visit(row)
        })
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}

/// A file of items: ranks and sizes from 0 to 99, names and nicks of 500 values.
struct Costs {
    backend: Arc<SqliteBackend>,
    _directory: tempfile::TempDir,
}

/// What a query gave, and what for.
#[derive(Debug, PartialEq)]
struct Cost {
    found: usize,
    rows: usize,
    entries: usize,
}

impl Costs {
    fn new() -> Self {
        let fixture = Fixture::sqlite();
        fixture.create::<Item>((0..COUNT).map(|n| {
            let name = Some(format!("{:03}", n * 7 % 500));
            ItemData {
                id: format!("{n:05}"),
                rank: n % 100,
                size: n % 100,
                name: name.clone(),
                nick: name,
                ..ItemData::default()
            }
        }));
        let path = fixture.path().unwrap();
        let (workspace, directory) = fixture.into_parts();
        workspace.shutdown().unwrap();
        Self {
            backend: SqliteBackend::open(&path, SqliteOptions::default()).unwrap(),
            _directory: directory.unwrap(),
        }
    }

    /// A file of tasks, in three lists and of five days.
    fn of_tasks() -> Self {
        let fixture = Fixture::sqlite();
        fixture.create::<Task>((0..300).map(|id| TaskData {
            id,
            list: id % 3,
            due: Some(i64::from(id % 5)),
            title: Some(format!("{:03}", 999 - id)),
            ..TaskData::default()
        }));
        let path = fixture.path().unwrap();
        let (workspace, directory) = fixture.into_parts();
        workspace.shutdown().unwrap();
        Self {
            backend: SqliteBackend::open(&path, SqliteOptions::default()).unwrap(),
            _directory: directory.unwrap(),
        }
    }

    /// A file of items, of which every third has the rank 1: so many behind each of these row ids.
    fn in_clusters(clusters: &[(i64, i32)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("clusters.db");
        let mut first = 0;
        for (row_id, count) in clusters {
            let workspace = dflat::Workspace::open(&path).unwrap();
            // The last row id is stored when there is one.
            if first > 0 {
                let sql = rusqlite::Connection::open(&path).unwrap();
                let text = "UPDATE sqlite_sequence SET seq = ? WHERE name = ? AND seq <= ?1";
                let changed = sql.execute(text, (row_id, Item::TABLE.name.to_string()));
                assert_eq!(changed.unwrap(), 1, "{row_id}");
            }
            let numbers = first..first + count;
            first += count;
            let added = workspace.perform_changes([Item::TABLE], move |tx| {
                let mut items = numbers.clone().map(|n| ItemData {
                    id: format!("{n:05}"),
                    rank: i32::from(n % 3 == 0),
                    size: n % 3,
                    ..ItemData::default()
                });
                items.try_for_each(|item| tx.submit(ItemChangeRequest::creation(item)).map(drop))
            });
            added.wait().unwrap();
            workspace.shutdown().unwrap();
        }
        Self {
            backend: SqliteBackend::open(&path, SqliteOptions::default()).unwrap(),
            _directory: directory,
        }
    }

    fn counting(&self) -> Counting {
        let inner = Arc::clone(&self.backend).snapshot(View::Pinned).unwrap();
        Counting {
            inner,
            rows: 0,
            reached: 0,
            entries: 0,
        }
    }

    fn fetch(&self, query: &Query) -> Cost {
        let mut snapshot = self.counting();
        let (control, origin) = (Control::default(), Origin::default());
        let found = fetch::fetch(&mut snapshot, &Item::TABLE, query, &control, origin);
        Cost {
            found: found.unwrap().len(),
            rows: snapshot.rows,
            entries: snapshot.entries,
        }
    }

    fn count(&self, query: &Query) -> Cost {
        let mut snapshot = self.counting();
        let found = fetch::count(&mut snapshot, &Item::TABLE, query, &Control::default());
        Cost {
            found: found.unwrap(),
            rows: snapshot.rows,
            entries: snapshot.entries,
        }
    }
}

impl Drop for Costs {
    fn drop(&mut self) {
        self.backend.close(CloseOptions::default()).unwrap();
    }
}

fn cost(found: usize, rows: usize, entries: usize) -> Cost {
    Cost {
        found,
        rows,
        entries,
    }
}

/// A typed condition as plain data, by its bytes.
fn plain(condition: &dflat::Predicate<Item>) -> Predicate {
    Predicate::from_bytes(&condition.to_bytes().unwrap()).unwrap()
}

fn filtered(condition: &dflat::Predicate<Item>) -> Query {
    Query {
        predicate: Some(plain(condition)),
        ..Query::default()
    }
}

/// The order by the field that a condition compares.
fn by(condition: &dflat::Predicate<Item>, direction: Direction) -> Order {
    let Predicate::Compare { left, .. } = plain(condition) else {
        panic!("{condition} is no comparison");
    };
    Order {
        key: left,
        direction,
        nulls: Nulls::Smallest,
    }
}

#[test]
fn a_limit_ends_the_reading() {
    let costs = Costs::new();
    let limited = |query: Query| Query {
        limit: Some(10),
        ..query
    };
    assert_eq!(costs.fetch(&limited(Query::default())), cost(10, 10, 0));
    // Every hundredth has this size.
    assert_eq!(
        costs.fetch(&limited(filtered(&Item::SIZE.eq(3)))),
        cost(10, 904, 0)
    );
    assert_eq!(
        costs.fetch(&limited(filtered(&Item::RANK.eq(3)))),
        cost(10, 10, 0)
    );
    for direction in [Direction::Ascending, Direction::Descending] {
        let by_index = Query {
            order: vec![by(&Item::NAME.eq(""), direction)],
            limit: Some(10),
            ..Query::default()
        };
        assert_eq!(costs.fetch(&by_index), cost(10, 10, 0));
        let by_none = Query {
            order: vec![by(&Item::NICK.eq(""), direction)],
            ..by_index
        };
        assert_eq!(costs.fetch(&by_none), cost(10, 2000, 0));
    }
}

#[test]
fn a_page_costs_itself() {
    let costs = Costs::new();
    // In the middle of twenty equal ranks.
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut page = Query {
            order: vec![by(&Item::RANK.eq(0), direction)],
            limit: Some(25),
            ..Query::default()
        };
        page.after = Some(Cursor {
            order: page.order_fingerprint(),
            keys: vec![Value::Int(50)],
            row_id: RowId(1052),
        });
        assert_eq!(costs.fetch(&page), cost(25, 25, 0));
    }
    let inserted = Query {
        after: Some(Cursor {
            order: Query::default().order_fingerprint(),
            keys: Vec::new(),
            row_id: RowId(1900),
        }),
        ..Query::default()
    };
    assert_eq!(costs.fetch(&inserted), cost(100, 100, 0));
}

/// The most of so many rows that are read by a key before all are: the last tells that there are
/// too many.
fn reached_max(rows: usize) -> usize {
    (rows / 8).max(512) + 1
}

#[test]
fn a_range_costs_what_it_has() {
    let costs = Costs::new();
    assert_eq!(costs.fetch(&filtered(&Item::ID.eq("00007"))), cost(1, 1, 0));
    assert_eq!(
        costs.fetch(&filtered(&Item::RANK.between(3, 4))),
        cost(40, 40, 0)
    );
    assert_eq!(
        costs.fetch(&filtered(&Item::NAME.starts_with("49"))),
        cost(40, 40, 0)
    );
    let either = Item::RANK.eq(1) | Item::RANK.gt(98);
    assert_eq!(costs.fetch(&filtered(&either)), cost(40, 40, 0));
    let keys = Item::ID.in_((0..10_000).map(|n| format!("{n:05}")));
    // All have such a key: after some hundreds of look-ups all rows are read.
    let spent = costs.fetch(&filtered(&keys));
    assert_eq!(spent.found, 2000);
    assert!(spent.rows <= 2000 + reached_max(2000), "{spent:?}");
    assert_eq!(
        costs.fetch(&filtered(&(Item::RANK.gt(5) & Item::RANK.lt(2)))),
        cost(0, 0, 0)
    );
}

#[test]
fn counts_and_extremes_read_no_objects() {
    let costs = Costs::new();
    assert_eq!(
        costs.count(&filtered(&Item::RANK.lt(50))),
        cost(1000, 0, 1000)
    );
    assert_eq!(costs.count(&Query::default()), cost(2000, 0, 2000));
    let first = Query {
        limit: Some(1),
        ..filtered(&Item::RANK.lt(50))
    };
    assert_eq!(costs.count(&first), cost(1, 0, 1));
    assert_eq!(
        costs.count(&filtered(&Item::SIZE.lt(50))),
        cost(1000, 2000, 0)
    );
    let largest = Query {
        order: vec![by(&Item::RANK.eq(0), Direction::Descending)],
        limit: Some(1),
        ..filtered(&Item::RANK.is_not_null())
    };
    assert_eq!(costs.fetch(&largest), cost(1, 1, 0));
}

#[test]
fn an_index_has_the_values_of_its_field() {
    let costs = Costs::new();
    let rank: Expression = by(&Item::RANK.eq(0), Direction::Ascending).key;
    let size: Expression = by(&Item::SIZE.eq(0), Direction::Ascending).key;
    let sum = |query: &Query, of: &Expression| {
        let (mut snapshot, mut sum) = (costs.counting(), 0);
        let control = Control::default();
        let add = &mut |value: ValueRef<'_>| match value {
            ValueRef::Int(number) => sum += number,
            other => panic!("{other} is no rank"),
        };
        fetch::aggregate(&mut snapshot, &Item::TABLE, query, of, &control, add).unwrap();
        (sum, snapshot.rows, snapshot.entries)
    };
    let low = filtered(&Item::RANK.lt(10));
    assert_eq!(sum(&Query::default(), &rank), (99_000, 0, 2000));
    assert_eq!(sum(&low, &rank), (900, 0, 200));
    // These have no index, or another one.
    assert_eq!(sum(&Query::default(), &size), (99_000, 2000, 0));
    assert_eq!(sum(&low, &size), (900, 200, 0));
    let select = |query: &Query, of: &Expression| {
        let mut snapshot = costs.counting();
        let (control, of) = (Control::default(), std::slice::from_ref(of));
        let read = &mut |row: Row<'_>| Ok(fetch::value_of(&row, &of[0])?.to_value());
        let found = fetch::select(&mut snapshot, &Item::TABLE, query, of, &control, read);
        (found.unwrap().len(), snapshot.rows, snapshot.entries)
    };
    assert_eq!(select(&low, &rank), (200, 0, 200));
    assert_eq!(select(&low, &size), (200, 200, 0));
    let largest = Query {
        order: vec![by(&Item::RANK.eq(0), Direction::Descending)],
        limit: Some(30),
        ..Query::default()
    };
    assert_eq!(select(&largest, &rank), (30, 0, 30));
}

#[test]
fn an_index_over_several_fields_has_the_values_of_all() {
    let costs = Costs::of_tasks();
    let field = |condition: &dflat::Predicate<Task>| {
        let bytes = condition.to_bytes().unwrap();
        match Predicate::from_bytes(&bytes).unwrap() {
            Predicate::Compare { left, .. } => left,
            other => panic!("{other} is no comparison"),
        }
    };
    let (list, due) = (field(&Task::LIST.eq(0)), field(&Task::DUE.eq(0)));
    let (title, rank) = (field(&Task::TITLE.eq("")), field(&Task::RANK.eq(0)));
    let by = |key: &Expression| Order {
        key: key.clone(),
        direction: Direction::Ascending,
        nulls: Nulls::Smallest,
    };
    let of_list = Predicate::from_bytes(&Task::LIST.eq(1).to_bytes().unwrap()).unwrap();
    let select = |query: &Query, fields: &[&Expression]| {
        let mut snapshot = costs.counting();
        let fields: Vec<Expression> = fields.iter().copied().cloned().collect();
        let read = &mut |row: Row<'_>| {
            let values = fields.iter().map(|field| fetch::value_of(&row, field));
            values.map(|value| Ok(value?.to_value())).collect()
        };
        let control = Control::default();
        let found: Vec<Vec<Value>> =
            fetch::select(&mut snapshot, &Task::TABLE, query, &fields, &control, read).unwrap();
        (found, snapshot.rows, snapshot.entries)
    };
    let by_due = Query {
        predicate: Some(of_list),
        order: vec![by(&due)],
        limit: Some(30),
        ..Query::default()
    };
    let (found, rows, entries) = select(&by_due, &[&due, &list]);
    let expected = (0..30).map(|n| vec![Value::Int(n / 20), Value::Int(1)]);
    assert_eq!(found, expected.collect::<Vec<_>>());
    // Both indexes that start with the list were counted.
    let counted = 2 * 100;
    assert_eq!((rows, entries), (0, counted + 30));
    // One of a pair stands in no index that has the order.
    let (found, rows, entries) = select(&by_due, &[&due, &rank]);
    assert_eq!((found.len(), rows, entries), (30, 30, counted));
    let by_title = Query {
        order: vec![by(&title)],
        ..by_due
    };
    let (found, rows, entries) = select(&by_title, &[&list, &title]);
    assert_eq!(found[0], [Value::Int(1), Value::text("701")]);
    assert_eq!((found.len(), rows, entries), (30, 0, counted + 30));
}

#[test]
fn a_choice_costs_entries_and_saves_rows() {
    let costs = Costs::new();
    // 600 and 800 rows, of which 240 are in both: counted, then read.
    let both = Item::RANK.lt(30) & Item::NAME.lt("200");
    let spent = costs.fetch(&filtered(&both));
    assert_eq!(spent.entries, 2 * (600 + 800));
    assert_eq!(spent.rows, spent.found);
    // 20 and 4 rows: the fewer.
    let few = Item::RANK.eq(7) & Item::NAME.eq("049");
    let spent = costs.fetch(&filtered(&few));
    assert_eq!((spent.rows, spent.entries), (4, 24));
    // A row of each side.
    let either = Item::RANK.eq(7) | Item::NAME.eq("049");
    let spent = costs.fetch(&filtered(&either));
    assert_eq!((spent.rows, spent.entries), (spent.found, 2 * 24));
}

#[test]
fn no_plan_costs_much_more_than_reading_everything() {
    let costs = Costs::new();
    let n = usize::try_from(COUNT).unwrap();
    for condition in [
        Item::RANK.ne(3),
        Item::RANK.ge(0),
        Item::RANK.ge(0) & Item::NAME.ge(""),
        Item::RANK.ge(0) | Item::NAME.ge(""),
        Item::RANK.not_in([1, 2, 3]) & Item::NAME.is_not_null() & Item::ID.gt(""),
    ] {
        for limit in [None, Some(5)] {
            let query = Query {
                order: vec![by(&Item::NICK.eq(""), Direction::Ascending)],
                limit,
                ..filtered(&condition)
            };
            let spent = costs.fetch(&query);
            assert!(spent.rows <= n + reached_max(n), "{condition} {spent:?}");
            // Counted once and read once, for each of three keys at most.
            assert!(
                spent.entries <= 2 * 3 * n.min(PROBE_MAX),
                "{condition} {spent:?}"
            );
        }
    }
}

/// Asks for what a third of so many rows has, and for what all have: how many rows a key gave.
fn reached_of_many(costs: &Costs, n: usize) -> usize {
    let either = Item::RANK.eq(1) | Item::ID.lt("1");
    let conditions = [
        (Item::RANK.eq(1), n.div_ceil(3)),
        (Item::RANK.ge(1), n.div_ceil(3)),
        (Item::RANK.between(0, 1), n),
        (either, n),
    ];
    let reached = conditions.map(|(condition, found)| {
        let (mut spent, query) = (costs.counting(), filtered(&condition));
        let (control, origin) = (Control::default(), Origin::default());
        let objects = fetch::fetch(&mut spent, &Item::TABLE, &query, &control, origin).unwrap();
        let ids = objects.iter().map(|object| object.row_id());
        assert!(ids.is_sorted_by(|a, b| a < b), "{condition}");
        assert_eq!(objects.len(), found, "{condition}");
        // Whatever the ids are: each once by its key, and once among all; a row at which the key
        // is followed no further is read twice.
        assert!(spent.reached <= n + 8, "{condition}: {}", spent.reached);
        assert!(
            spent.rows <= n + spent.reached,
            "{condition}: {}",
            spent.rows
        );
        // All are counted once, two ranges are, and some hundred ids are looked at.
        assert!(
            spent.entries <= 5 * n + 512,
            "{condition}: {}",
            spent.entries
        );
        spent.reached
    });
    reached.into_iter().max().unwrap()
}

#[test]
fn a_gap_between_row_ids_does_not_pass_for_rows() {
    let n = 6010;
    for behind in [1 << 17, 1 << 20, 1 << 40, i64::MAX - 6000] {
        let reached = reached_of_many(&Costs::in_clusters(&[(0, 6000), (behind, 10)]), n);
        // Rows at which it was asked how many there are were read twice.
        assert!(reached <= reached_max(n) + 3, "{behind}: {reached}");
        let reached = reached_of_many(&Costs::in_clusters(&[(0, 10), (behind, 6000)]), n);
        assert!(reached <= reached_max(n) + 3, "{behind}: {reached}");
    }
    let clusters: Vec<(i64, i32)> = (0..10).map(|n| ((n * n) << 35, 600)).collect();
    let reached = reached_of_many(&Costs::in_clusters(&clusters), 6000);
    assert!(reached <= reached_max(6000) + 3, "{reached}");
}

#[test]
fn gaps_beside_which_is_looked_pass_for_rows_up_to_the_last_id() {
    // Rows at the places alone.
    for ids in [10_000_i64, 20_000, 1 << 40] {
        let width = ids / 16 + 1;
        let place = |n: i64| width * n + (width as f64 * (n as f64 * 0.618).fract()) as i64;
        let clusters: Vec<(i64, i32)> = (0..16).map(|n| (place(n), 290)).collect();
        let rows = 16 * 290;
        let last = usize::try_from(clusters[15].0).unwrap() + 290;
        let reached = reached_of_many(&Costs::in_clusters(&clusters), rows);
        assert!(reached <= reached_max(last) + 3, "{ids}: {reached}");
    }
}

#[test]
fn what_no_key_serves_reads_each_row_once() {
    let costs = Costs::new();
    let computed = Predicate::Compare {
        left: Expression::Literal(Value::Int(1)),
        operator: Comparison::Equal,
        right: Expression::Literal(Value::Int(1)),
    };
    let query = Query {
        predicate: Some(computed),
        ..Query::default()
    };
    assert_eq!(costs.fetch(&query), cost(2000, 2000, 0));
}

#[test]
fn a_condition_that_was_sent_has_the_defaults_of_the_schema() {
    let read = |default| {
        let mut condition = plain(&Item::RANK.eq(3));
        if let Predicate::Compare { left, .. } = &mut condition
            && let Expression::Field(field) = left
        {
            field.default = default;
        }
        dflat::Predicate::<Item>::from_bytes(&condition.to_bytes())
    };
    assert!(read(Value::Int(0)).is_ok());
    for other in [Value::Int(3), Value::Null, Value::text("0")] {
        let kind = read(other).unwrap_err().kind();
        assert_eq!(kind, dflat::ErrorKind::InvalidArgument);
    }
}
