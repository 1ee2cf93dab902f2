//! The first tree of a type that has objects already is built in batches, beside writers.

use std::path::Path;
use std::sync::Arc;

use dflat::history::{KeepTrees, TreeBuild};
use dflat::{ErrorKind, Table, Workspace};
use dflat_engine::engine::{Engine, EngineOptions};
use dflat_history::commits::{build_batch, needs_batch};
use dflat_history::keeper::Keeper;
use dflat_history::tree::CheckLimits;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, Keyed, KeyedChangeRequest, KeyedData, Other, OtherChangeRequest,
};
use rusqlite::params;

use super::super::files::{data, file, having, open, payload, put, sql, steps};
use super::commits::{built, chunks, last};

/// More objects than a few batches have.
const OBJECTS: usize = 9000;

pub(super) fn id(number: usize) -> String {
    format!("item {number:06}")
}

/// A file with many items and no history.
pub(super) fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, path) = file();
    let workspace = Workspace::open(&path).unwrap();
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        (0..OBJECTS).try_for_each(|number| {
            let data = data(id(2 * number), 1);
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        })
    });
    stored.unwrap();
    workspace.shutdown().unwrap();
    (directory, path)
}

/// An engine that keeps a history of these types, as a process of its own has one.
pub(super) fn engine(path: &Path, tables: &[Table]) -> Engine {
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    let options = EngineOptions {
        history: Some(Arc::new(Keeper::default())),
        ..EngineOptions::default()
    };
    let engine = Engine::new(backend as Arc<_>, options);
    for table in tables {
        engine.history().unwrap().want(table, true);
    }
    engine
}

/// A workspace that writes steps, because the file says so, and begins no build.
fn opened(path: &Path) -> Workspace {
    Workspace::open(path).unwrap()
}

/// Adds a batch in a process that ends then. Returns whether there is another one.
fn batch(path: &Path, table: &Table) -> bool {
    let engine = engine(path, std::slice::from_ref(table));
    !build_batch(&engine, table).unwrap()
}

/// Changes some items anywhere, by a program with a history, and by one that keeps none.
fn change(path: &Path, random: &mut Random) {
    let workspace = opened(path);
    let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for _ in 0..random.below(20) {
            let id = id(random.below(2 * OBJECTS));
            match tx.get::<Item>(&id)? {
                Some(item) if random.one_in(2) => {
                    let deletion = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                    tx.submit(deletion)?;
                }
                _ => drop(tx.submit(ItemChangeRequest::upsert(data(id, 2)))?),
            }
        }
        Ok(())
    });
    changed.unwrap();
    workspace.shutdown().unwrap();
    if random.one_in(2) {
        return;
    }
    let sql = sql(path);
    for _ in 0..random.below(5) {
        let id = id(random.below(2 * OBJECTS));
        let changed = match random.below(3) {
            0 => sql.execute("DELETE FROM item WHERE __pk0 = ?", [&id]),
            1 => sql.execute(
                "UPDATE item SET p = ? WHERE __pk0 = ?",
                params![payload(&id, 3), id],
            ),
            _ => sql.execute(
                "INSERT OR REPLACE INTO item (__pk0, p) VALUES (?, ?)",
                params![id, payload(&id, 4)],
            ),
        };
        changed.unwrap();
    }
}

/// Commits, and checks the tree.
fn check(path: &Path) {
    let workspace = opened(path);
    workspace.history().commit("first").unwrap();
    let commit = last(&workspace);
    let of = commit.tables.iter().find(|of| of.name == "item").unwrap();
    assert_eq!(of.root, built::<Item>(path));
    let checked = chunks(path).check(&of.root, &CheckLimits::NONE).unwrap();
    assert_eq!(checked.entries, of.objects);
    // The commit has the tree, so there is no build any more.
    assert_eq!(workspace.history().tree_builds().unwrap(), []);
    workspace.shutdown().unwrap();
}

// Promise: storage-format#S57
#[test]
fn tree_that_is_built_beside_writers_is_that_of_all_objects() {
    for seed in 0..6 {
        let (_directory, path) = filled();
        let mut random = Random::new(seed);
        change(&path, &mut random);
        while batch(&path, &Item::TABLE) {
            change(&path, &mut random);
            if random.one_in(4) {
                let workspace = opened(&path);
                let collected = workspace.history().collect_garbage(&KeepTrees::default());
                collected.unwrap();
            }
        }
        change(&path, &mut random);
        check(&path);
    }
}

// Promise: storage-format#S57
#[test]
fn batch_behind_the_commit_that_ends_a_build_begins_none() {
    bounded(|| {
        let (_directory, path) = filled();
        let engine = engine(&path, &[Item::TABLE]);
        assert!(!build_batch(&engine, &Item::TABLE).unwrap());
        let workspace = opened(&path);
        workspace.history().commit("first").unwrap();
        assert!(build_batch(&engine, &Item::TABLE).unwrap());
        assert_eq!(workspace.history().tree_builds().unwrap(), []);
        assert!(!needs_batch(&engine, &Item::TABLE).unwrap());
        workspace.shutdown().unwrap();
    });
}

#[test]
fn commit_has_the_types_that_are_to_be_versioned_before_their_first_batch() {
    bounded(|| {
        for _ in 0..5 {
            let (_directory, path) = filled();
            let workspace = open(&path);
            workspace.history().commit("first").unwrap();
            let commit = last(&workspace);
            assert_eq!(commit.tables[0].objects, OBJECTS as u64);
            assert_eq!(commit.tables[0].root, built::<Item>(&path));
            workspace.shutdown().unwrap();
        }
    });
}

#[test]
fn row_with_another_key_than_its_object_makes_no_tree() {
    bounded(|| {
        let (_directory, path) = filled();
        // The last row of the first batch, and a row of the third.
        for (number, other) in [(2047, "zzzz"), (2047, "aaa"), (5000, "aaa")] {
            let (own, key) = (id(2 * number), id(2 * number));
            let change = |payload: Vec<u8>| {
                let update = "UPDATE item SET p = ? WHERE __pk0 = ?";
                assert_eq!(sql(&path).execute(update, params![payload, key]), Ok(1));
            };
            change(payload(other, 3));
            let workspace = opened(&path);
            let engine = engine(&path, &[Item::TABLE]);
            let built = (0..9).try_for_each(|_| build_batch(&engine, &Item::TABLE).map(drop));
            let error = built.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(
                error.to_string().contains("another key than its object"),
                "{error}"
            );
            workspace.history().commit("first").unwrap_err();
            workspace.shutdown().unwrap();
            change(payload(&own, 4));
        }
        check(&path);
    });
}

#[test]
fn first_commit_completes_a_build() {
    for batches in 1..6 {
        let (_directory, path) = filled();
        let mut random = Random::new(batches);
        for _ in 0..batches {
            batch(&path, &Item::TABLE);
            change(&path, &mut random);
        }
        check(&path);
    }
}

#[test]
fn build_begins_with_the_opening_and_goes_on_after_the_next() {
    bounded(|| {
        let (_directory, path) = filled();
        // The process may end before any batch or behind it.
        open(&path).shutdown().unwrap();
        let workspace = open(&path);
        let done = loop {
            match workspace.history().tree_builds().unwrap().as_slice() {
                [build] if build.is_done => break build.clone(),
                builds => assert!(builds.len() <= 1),
            }
            std::thread::yield_now();
        };
        assert_eq!(
            (done.table.as_str(), done.objects),
            ("item", OBJECTS as u64)
        );
        assert_eq!(steps(&path).len(), 0);
        put(&workspace, "new", 1);
        workspace.history().commit("first").unwrap();
        assert_eq!(last(&workspace).tables[0].root, built::<Item>(&path));
        workspace.shutdown().unwrap();
        // A table whose tree is in a commit needs none.
        let engine = engine(&path, &[Item::TABLE]);
        assert!(!needs_batch(&engine, &Item::TABLE).unwrap());
    });
}

#[test]
fn build_goes_on_within_equal_first_parts_of_a_key() {
    let (_directory, path) = file();
    let workspace = Workspace::open(&path).unwrap();
    let stored = workspace.perform_changes_blocking([Keyed::TABLE], |tx| {
        (0..OBJECTS as u64).try_for_each(|number| {
            let data = KeyedData {
                zone: ["east", "north"][usize::from(number % 3 == 0)].to_owned(),
                number: number / 2,
                open: number % 2 == 0,
                ..KeyedData::default()
            };
            tx.submit(KeyedChangeRequest::creation(data)).map(drop)
        })
    });
    stored.unwrap();
    workspace.shutdown().unwrap();
    let mut batches = 1;
    while batch(&path, &Keyed::TABLE) {
        batches += 1;
    }
    assert!(batches > 3, "{batches}");
    let workspace = opened(&path);
    let [TreeBuild { objects, .. }] = &workspace.history().tree_builds().unwrap()[..] else {
        panic!("no build");
    };
    assert_eq!(*objects, OBJECTS as u64);
    workspace.history().commit("first").unwrap();
    assert_eq!(last(&workspace).tables[0].root, built::<Keyed>(&path));
}

#[test]
fn history_that_ends_while_its_tree_is_built_leaves_nothing() {
    let (_directory, path) = filled();
    assert!(batch(&path, &Item::TABLE));
    let workspace = opened(&path);
    workspace.history().forget::<Item>().unwrap();
    assert_eq!(workspace.history().tree_builds().unwrap(), []);
    let chunks = "SELECT count(*) FROM dflat__chunks";
    let left: i64 = sql(&path).query_row(chunks, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
    let engine = engine(&path, &[]);
    let refused = build_batch(&engine, &Item::TABLE).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn object_that_is_forgotten_while_a_tree_is_built_is_not_in_it() {
    let (_directory, path) = filled();
    let workspace = opened(&path);
    put(&workspace, "a secret", 1);
    put(&workspace, "item 000001 secret", 1);
    assert!(batch(&path, &Item::TABLE));
    let workspace = opened(&path);
    for id in ["a secret", "item 000001 secret"] {
        super::super::files::delete(&workspace, id);
        workspace.history().forget_object::<Item>(id).unwrap();
    }
    while batch(&path, &Item::TABLE) {}
    check(&path);
    workspace.purge().unwrap();
    workspace.shutdown().unwrap();
    assert_eq!(having(&path, "secret"), [] as [String; 0]);
}

// Promise: storage-format#S57
#[test]
fn collections_beside_a_build_take_no_node_of_it() {
    let (_directory, path) = filled();
    for _ in 0..4 {
        while batch(&path, &Item::TABLE) {}
        // The nodes are garbage now, and the next build makes the same ones.
        let end = "DELETE FROM dflat__refs WHERE name = CAST('building/item' AS BLOB)";
        sql(&path).execute_batch(end).unwrap();
        let workspace = opened(&path);
        std::thread::scope(|scope| {
            let build = scope.spawn(|| while batch(&path, &Item::TABLE) {});
            while !build.is_finished() {
                let history = workspace.history();
                history.collect_garbage(&KeepTrees::default()).unwrap();
            }
            build.join().unwrap();
        });
        let builds = workspace.history().tree_builds().unwrap();
        assert_eq!(builds[0].objects, OBJECTS as u64);
        let root = built::<Item>(&path);
        let checked = chunks(&path).check(&root, &CheckLimits::NONE).unwrap();
        assert_eq!(checked.entries, OBJECTS as u64);
    }
    check(&path);
}

#[test]
fn further_type_with_many_objects_gets_its_tree_beside_the_first() {
    let (_directory, path) = filled();
    let workspace = Workspace::builder(&path)
        .versioned::<Other>()
        .open()
        .unwrap();
    let created = workspace.perform_changes_blocking([Other::TABLE], |tx| {
        tx.submit(OtherChangeRequest::creation(Default::default()))
    });
    created.unwrap();
    workspace.history().commit("others").unwrap();
    workspace.shutdown().unwrap();
    let mut random = Random::new(1);
    while batch(&path, &Item::TABLE) {
        change(&path, &mut random);
    }
    check(&path);
    let workspace = opened(&path);
    let commit = last(&workspace);
    let other = commit.tables.iter().find(|of| of.name == "other").unwrap();
    assert_eq!(other.root, built::<Other>(&path));
}
