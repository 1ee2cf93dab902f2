//! Differences between states, compared with whole copies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use dflat::history::{Change, StepId, Version};
use dflat::{ErrorKind, Object, Result, Workspace};
use dflat_engine::engine::{Engine, EngineOptions};
use dflat_history::chunk::{Address, Chunk, ChunkStore};
use dflat_history::commits::FileStore;
use dflat_history::compare::ObjectDiff;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, Level, Other, OtherChangeRequest, OtherData};

use super::super::files::{
    data, delete, file, note_others, open, open_others, payload, put, rank, rows, sql,
};

/// The items of a file by their keys.
type Items = BTreeMap<String, Vec<u8>>;

fn items(path: &Path) -> Items {
    let rows = rows(path, "item").into_values();
    rows.map(|payload| (Item::from_bytes(&payload).unwrap().id().to_owned(), payload))
        .collect()
}

/// The fields of two items that differ, by hand.
fn fields(before: &Item, after: &Item) -> Vec<&'static str> {
    let differ = [
        ("rank", before.rank() != after.rank()),
        ("size", before.size() != after.size()),
        ("name", before.name() != after.name()),
        ("nick", before.nick() != after.nick()),
        ("code", before.code() != after.code()),
        ("level", before.level() != after.level()),
    ];
    differ
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| name)
        .collect()
}

/// Checks the changes between two states against whole copies of both.
fn check(changes: Vec<Change<Item>>, from: &Items, to: &Items) {
    let mut keys = Vec::new();
    for change in changes {
        match change {
            Change::Inserted(item) => {
                assert!(!from.contains_key(item.id()));
                assert_eq!(to[item.id()], item.to_bytes());
                keys.push(item.id().to_owned());
            }
            Change::Deleted(item) => {
                assert!(!to.contains_key(item.id()));
                assert_eq!(from[item.id()], item.to_bytes());
                keys.push(item.id().to_owned());
            }
            Change::Updated {
                before,
                after,
                fields: found,
                ..
            } => {
                assert_eq!(before.id(), after.id());
                assert_eq!(from[before.id()], before.to_bytes());
                assert_eq!(to[after.id()], after.to_bytes());
                let mut expected = fields(&before, &after);
                expected.sort_unstable();
                let mut sorted = found.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, expected);
                assert!(!found.is_empty());
                keys.push(before.id().to_owned());
            }
            change => panic!("{change:?}"),
        }
    }
    assert!(keys.is_sorted(), "{keys:?}");
    let all: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let differ = all.into_iter().filter(|key| from.get(*key) != to.get(*key));
    assert!(differ.eq(&keys));
}

fn change(workspace: &Workspace, random: &mut Random, count: usize) {
    let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for _ in 0..count {
            let id = format!("item {:02}", random.below(60));
            match (random.below(4), tx.get::<Item>(&id)?) {
                (0, Some(item)) => {
                    let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                    tx.submit(request)?;
                }
                (1, Some(item)) => {
                    let new = format!("item {:02}", random.below(60));
                    if tx.get::<Item>(&new)?.is_none() {
                        let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                        request.id = new;
                        tx.submit(request)?;
                    }
                }
                _ => {
                    let mut data = data(id, i32::try_from(random.below(3)).unwrap());
                    data.name = random.one_in(2).then(|| "name".repeat(random.below(300)));
                    data.level = *random.pick(&[Level::Low, Level::Mid, Level::High]);
                    tx.submit(ItemChangeRequest::upsert(data))?;
                }
            }
        }
        Ok(())
    });
    changed.unwrap();
}

fn diff(workspace: &Workspace, from: Version, to: Version) -> Vec<Change<Item>> {
    let diff = workspace.history().diff::<Item>(from, to).unwrap();
    diff.collect::<Result<_>>().unwrap()
}

#[test]
fn differences_of_random_commits_and_steps_equal_those_of_whole_copies() {
    bounded(|| {
        for seed in 0..5 {
            let (_directory, path) = file();
            let workspace = open(&path);
            let mut random = Random::new(seed);
            let mut commits: Vec<(Version, Items)> = Vec::new();
            let mut steps: Vec<(Version, Items)> = Vec::new();
            for _ in 0..40 {
                match random.below(6) {
                    0 => drop(workspace.history().undo()),
                    1 => {
                        let sql = sql(&path);
                        // A stranger moves a row to another key.
                        let update = "UPDATE OR IGNORE item SET __pk0 = 'stranger', p = ? \
                                      WHERE rowid = (SELECT max(rowid) FROM item)";
                        // Before the first change there is no table.
                        let _ = sql.execute(update, [payload("stranger", 1)]);
                    }
                    _ => {
                        let count = 1 + random.below(30);
                        change(&workspace, &mut random, count);
                    }
                }
                if let Some(step) = workspace.history().log().next() {
                    steps.push((step.unwrap().id.into(), items(&path)));
                }
                if random.one_in(3) && !steps.is_empty() {
                    let id = workspace.history().commit("a").unwrap();
                    commits.push((id.into(), items(&path)));
                }
            }
            workspace.settle().unwrap();
            let all: Vec<_> = commits.iter().chain(&steps).collect();
            for _ in 0..60 {
                let pool = if random.one_in(2) {
                    commits.iter().collect()
                } else {
                    all.clone()
                };
                let (from, to) = (*random.pick(&pool), *random.pick(&pool));
                check(diff(&workspace, from.0, to.0), &from.1, &to.1);
            }
        }
    });
}

#[test]
fn difference_of_objects_larger_than_a_batch_is_read_in_parts() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let fill = |text: &str| {
            let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                (0..60).try_for_each(|number| {
                    let mut data = data(format!("item {number:02}"), number);
                    data.name = Some(text.repeat(50_000));
                    tx.submit(ItemChangeRequest::upsert(data)).map(drop)
                })
            });
            filled.unwrap();
        };
        fill("one ");
        let first = workspace.history().commit("first").unwrap();
        let from = items(&path);
        fill("two ");
        delete(&workspace, "item 07");
        put(&workspace, "new", 1);
        let second = workspace.history().commit("second").unwrap();
        let to = items(&path);
        put(&workspace, "later", 1);
        check(diff(&workspace, first.into(), second.into()), &from, &to);
        check(diff(&workspace, second.into(), first.into()), &to, &from);
        check(diff(&workspace, second.into(), second.into()), &to, &to);
    });
}

#[test]
fn difference_of_more_keys_than_are_listed_at_once_is_whole() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let id = |number: i32| format!("{number:0100}");
        let change = |numbers: &mut dyn Iterator<Item = i32>, rank: i32| {
            let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                for number in numbers {
                    tx.submit(ItemChangeRequest::upsert(data(id(number), rank)))?;
                }
                Ok(())
            });
            changed.unwrap();
            workspace.history().log().next().unwrap().unwrap().id
        };
        let first = change(&mut (0..40_000), 1);
        let from = items(&path);
        let second = change(&mut (0..60_000).step_by(2), 2);
        let to = items(&path);
        change(&mut (0..60_000).step_by(3), 3);
        check(diff(&workspace, first.into(), second.into()), &from, &to);
        check(diff(&workspace, second.into(), first.into()), &to, &from);
    });
}

#[test]
fn one_edit_in_many_objects_reads_at_most_eight_nodes() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_others(&path);
        let filled = workspace.perform_changes_blocking([Other::TABLE], |tx| {
            (0..100_000).try_for_each(|id| {
                let data = OtherData { id, note: None };
                tx.submit(OtherChangeRequest::creation(data)).map(drop)
            })
        });
        filled.unwrap();
        let mut versions = vec![workspace.history().commit("all").unwrap()];
        for id in [7, 50_000, 99_999] {
            note_others(&workspace, id..id + 1, "changed");
            versions.push(workspace.history().commit("one").unwrap());
        }
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        let engine = Engine::new(backend as Arc<_>, EngineOptions::default());
        for pair in versions.windows(2) {
            let states = (pair[0].into(), pair[1].into());
            let tables = [Other::TABLE];
            let mut diff = ObjectDiff::new(&engine, &tables, &Other::TABLE, states).unwrap();
            assert_eq!(diff.by_ref().map(Result::unwrap).count(), 1);
            assert!(diff.chunk_reads() <= 8, "{}", diff.chunk_reads());
        }
    });
}

/// Otherwise the objects of a type that has not changed are compared one by one.
#[test]
fn chunk_is_read_for_each_time_that_it_is_asked_for() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().commit("first").unwrap();
        let root = workspace
            .history()
            .commits()
            .next()
            .unwrap()
            .unwrap()
            .tables[0]
            .root;
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        let engine = Engine::new(backend as Arc<_>, EngineOptions::default());
        let absent = Address::of(b"absent");
        let asked = [root.address(), absent, root.address()];
        let found = FileStore::new(&engine).get_many(&asked).unwrap();
        let found = found.iter().map(|chunk| chunk.as_ref().map(Chunk::address));
        assert!(found.eq([Some(root.address()), None, Some(root.address())]));
    });
}

#[test]
fn other_bytes_of_the_same_values_are_no_difference() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let first = workspace.history().commit("first").unwrap();
        let step = workspace.history().log().next().unwrap().unwrap().id;
        let mut longer = payload("a", 1);
        longer.extend([0; 8]);
        let update = "UPDATE item SET p = ? WHERE __pk0 = 'a'";
        sql(&path).execute(update, [longer]).unwrap();
        let second = workspace.history().commit("second").unwrap();
        let last = workspace.history().log().next().unwrap().unwrap().id;
        assert_ne!((first, step), (second, last));
        assert_eq!(diff(&workspace, first.into(), second.into()), []);
        assert_eq!(diff(&workspace, step.into(), last.into()), []);
        assert_eq!(rank(&workspace, "a"), Some(1));
    });
}

#[test]
fn differences_of_absent_states_and_other_types_are_refused() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let id = workspace.history().commit("first").unwrap();
        let step = workspace.history().log().next().unwrap().unwrap().id;
        let history = workspace.history();
        let absent = history.diff::<Item>(step, StepId(step.0 + 1)).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
        let other = history.diff::<Other>(id, step).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::InvalidArgument);
        assert!(other.to_string().contains("not versioned"), "{other}");
        // A program has changed the row and the notes of it.
        put(&workspace, "a", 2);
        let second = workspace.history().commit("second").unwrap();
        let sql = sql(&path);
        sql.execute("DELETE FROM item", []).unwrap();
        sql.execute("DELETE FROM dflat__history_item", []).unwrap();
        let failed = history.diff::<Item>(id, second).unwrap().next().unwrap();
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Corrupt);
    });
}
