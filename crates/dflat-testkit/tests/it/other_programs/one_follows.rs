//! One engine writes, and another one follows it by its records.

use std::sync::Arc;
use std::time::Duration;

use dflat::Result;
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Looked, Snapshot, View, WriteTransaction,
};
use dflat_engine::transaction::Recording;
use dflat_sqlite::{Operation, SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

use super::counted_reads::{Counted, Read};
use super::noted_rows::Asleep;
use super::two_engines::{Process, recorded};

// Promise: live-queries#L62
#[test]
fn records_beyond_the_limit_are_read_again_once() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let limited = EngineOptions {
            follow_bytes_max: 200,
            ..EngineOptions::default()
        };
        let writer = Process::new(&path, EngineOptions::default());
        let mut reader = Process::new(&path, limited);
        let insert = |ids: std::ops::Range<i32>| {
            let inserted = writer.workspace.perform_changes([Other::TABLE], move |tx| {
                ids.into_iter().try_for_each(|id| {
                    let data = OtherData { id, note: None };
                    tx.submit(OtherChangeRequest::creation(data)).map(drop)
                })
            });
            inserted.wait().unwrap();
        };
        insert(0..1);
        reader.subscribe(|w| w.fetch::<Other>());
        reader.workspace.settle().unwrap();
        insert(1..100);
        reader.catch_up();
        assert_eq!(reader.workspace.stats().renewals, 1);
        insert(100..101);
        reader.catch_up();
        let stats = reader.workspace.stats();
        assert_eq!((stats.renewals, stats.followed_commits), (1, 1));
        assert_eq!(reader.logs()[0].len(), 3);
    });
}

/// An insertion has no state before, so its record suffices.
// Promise: storage-format#S44
#[test]
fn records_of_keys_only_are_read_again_after_an_update() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let keys_only = Recording {
            keys_only: true,
            ..Recording::default()
        };
        let engine = EngineOptions {
            recording: keys_only,
            ..EngineOptions::default()
        };
        let writer = Process::new(&path, engine);
        let mut reader = Process::new(&path, EngineOptions::default());
        let put = |id: i32, note: &'static str| {
            let put = writer.workspace.perform_changes([Other::TABLE], move |tx| {
                let note = Some(note.to_owned());
                let data = OtherData { id, note };
                tx.submit(OtherChangeRequest::upsert(data)).map(drop)
            });
            put.wait().unwrap();
        };
        put(1, "first");
        reader.subscribe(|w| w.fetch::<Other>());
        reader.workspace.settle().unwrap();
        let expected = [(2, "inserted", 0), (1, "updated", 1), (3, "inserted", 1)];
        for (deliveries, (id, note, renewals)) in (2..).zip(expected) {
            put(id, note);
            reader.catch_up();
            assert_eq!(reader.workspace.stats().renewals, renewals, "{note}");
            let logs = reader.logs();
            assert_eq!(logs[0].len(), deliveries, "{note}");
            assert!(logs[0].last().unwrap().contains(note));
        }
    });
}

/// A record accounts for the commit that made the table.
// Promise: live-queries#L61
#[test]
fn first_write_of_a_type_by_another_engine_is_followed() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let [writer, mut reader] = [(); 2].map(|()| Process::new(&path, EngineOptions::default()));
        let put = |id: i32| {
            let data = OtherData { id, note: None };
            let put = writer.workspace.perform_changes([Other::TABLE], move |tx| {
                tx.submit(OtherChangeRequest::creation(data)).map(drop)
            });
            put.wait().unwrap();
        };
        put(1);
        reader.subscribe(|w| w.fetch::<Other>());
        reader.subscribe(|w| w.fetch::<Item>().filter(Item::RANK.ge(0)));
        reader.workspace.settle().unwrap();
        let created = writer.workspace.perform_changes([Item::TABLE], |tx| {
            let data = ItemData {
                id: "of a new type".to_owned(),
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        });
        created.wait().unwrap();
        reader.catch_up();
        put(2);
        reader.catch_up();
        let logs = reader.logs();
        assert_eq!((logs[0].len(), logs[1].len()), (2, 2));
        assert!(logs[1][1].contains("of a new type"));
        let stats = reader.workspace.stats();
        // The writer fills the indexes of the new type in commits of upkeep.
        assert_eq!((stats.renewals, stats.followed_commits), (0, 2));
    });
}

// Promise: live-queries#L75
#[test]
fn engine_that_follows_writes_nothing() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = Process::new(&path, EngineOptions::default());
        let options = SqliteOptions {
            // The I/O of the writer's connections is not counted.
            io_stats: true,
            ..SqliteOptions::default()
        };
        let backend = SqliteBackend::open(&path, options).unwrap();
        let counted = Arc::clone(&backend);
        let mut reader = Process::on(backend, EngineOptions::default());
        let put = |id: i32, note: &str| {
            let note = Some(note.to_owned());
            let data = OtherData { id, note };
            let put = writer.workspace.perform_changes([Other::TABLE], move |tx| {
                tx.submit(OtherChangeRequest::upsert(data)).map(drop)
            });
            put.wait().unwrap();
        };
        put(0, "first");
        reader.subscribe(|w| w.fetch::<Other>());
        reader.workspace.settle().unwrap();
        for id in 0..20 {
            put(id % 7, &format!("note {id}"));
            reader.catch_up();
        }
        let io = counted.io_report().unwrap();
        assert_eq!(io.count(Operation::Write), 0, "{io}");
        assert_eq!((io.syncs(), io.commits, io.records), (0, 0, 0), "{io}");
        assert!(io.count(Operation::Read) > 0, "{io}");
        let stats = reader.workspace.stats();
        assert_eq!((stats.renewals, stats.followed_commits), (0, 20));
    });
}

/// However slow the machine is, no delivery is merged with another one.
fn patient() -> EngineOptions {
    EngineOptions {
        patience: Duration::from_secs(300),
        ..EngineOptions::default()
    }
}

/// Sets the rank of an item.
fn rank(process: &Process, id: &'static str, rank: i32) {
    let put = process.workspace.perform_changes([Item::TABLE], move |tx| {
        let data = ItemData {
            id: id.to_owned(),
            rank,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::upsert(data)).map(drop)
    });
    put.wait().unwrap();
}

/// Each changed row is read once, however many queries are subscribed to. After that, a commit of
/// another engine takes the way of one of this engine.
// Promise: live-queries#L78
#[test]
fn commits_of_another_engine_have_their_rows_read_once_and_no_query() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = Process::new(&path, EngineOptions::default());
        ["a", "b", "c"]
            .into_iter()
            .for_each(|id| rank(&writer, id, 0));
        let (backend, reads) = Counted::new(recorded(&path));
        let mut reader = Process::on(backend, patient());
        for least in 0..50 {
            reader.subscribe(move |w| w.fetch::<Item>().filter(Item::RANK.ge(least)));
            reader.subscribe(move |w| {
                let items = w.fetch::<Item>().filter(Item::RANK.le(least));
                items.order_by(Item::RANK.descending()).limit(8)
            });
        }
        reader.workspace.settle().unwrap();
        reads.lock().unwrap().clear();
        for round in 1..=10 {
            rank(&writer, "a", round);
            rank(&writer, "b", 2 * round);
            reader.catch_up();
            let of_rows = |read: &Read| read.table == "item" && read.row_ids == Some(1);
            let found = std::mem::take(&mut *reads.lock().unwrap());
            assert!(matches!(found.len(), 1..=2), "{found:?}");
            assert!(found.iter().all(of_rows), "{found:?}");
        }
        let stats = reader.workspace.stats();
        let read_again = (stats.renewals, stats.rereads, stats.followed_commits);
        assert_eq!(read_again, (0, 0, 20));
        let all = reader.logs().swap_remove(0);
        assert_eq!(
            all.len(),
            21,
            "the first result, and one delivery for each commit"
        );
    });
}

/// The engine looks for commits only when it writes.
// Promise: live-queries#L78
#[test]
fn commits_of_another_engine_are_delivered_before_a_later_completion_of_this_one() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let writer = Process::new(&path, patient());
        rank(&writer, "theirs", 0);
        let mut own = Process::on(Arc::new(Asleep(recorded(&path))), patient());
        own.subscribe(|w| w.fetch::<Item>().order_by(Item::ID.ascending()));
        own.workspace.settle().unwrap();
        for round in 1..=10 {
            rank(&writer, "theirs", 100 + round);
            rank(&own, "own", 200 + round);
            // Nothing was waited for but the completion.
            let deliveries = own.logs().swap_remove(0);
            assert_eq!(deliveries.len(), 1 + 2 * round as usize);
            let has =
                |rank: i32| deliveries[deliveries.len() - 1].contains(&format!("rank: {rank}"));
            assert!(has(100 + round) && has(200 + round), "{deliveries:?}");
        }
        assert_eq!(own.workspace.stats().renewals, 0);
    });
}

/// A backend that has another engine commit while its own engine begins to follow.
struct Beginning {
    inner: Arc<SqliteBackend>,
    commit: Box<dyn Fn(&'static str) + Send + Sync>,
}

impl Backend for Beginning {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        Arc::clone(&self.inner).snapshot(view)
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Arc::clone(&self.inner).begin(durability)
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        (self.commit)("before");
        Backend::follow(&*self.inner, look);
        (self.commit)("after");
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.inner.close(options)
    }
}

/// The process is known to others before it reads the state on which it stands: that state has the
/// commits made until then, and the later ones have records.
// Promise: live-queries#L28
#[test]
fn commits_of_another_engine_while_this_one_begins_to_follow_are_not_missed() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let open = || SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        let writer = Arc::new(Process::on(open(), EngineOptions::default()));
        rank(&writer, "first", 0);
        let commits = Arc::clone(&writer);
        let backend = Beginning {
            inner: open(),
            commit: Box::new(move |id| rank(&commits, id, 0)),
        };
        let mut reader = Process::on(Arc::new(backend), patient());
        reader.subscribe(|w| w.fetch::<Item>());
        reader.workspace.settle().unwrap();
        rank(&writer, "later", 0);
        reader.catch_up();
        let deliveries = reader.logs().swap_remove(0);
        assert_eq!(deliveries.len(), 2, "{deliveries:?}");
        for id in ["first", "before", "after"] {
            assert!(deliveries[0].contains(&format!("{id:?}")), "{deliveries:?}");
        }
        let stats = reader.workspace.stats();
        assert_eq!((stats.renewals, stats.followed_commits), (0, 1));
    });
}
