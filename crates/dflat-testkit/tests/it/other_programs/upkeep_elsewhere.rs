//! The upkeep of another process: index batches, reclaiming and pruning are commits without
//! changes, so nothing is read again, nothing is delivered and no transaction is `Busy`.

use std::cell::Cell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use dflat::{Object, Result, Subscription, TransactionContext, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_model::record::ChangeRecord;
use dflat_sqlite::{Reclaim, SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::{bounded, next, until};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use dflat_testkit::shelf::{v1::library as v1, v2::library as v2};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::files::change_log::records;

/// Two engines on one file, as two processes have them.
struct Pair {
    /// Does the upkeep.
    writer: Workspace,
    /// Subscribes, and does no upkeep.
    reader: Workspace,
    subscriptions: Vec<Subscription>,
    /// The commits of both that change the objects.
    followed: Cell<u64>,
    own: Cell<u64>,
    path: PathBuf,
    _directory: TempDir,
}

fn open(path: &Path, options: SqliteOptions) -> Workspace {
    // However slow the machine is, no delivery is merged with another one.
    let patient = EngineOptions {
        patience: Duration::from_secs(300),
        ..EngineOptions::default()
    };
    let backend = SqliteBackend::open(path, options).unwrap();
    Workspace::on_backend(backend, patient)
}

impl Pair {
    /// Opens a new file.
    fn new(writing: SqliteOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = open(&path, writing);
        let reader = open(&path, idle());
        Self {
            writer,
            reader,
            subscriptions: Vec::new(),
            followed: Cell::new(0),
            own: Cell::new(0),
            path,
            _directory: directory,
        }
    }

    /// Subscribes to all objects of a type, and to their number.
    fn subscribe<T: Object>(&mut self) {
        let reader = &self.reader;
        let all = reader.subscribe(reader.fetch::<T>(), |update| drop(update.unwrap()));
        let count = reader.fetch::<T>().live_count();
        let count = reader.subscribe(count, |count| assert!(count.is_ok()));
        self.subscriptions.extend([all.unwrap(), count.unwrap()]);
        self.reader.settle().unwrap();
    }

    /// Checks that the commits that change objects are delivered, and nothing else.
    fn check(&self) {
        self.reader.refresh().unwrap();
        self.reader.settle().unwrap();
        for subscription in &self.subscriptions {
            assert!(subscription.error().is_none(), "{:?}", subscription.error());
        }
        let stats = self.reader.stats();
        let first = self.subscriptions.len() as u64;
        let commits = self.followed.get() + self.own.get();
        assert_eq!(stats.deliveries, first + 2 * commits);
        assert_eq!(stats.followed_commits, self.followed.get());
        assert_eq!(stats.renewals, 0);
    }

    /// Inserts objects in a transaction of the writer.
    fn insert(&self, mut ids: Range<i32>, length: usize) {
        let change = move |tx: &TransactionContext| ids.try_for_each(|id| put(tx, id, length));
        let inserted = self.writer.perform_changes([Other::TABLE], change);
        inserted.wait().unwrap();
    }

    /// Deletes objects in a transaction of the writer. Afterwards the writer keeps the write access
    /// until the returned value is dropped.
    fn delete_and_hold(&self, ids: Range<i32>) -> Sender<()> {
        let (is_queued, go) = mpsc::channel();
        let deleted = self.writer.perform_changes([Other::TABLE], move |tx| {
            next(&go);
            delete(tx, ids)
        });
        let (sender, held) = mpsc::channel();
        let (begun, has_begun) = mpsc::channel();
        let writer = self.writer.write_first();
        writer
            .perform_changes([v1::Book::TABLE, Other::TABLE], move |_| {
                begun.send(()).unwrap();
                let _: std::result::Result<(), _> = held.recv();
                Ok(())
            })
            .detach();
        is_queued.send(()).unwrap();
        next(&has_begun);
        deleted.wait().unwrap();
        sender
    }

    /// Performs a transaction of the reader, between whose first read and first change upkeep runs.
    fn change_after<R>(&self, id: i32, upkeep: impl FnOnce() -> R) -> R {
        let tables = [Other::TABLE, v1::Book::TABLE];
        let performed = self.reader.perform_changes_blocking(tables, |tx| {
            assert!(tx.get::<Other>(id)?.is_none());
            let outcome = upkeep();
            put(tx, id, 1).map(|()| outcome)
        });
        self.own.set(self.own.get() + 1);
        performed.unwrap()
    }

    fn number(&self, sql: &str) -> i64 {
        let connection = Connection::open(&self.path).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn unused_pages(&self) -> i64 {
        self.number("SELECT freelist_count FROM pragma_freelist_count")
    }

    /// The id of the first record.
    fn first_record(&self) -> i64 {
        self.number("SELECT min(id) FROM dflat__log")
    }

    /// How many upkeep commits have a record.
    fn upkeep_records(&self) -> i64 {
        if self.number("SELECT count(*) FROM sqlite_schema WHERE name = 'dflat__log'") == 0 {
            return 0;
        }
        let records = records(&self.path);
        let is_upkeep = |record: &&Vec<u8>| ChangeRecord::decode(record).unwrap().changes_nothing();
        records.iter().filter(is_upkeep).count() as i64
    }
}

/// Options of a process that does no upkeep by itself.
fn idle() -> SqliteOptions {
    SqliteOptions {
        reclaim: Reclaim::Never,
        ..SqliteOptions::default()
    }
}

fn delete(tx: &TransactionContext, ids: Range<i32>) -> Result<()> {
    let range = Other::ID.ge(ids.start) & Other::ID.lt(ids.end);
    tx.delete_where(range).map(drop)
}

fn put(tx: &TransactionContext, id: i32, length: usize) -> Result<()> {
    let note = Some("x".repeat(length));
    let data = OtherData { id, note };
    tx.submit(OtherChangeRequest::creation(data)).map(drop)
}

// Promise: concurrency#C84, live-queries#L70
#[test]
fn reclaiming_of_another_process_is_not_noticed() {
    bounded(|| {
        let reclaims_amid = || {
            let mut pair = Pair::new(SqliteOptions {
                reclaim: Reclaim::Idle {
                    pages: 8,
                    percent: 2,
                    after: Duration::from_millis(1),
                },
                ..SqliteOptions::default()
            });
            pair.insert(0..300, 4_000);
            // Records of the deleted objects would use their pages, so nobody follows yet.
            let hold = pair.delete_and_hold(1..300);
            pair.subscribe::<Other>();
            let is_amid = pair.unused_pages() > 100;
            pair.change_after(1, || {
                drop(hold);
                until(|| pair.unused_pages() < 8);
            });
            assert!(!is_amid || pair.upkeep_records() > 10);
            pair.check();
            pair.insert(2..3, 1);
            pair.followed.set(1);
            pair.check();
            is_amid
        };
        // On a very slow machine the pages may be given back earlier.
        until(reclaims_amid);
    });
}

/// The second engine is of older code, which does not know the indexes.
// Promise: concurrency#C84, live-queries#L70
#[test]
fn index_batches_of_another_process_are_not_noticed() {
    bounded(|| {
        let mut pair = Pair::new(idle());
        let books = |tx: &TransactionContext, ids: Range<i32>| {
            ids.into_iter().try_for_each(|id| {
                let data = v1::BookData {
                    id,
                    isbn: Some(format!("isbn {id}")),
                    ..v1::BookData::default()
                };
                tx.submit(v1::BookChangeRequest::creation(data)).map(drop)
            })
        };
        let created = pair
            .writer
            .perform_changes([v1::Book::TABLE], move |tx| books(tx, 0..1_500));
        created.wait().unwrap();
        pair.insert(0..1, 1);
        pair.subscribe::<Other>();
        pair.subscribe::<v1::Book>();
        let before = pair.upkeep_records();
        pair.change_after(1, || {
            // A handler may not wait, though this is another engine's work.
            let writer = &pair.writer;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    writer.build_indexes([v2::Book::TABLE]).unwrap();
                    writer.indexes_ready().wait().unwrap();
                });
            });
        });
        assert!(pair.upkeep_records() >= before + 3);
        pair.check();
        let added = pair
            .reader
            .perform_changes([v1::Book::TABLE], move |tx| books(tx, 1_500..1_501));
        added.wait().unwrap();
        pair.own.set(pair.own.get() + 1);
        pair.check();
    });
}

// Promise: concurrency#C84, live-queries#L70, storage-format#S34
#[test]
fn pruning_of_another_process_is_not_noticed() {
    bounded(|| {
        let prunes_amid = || {
            let mut pair = Pair::new(SqliteOptions {
                change_log: true,
                change_log_bytes_max: 20_000,
                ..idle()
            });
            // The deleted object is in the record.
            pair.insert(1..2, 40_000);
            let hold = pair.delete_and_hold(1..2);
            pair.subscribe::<Other>();
            let is_amid = pair.change_after(1, || {
                let is_amid = pair.first_record() == 1;
                drop(hold);
                until(|| pair.first_record() > 1);
                is_amid
            });
            pair.check();
            is_amid
        };
        // On a very slow machine the records may be deleted earlier.
        until(prunes_amid);
    });
}
