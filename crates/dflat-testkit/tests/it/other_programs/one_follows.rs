//! One engine writes, and another one follows it by its records.

use std::sync::Arc;

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_engine::transaction::Recording;
use dflat_sqlite::{Operation, SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

use super::two_engines::Process;

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
        let mut reader = Process {
            workspace: Workspace::on_backend(backend, EngineOptions::default()),
            subscriptions: Vec::new(),
        };
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
