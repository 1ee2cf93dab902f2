//! Writes of other programs between commits of two engines on one file: only the rows that the
//! file notes as foreign are read again, where they suffice.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use dflat::{Fetch, Result, SubscribedObject, Subscription, TransactionContext, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Looked, Snapshot, View, WriteTransaction,
};
use dflat_sqlite::{Reclaim, SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use rusqlite::Connection;

/// A backend that is present as a follower, and looks for commits only if the caller asks.
pub(super) struct Asleep(pub(super) Arc<SqliteBackend>);

impl Backend for Asleep {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        Arc::clone(&self.0).snapshot(view)
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Arc::clone(&self.0).begin(durability)
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        drop(look);
        self.0.follow(Arc::new(|| Looked::Known));
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.0.close(options)
    }
}

/// A query of items.
type List = for<'w> fn(&'w Workspace) -> Fetch<'w, Item>;

/// The results that a subscriber was given, the latest one last.
type Shown = Arc<Mutex<Vec<String>>>;

/// A writer, and a follower that looks for commits when it is asked to.
struct Two {
    directory: tempfile::TempDir,
    writer: Workspace,
    follower: Workspace,
    subscriptions: Vec<Subscription>,
    lists: Vec<(List, Shown)>,
}

fn ids(items: &[Item]) -> String {
    let items = items
        .iter()
        .map(|item| format!("{}:{}", item.id(), item.rank()));
    items.collect::<Vec<_>>().join(" ")
}

fn put(tx: &TransactionContext, id: &str, rank: i32) -> Result<()> {
    let id = id.to_owned();
    let data = ItemData {
        id,
        rank,
        ..ItemData::default()
    };
    tx.submit(ItemChangeRequest::upsert(data)).map(drop)
}

impl Two {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions {
            reclaim: Reclaim::Never,
            ..SqliteOptions::default()
        };
        let open = || SqliteBackend::open(directory.path().join("a.db"), options.clone()).unwrap();
        let writer = Workspace::on_backend(open(), EngineOptions::default());
        let follower = Arc::new(Asleep(open()));
        let follower = Workspace::on_backend(follower, EngineOptions::default());
        let mut two = Self {
            directory,
            writer,
            follower,
            subscriptions: Vec::new(),
            lists: Vec::new(),
        };
        for (id, rank) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            two.write(id, rank);
        }
        two.writer.build_indexes([Item::TABLE]).unwrap();
        two.writer.indexes_ready().wait().unwrap();
        two.show(|w| w.fetch::<Item>().order_by(Item::ID.ascending()));
        two.show(|w| w.fetch::<Item>().filter(Item::RANK.ge(3)));
        two.show(|w| {
            let items = w.fetch::<Item>().order_by(Item::ID.descending());
            items.limit(2)
        });
        two
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("a.db")
    }

    fn write(&self, id: &'static str, rank: i32) {
        let tables = [Item::TABLE];
        let written = self
            .writer
            .perform_changes(tables, move |tx| put(tx, id, rank));
        written.wait().unwrap();
    }

    /// Writes as another program does.
    fn execute(&self, sql: &str) {
        let file = Connection::open(self.path()).unwrap();
        file.execute_batch(sql).unwrap();
    }

    /// The number of rows that the file notes as foreign.
    fn foreign(&self) -> i64 {
        let file = Connection::open(self.path()).unwrap();
        let count = file.query_row("SELECT count(*) FROM dflat__foreign", [], |row| row.get(0));
        count.unwrap()
    }

    fn show(&mut self, fetch: List) {
        let shown = Shown::default();
        let noted = Arc::clone(&shown);
        let subscription = self
            .follower
            .subscribe(fetch(&self.follower), move |update| {
                let update = update.unwrap();
                noted.lock().unwrap().push(ids(update.result()));
            });
        self.subscriptions.push(subscription.unwrap());
        self.follower.settle().unwrap();
        self.lists.push((fetch, shown));
    }

    /// Has the follower look, and checks that each subscriber has the present result.
    fn wake(&self) {
        self.follower.refresh().unwrap();
        self.follower.settle().unwrap();
        for (fetch, shown) in &self.lists {
            let present = ids(&fetch(&self.writer).all().unwrap());
            assert_eq!(shown.lock().unwrap().last(), Some(&present));
        }
    }

    /// How often the follower read everything again, and how often some rows.
    fn readings(&self) -> (u64, u64) {
        let stats = self.follower.stats();
        (stats.renewals, stats.rereads)
    }
}

const DELETE_B: &str = "DELETE FROM item WHERE __pk0 = 'b'";
const DELETE_C: &str = "DELETE FROM item WHERE __pk0 = 'c'";

// Promise: live-queries#L63
#[test]
fn only_the_rows_that_another_program_wrote_are_read_again() {
    let two = Two::new();
    // A commit that was under way when the follower began could be one without records.
    two.write("a", 7);
    two.wake();
    assert_eq!(
        (two.readings(), two.follower.stats().followed_commits),
        ((0, 0), 1)
    );
    two.execute(DELETE_B);
    two.wake();
    assert_eq!(two.readings(), (0, 1));
    // The note of the row stays, and the row is read again with the next ones.
    two.execute(DELETE_C);
    two.wake();
    assert_eq!((two.readings(), two.foreign()), ((0, 2), 2));
}

/// The follower that looks last never saw the rows noted as foreign.
// Promise: live-queries#L63
// Promise: storage-format#S35
#[test]
fn rows_that_another_process_has_mended_are_read_again() {
    let two = Two::new();
    two.write("a", 7);
    two.wake();
    two.execute(DELETE_B);
    two.write("d", 9);
    assert_eq!(two.foreign(), 0);
    two.execute(DELETE_C);
    two.write("e", 5);
    assert_eq!(two.foreign(), 0);
    two.wake();
    assert_eq!(two.readings(), (0, 1));
}

// Promise: live-queries#L63
#[test]
fn object_that_another_program_deletes_ends_its_subscription() {
    let two = Two::new();
    two.write("a", 7);
    two.wake();
    let b = two.follower.get::<Item>("b").unwrap().unwrap();
    let events = Shown::default();
    let noted = Arc::clone(&events);
    let subscription = two.follower.subscribe(&b, move |event| {
        let event = match event {
            SubscribedObject::Updated(item) => ids(&[item]),
            SubscribedObject::Deleted => "deleted".to_owned(),
        };
        noted.lock().unwrap().push(event);
    });
    two.execute(DELETE_B);
    two.wake();
    assert_eq!(
        (two.readings(), events.lock().unwrap().join(",")),
        ((0, 1), "deleted".to_owned())
    );
    drop(subscription);
}

#[test]
fn first_write_after_the_follower_began_is_read_as_a_whole() {
    let two = Two::new();
    two.execute(DELETE_B);
    two.wake();
    assert_eq!(two.readings(), (1, 0));
}

/// Without the presence file, the writer leaves no records, and notes no rows as foreign.
#[test]
fn commit_without_records_of_the_library_is_never_missed() {
    let two = Two::new();
    two.write("a", 7);
    two.wake();
    let presence = two.directory.path().join("a.db-dflat-presence");
    fs::remove_file(presence).unwrap();
    two.write("d", 9);
    two.execute(DELETE_B);
    two.wake();
    assert_eq!(two.readings().1, 0);
}

/// The same holds if only the last record was deleted or got another id, and whether or not the
/// writer has written since.
// Promise: storage-format#S29
#[test]
fn records_that_were_deleted_unread_have_everything_read_again() {
    const LAST: &str = "WHERE id = (SELECT max(id) FROM dflat__log)";
    for removal in [
        "DELETE FROM dflat__log".to_owned(),
        format!("DELETE FROM dflat__log {LAST}"),
        format!("UPDATE dflat__log SET id = 0 {LAST}"),
        format!("UPDATE dflat__log SET rowid = 0 {LAST}"),
    ] {
        for writes_later in [false, true] {
            let two = Two::new();
            two.write("a", 7);
            two.wake();
            two.write("d", 9);
            two.execute(DELETE_B);
            two.execute(&removal);
            if writes_later {
                two.write("e", 5);
            }
            two.wake();
            assert_eq!(two.readings(), (1, 0), "{removal}, {writes_later}");
        }
    }
}

/// A program may delete records that the follower has read.
// Promise: storage-format#S29
#[test]
fn first_records_that_another_program_deletes_are_not_missed() {
    let two = Two::new();
    two.write("a", 7);
    two.wake();
    two.write("a", 8);
    two.wake();
    let before = two.readings();
    two.execute("DELETE FROM dflat__log WHERE id < (SELECT max(id) FROM dflat__log)");
    two.execute(DELETE_B);
    two.wake();
    assert_eq!(two.readings(), (before.0, before.1 + 1));
}

#[test]
fn change_of_the_schema_has_everything_read_again() {
    let two = Two::new();
    two.write("a", 7);
    two.wake();
    two.execute("CREATE TABLE kept AS SELECT rowid AS id, * FROM item");
    two.execute("CREATE TABLE other_table (a)");
    two.wake();
    assert_eq!(two.readings(), (1, 0));
}

/// More rows than the file notes, of which the follower that looks last saw none.
// Promise: live-queries#L63
// Promise: storage-format#S17
#[test]
fn follower_that_slept_is_right_after_more_foreign_rows_than_are_noted() {
    let two = Two::new();
    let filled = two.writer.perform_changes([Item::TABLE], |tx| {
        (0..2_500).try_for_each(|number| put(tx, &format!("m{number:04}"), number))
    });
    filled.wait().unwrap();
    two.writer.indexes_ready().wait().unwrap();
    two.wake();
    let before = two.readings();
    two.execute("DELETE FROM item WHERE __pk0 LIKE 'm%' AND rowid % 2 = 0");
    // The next write of the type builds the indexes anew, and no row is noted any more.
    two.write("e", 5);
    two.writer.indexes_ready().wait().unwrap();
    assert_eq!(two.foreign(), 0);
    two.wake();
    assert_ne!(two.readings(), before);
    two.write("e", 6);
    two.wake();
}
