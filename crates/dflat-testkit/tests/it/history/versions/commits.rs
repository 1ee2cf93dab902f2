//! Commits: their roots, compared with those of trees built at once, and their states.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dflat::history::{Commit, CommitId, Note, Version};
use dflat::{ErrorKind, Object, Result, Workspace};
use dflat_history::chunk::{Address, Chunk, ChunkStore, MemoryStore};
use dflat_history::commits::Content;
use dflat_history::tree::{CheckLimits, Root, Trees};
use dflat_model::RowId;
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{
    Gauge, GaugeChangeRequest, GaugeData, Item, ItemChangeRequest, Keyed, KeyedChangeRequest,
    KeyedData, Other, OtherChangeRequest, OtherData,
};

use super::super::files::{
    Rows, another, data, delete, file, note_others, open, open_both, payload, put, rank, rows, sql,
};

/// The root of the tree that is built at once from the stored rows of a type.
pub(crate) fn built<T: Object>(path: &Path) -> Root {
    let table = T::TABLE;
    let content = Content::of(&table);
    let rows = rows(path, &table.name);
    let entries = rows.iter().map(|(row_id, payload)| {
        let entry = content.entry(RowId(*row_id), payload).unwrap();
        entry.unwrap()
    });
    let entries: BTreeMap<Vec<u8>, Address> = entries.collect();
    let trees = Trees::new(Arc::new(MemoryStore::new()));
    trees.build(entries).unwrap()
}

/// The chunks of a file, by plain SQL.
pub(crate) fn chunks(path: &Path) -> Trees {
    let store = MemoryStore::new();
    let sql = sql(path);
    let mut rows = sql
        .prepare("SELECT name, bytes FROM dflat__chunks")
        .unwrap();
    let rows = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    for row in rows {
        let (name, bytes): (Vec<u8>, Vec<u8>) = row.unwrap();
        let address = Address::from_bytes(name.try_into().unwrap());
        store
            .put_many(&[Chunk::checked(address, bytes).unwrap()])
            .unwrap();
    }
    Trees::new(Arc::new(store))
}

/// The last commit.
pub(crate) fn last(workspace: &Workspace) -> Commit {
    workspace.history().commits().next().unwrap().unwrap()
}

/// Checks the last commit against the stored rows.
fn check(workspace: &Workspace, path: &Path, id: CommitId) {
    let commit = last(workspace);
    assert_eq!(commit.id, id);
    let trees = chunks(path);
    let expected = [
        ("gauge", built::<Gauge>(path), rows(path, "gauge").len()),
        ("item", built::<Item>(path), rows(path, "item").len()),
        ("keyed", built::<Keyed>(path), rows(path, "keyed").len()),
        ("other", built::<Other>(path), rows(path, "other").len()),
    ];
    let names: Vec<&str> = commit.tables.iter().map(|table| &*table.name).collect();
    assert_eq!(names, expected.map(|(name, ..)| name));
    for (table, (_, root, count)) in commit.tables.iter().zip(expected) {
        assert_eq!(table.root, root, "{}", table.name);
        assert_eq!(table.objects, count as u64);
        let checked = trees.check(&root, &CheckLimits::NONE).unwrap();
        assert_eq!(checked.entries, count as u64);
    }
}

fn small(random: &mut Random, below: usize) -> i32 {
    i32::try_from(random.below(below)).unwrap() - 3
}

/// Changes some objects of each type.
fn change(workspace: &Workspace, random: &mut Random, count: usize) {
    let tables = [Item::TABLE, Other::TABLE, Keyed::TABLE, Gauge::TABLE];
    let changed = workspace.perform_changes_blocking(tables, |tx| {
        for _ in 0..1 + random.below(count) {
            let number = random.below(300);
            let id = format!("item {number:03}");
            match random.below(7) {
                0 => {
                    if let Some(item) = tx.get::<Item>(&id)? {
                        let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                        tx.submit(request)?;
                    }
                }
                1 => {
                    // The object gets another key, which another may have had.
                    let new = format!("item {:03}", random.below(300));
                    if let Some(item) = tx.get::<Item>(&id)?
                        && tx.get::<Item>(&new)?.is_none()
                    {
                        let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                        request.id = new;
                        tx.submit(request)?;
                    }
                }
                2 => {
                    let data = OtherData {
                        id: small(random, 40) * 1000,
                        note: random.one_in(2).then(|| "note".repeat(random.below(9))),
                    };
                    tx.submit(OtherChangeRequest::upsert(data))?;
                }
                3 => {
                    let data = KeyedData {
                        zone: "zone".repeat(random.below(3)),
                        number: u64::MAX - random.below(9) as u64,
                        open: random.one_in(2),
                        ..KeyedData::default()
                    };
                    tx.submit(KeyedChangeRequest::upsert(data))?;
                }
                4 => {
                    let data = GaugeData {
                        at: f64::from(small(random, 50)) / 4.0,
                        ..GaugeData::default()
                    };
                    tx.submit(GaugeChangeRequest::upsert(data))?;
                }
                _ => {
                    let data = data(id, small(random, 5));
                    tx.submit(ItemChangeRequest::upsert(data))?;
                }
            }
        }
        Ok(())
    });
    changed.unwrap();
}

fn open_all(path: &Path) -> Workspace {
    Workspace::builder(path)
        .versioned::<Item>()
        .versioned::<Other>()
        .versioned::<Keyed>()
        .versioned::<Gauge>()
        .author("Ann")
        .open()
        .unwrap()
}

/// One object of each type, so that all types are versioned.
fn begin(workspace: &Workspace) {
    let tables = [Item::TABLE, Other::TABLE, Keyed::TABLE, Gauge::TABLE];
    workspace
        .perform_changes_blocking(tables, |tx| {
            tx.submit(ItemChangeRequest::upsert(data("first", 0)))?;
            tx.submit(OtherChangeRequest::upsert(OtherData::default()))?;
            tx.submit(KeyedChangeRequest::upsert(KeyedData::default()))?;
            tx.submit(GaugeChangeRequest::upsert(GaugeData::default()))
        })
        .unwrap();
}

fn state(path: &Path) -> [Rows; 2] {
    [rows(path, "item"), rows(path, "other")]
}

fn state_at(workspace: &Workspace, version: impl Into<Version>) -> [Rows; 2] {
    fn rows<T: Object>(past: &Workspace) -> Rows {
        let objects = past.fetch::<T>().all().unwrap();
        objects
            .iter()
            .map(|object| (object.row_id().0, object.to_bytes()))
            .collect()
    }
    let past = workspace.at(version).unwrap();
    [rows::<Item>(&past), rows::<Other>(&past)]
}

#[test]
fn root_equals_that_of_a_tree_built_at_once_after_each_commit_of_random_programs() {
    bounded(|| {
        for seed in 0..5 {
            let (_directory, path) = file();
            let (workspace, other) = (open_all(&path), another(&path));
            let mut random = Random::new(seed);
            begin(&workspace);
            let mut copies = Vec::new();
            for _ in 0..60 {
                match random.below(9) {
                    0 => drop(workspace.history().undo_rest()),
                    1 => drop(workspace.history().redo_rest()),
                    2 => {
                        let delete = "DELETE FROM item WHERE rowid % 11 = 3";
                        sql(&path).execute(delete, []).unwrap();
                    }
                    3 => change(&other, &mut random, 3),
                    4 | 5 => {
                        let id = workspace.history().commit("a").unwrap();
                        check(&workspace, &path, id);
                        copies.push((id, state(&path)));
                    }
                    6 => change(&workspace, &mut random, 200),
                    _ => change(&workspace, &mut random, 4),
                }
            }
            workspace.settle().unwrap();
            for (id, copy) in &copies {
                assert_eq!(state_at(&workspace, *id), *copy);
            }
            // Equal states in a row have one commit.
            copies.dedup_by_key(|(id, _)| *id);
            let commits: Result<Vec<Commit>> = workspace.history().commits().collect();
            let commits = commits.unwrap();
            let ids = commits.iter().map(|commit| commit.id).rev();
            assert!(ids.eq(copies.iter().map(|(id, _)| *id)));
            let steps = workspace.history().log().count() as u64;
            assert!(commits.iter().map(|commit| commit.steps).sum::<u64>() <= steps);
        }
    });
}

#[test]
fn equal_objects_have_equal_roots_in_two_files_that_came_to_them_on_different_ways() {
    bounded(|| {
        let (_one, one) = file();
        let (_other, other) = file();
        let (first, second) = (open(&one), open(&other));
        for number in 0..200 {
            put(&first, format!("item {number:03}"), number % 7);
        }
        let second_id = {
            put(&second, "gone", 1);
            second.history().commit("early").unwrap();
            for number in (0..200).rev() {
                put(&second, format!("item {number:03}"), 9);
            }
            delete(&second, "gone");
            second.history().commit("middle").unwrap();
            for number in 0..200 {
                put(&second, format!("item {number:03}"), number % 7);
            }
            second.history().commit("same").unwrap()
        };
        let first_id = first.history().commit("same").unwrap();
        assert_eq!(last(&first).tables, last(&second).tables);
        assert_ne!(first_id, second_id);
    });
}

#[test]
fn commit_without_a_change_is_the_one_before() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let none = workspace.history().commit("none").unwrap_err();
        assert_eq!(none.kind(), ErrorKind::InvalidArgument);
        assert!(none.to_string().contains("no type is versioned"), "{none}");
        assert_eq!(workspace.history().head().unwrap(), None);
        put(&workspace, "a", 1);
        let first = workspace.history().commit("first").unwrap();
        assert_eq!(workspace.history().commit("again").unwrap(), first);
        assert_eq!(workspace.history().head().unwrap(), Some(first));
        let commit = last(&workspace);
        assert_eq!((commit.steps, commit.label.as_deref()), (1, Some("first")));
        assert_eq!(commit.parents, []);
        put(&workspace, "a", 2);
        put(&workspace, "a", 1);
        // The content is the same, the steps are not.
        let second = workspace.history().commit("second").unwrap();
        let again = last(&workspace);
        assert_eq!((again.steps, again.parents), (2, vec![first]));
        assert_eq!(again.tables, commit.tables);
        let digits = second.to_string();
        assert_eq!(
            workspace.history().find_commit(&digits[..9]).unwrap(),
            second
        );
        let all = workspace.history().find_commit("").unwrap_err();
        assert_eq!(all.kind(), ErrorKind::InvalidArgument);
        let none = workspace.history().find_commit("xyz").unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn change_of_another_program_is_in_the_next_commit() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let first = workspace.history().commit("first").unwrap();
        let update = "UPDATE item SET p = ? WHERE __pk0 = 'a'";
        sql(&path).execute(update, [payload("a", 2)]).unwrap();
        let second = workspace.history().commit("second").unwrap();
        assert_ne!(first, second);
        assert_eq!(last(&workspace).tables[0].root, built::<Item>(&path));
        let step = workspace.history().log().next().unwrap().unwrap();
        assert_eq!(step.note, Note::Unknown);
        assert_eq!(rank(&workspace.at(first).unwrap(), "a"), Some(1));
        assert_eq!(rank(&workspace.at(second).unwrap(), "a"), Some(2));
    });
}

#[test]
fn payload_of_another_encoder_has_the_root_of_its_canonical_form() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 5);
        workspace.history().commit("first").unwrap();
        let root = last(&workspace).tables[0].root;
        // Bytes after the message that belong to no value.
        let mut longer = payload("a", 5);
        longer.extend([0; 8]);
        let update = "UPDATE item SET p = ? WHERE __pk0 = 'a'";
        sql(&path).execute(update, [longer]).unwrap();
        workspace.history().commit("second").unwrap();
        assert_eq!(last(&workspace).steps, 1);
        assert_eq!(last(&workspace).tables[0].root, root);
    });
}

#[test]
fn type_that_is_versioned_later_and_one_whose_history_was_forgotten_are_committed_whole() {
    bounded(|| {
        let (_directory, path) = file();
        {
            let workspace = Workspace::open(&path).unwrap();
            for number in 0..50 {
                let data = OtherData {
                    id: number,
                    note: None,
                };
                let request = OtherChangeRequest::creation(data);
                let stored =
                    workspace.perform_changes_blocking([Other::TABLE], |tx| tx.submit(request));
                stored.unwrap();
            }
            workspace.shutdown().unwrap();
        }
        let workspace = open_both(&path);
        put(&workspace, "a", 1);
        workspace.history().commit("items").unwrap();
        assert_eq!(last(&workspace).tables.len(), 1);
        let touch = |id: i32| note_others(&workspace, id..id + 1, "new");
        touch(7);
        workspace.history().commit("both").unwrap();
        let commit = last(&workspace);
        let roots = || [built::<Item>(&path), built::<Other>(&path)];
        assert_eq!(
            commit.tables.iter().map(|t| t.root).collect::<Vec<_>>(),
            roots()
        );
        assert_eq!(commit.tables[1].objects, 50);
        // Changes while nothing is kept are in no step.
        workspace.history().forget::<Other>().unwrap();
        touch(8);
        workspace.shutdown().unwrap();
        let workspace = open_both(&path);
        note_others(&workspace, 9..10, "newest");
        workspace.history().commit("again").unwrap();
        let commit = last(&workspace);
        let roots = [built::<Item>(&path), built::<Other>(&path)];
        assert_eq!(
            commit.tables.iter().map(|t| t.root).collect::<Vec<_>>(),
            roots
        );
    });
}
