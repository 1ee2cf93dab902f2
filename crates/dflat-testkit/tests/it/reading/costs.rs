//! The cost of queries: how many rows and index entries the backend reads.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::fetch::{self, Control};
use dflat_engine::object::Origin;
use dflat_engine::storage::{
    Backend, CloseOptions, Indexes, Row, ScanPlan, Snapshot, Source, StateId, View,
};
use dflat_model::{Direction, Nulls, Order, Predicate, Query, Table};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::Fixture;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Task, TaskData};

/// The number of objects.
pub(crate) const COUNT: i32 = 2000;

/// A snapshot that counts the rows and entries that it reads.
pub(crate) struct Counting {
    inner: Box<dyn Snapshot>,
    /// Rows with their payloads.
    pub(crate) rows: usize,
    /// The number of these rows that were found by a key.
    pub(crate) reached: usize,
    /// Entries of keys, without payloads.
    pub(crate) entries: usize,
    /// Scans of rows or entries. Each value that is looked up takes one.
    pub(crate) scans: usize,
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
            scans,
        } = self;
        *scans += 1;
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
pub(crate) struct Costs {
    backend: Arc<SqliteBackend>,
    path: PathBuf,
    _directory: tempfile::TempDir,
}

/// The result of a query, and its cost.
#[derive(Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) found: usize,
    pub(crate) rows: usize,
    pub(crate) entries: usize,
}

impl Costs {
    pub(crate) fn new() -> Self {
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
        Self::of(fixture)
    }

    /// A file of tasks, in three lists and of five days.
    pub(crate) fn of_tasks() -> Self {
        Self::of_tasks_due(|id| Some(i64::from(id % 5)))
    }

    /// The same tasks with these days.
    pub(crate) fn of_tasks_due(due: impl Fn(i32) -> Option<i64>) -> Self {
        let fixture = Fixture::sqlite();
        fixture.create::<Task>((0..300).map(|id| TaskData {
            id,
            list: id % 3,
            due: due(id),
            title: Some(format!("{:03}", 999 - id)),
            ..TaskData::default()
        }));
        Self::of(fixture)
    }

    /// The file of a workspace.
    fn of(fixture: Fixture) -> Self {
        let path = fixture.path().unwrap();
        let (workspace, directory) = fixture.into_parts();
        workspace.shutdown().unwrap();
        Self {
            backend: SqliteBackend::open(&path, SqliteOptions::default()).unwrap(),
            path,
            _directory: directory.unwrap(),
        }
    }

    /// A file of items, every third of which has the rank 1. Each cluster has a number of items
    /// after a row id.
    pub(crate) fn in_clusters(clusters: &[(i64, i32)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("clusters.db");
        let mut first = 0;
        for (row_id, count) in clusters {
            let workspace = dflat::Workspace::open(&path).unwrap();
            // SQLite stores the last row id once there is a row.
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
            path,
            _directory: directory,
        }
    }

    /// A file of items of this many bytes, with ranks from 0 to 99 and as many names.
    pub(crate) fn of_large_items(count: i32, bytes: usize) -> Self {
        let fixture = Fixture::sqlite();
        fixture.create::<Item>((0..count).map(|n| ItemData {
            id: format!("{n:05}"),
            rank: n % 100,
            size: n,
            name: Some(format!("{:02}", n % 100)),
            nick: Some("x".repeat(bytes)),
            ..ItemData::default()
        }));
        Self::of(fixture)
    }

    /// Changes the file as another program does, with or without the triggers that note foreign
    /// rows.
    pub(crate) fn run_sql(&self, sql: &str, with_triggers: bool) {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
        connection.set_db_config(triggers, with_triggers).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
    }

    pub(crate) fn snapshot(&self) -> Box<dyn Snapshot> {
        Arc::clone(&self.backend).snapshot(View::Pinned).unwrap()
    }

    pub(crate) fn counting(&self) -> Counting {
        Counting {
            inner: self.snapshot(),
            rows: 0,
            reached: 0,
            entries: 0,
            scans: 0,
        }
    }

    pub(crate) fn fetch(&self, query: &Query) -> Cost {
        let mut snapshot = self.counting();
        let (control, origin) = (Control::default(), Origin::default());
        let found = fetch::fetch(&mut snapshot, &Item::TABLE, query, &control, origin);
        Cost {
            found: found.unwrap().len(),
            rows: snapshot.rows,
            entries: snapshot.entries,
        }
    }

    pub(crate) fn count(&self, query: &Query) -> Cost {
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

pub(crate) fn cost(found: usize, rows: usize, entries: usize) -> Cost {
    Cost {
        found,
        rows,
        entries,
    }
}

/// A typed condition as plain data, by its bytes.
pub(crate) fn plain(condition: &dflat::Predicate<Item>) -> Predicate {
    Predicate::from_bytes(&condition.to_bytes().unwrap()).unwrap()
}

pub(crate) fn filtered(condition: &dflat::Predicate<Item>) -> Query {
    Query {
        predicate: Some(plain(condition)),
        ..Query::default()
    }
}

/// The order by the field that a condition compares.
pub(crate) fn by(condition: &dflat::Predicate<Item>, direction: Direction) -> Order {
    let Predicate::Compare { left, .. } = plain(condition) else {
        panic!("{condition} is no comparison");
    };
    Order {
        key: left,
        direction,
        nulls: Nulls::Smallest,
    }
}

/// The largest number of rows that are read by a key before the query reads all rows; the last of
/// them shows that there are too many.
pub(crate) fn reached_max(rows: usize) -> usize {
    (rows / 8).max(512) + 1
}
