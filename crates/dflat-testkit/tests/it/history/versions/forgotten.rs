//! Objects that are forgotten: they are in no step, commit, tree or received change any more.

use std::path::Path;

use dflat::history::{CommitId, KeepTrees, Merged};
use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Other, OtherData};

use super::super::files::{
    data, delete, file, having, leads_back, note_others, open, open_both, open_durable, put, rank,
    sql, steps,
};
use super::commits::{built, last};

/// A key and a text of the object that is forgotten, and what both have in common.
const KEY: &str = "secret key";
const TEXT: &str = "secret text";
const SECRET: &str = "secret";

/// Only the trees that branches and merges need.
const NEEDED: KeepTrees = {
    let mut keep = KeepTrees::ALL;
    (keep.last, keep.age, keep.labelled) = (0, std::time::Duration::ZERO, false);
    keep
};

fn write(workspace: &Workspace, id: &str, text: &str, rank: i32) {
    let data = ItemData {
        name: Some(text.to_owned()),
        nick: Some(format!("{text} as well")),
        ..data(id, rank)
    };
    let request = ItemChangeRequest::upsert(data);
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
    stored.unwrap();
}

/// Gives an item another key and another text.
fn rename(workspace: &Workspace, from: &str, to: &str, text: &str) {
    let renamed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let item = tx.get::<Item>(from)?.unwrap();
        let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
        request.id = to.to_owned();
        request.name = Some(text.to_owned());
        request.nick = None;
        tx.submit(request)
    });
    renamed.unwrap();
}

/// Gives an object a long history: in steps and large steps, under several keys, on two branches,
/// in a merge, and in commits with and without trees.
fn live(workspace: &Workspace) -> Vec<CommitId> {
    let history = workspace.history();
    let mut commits = Vec::new();
    for number in 0..40 {
        put(workspace, format!("item {number}"), number);
    }
    commits.push(history.commit("before").unwrap());
    write(workspace, KEY, TEXT, 1);
    commits.push(history.commit("with").unwrap());
    write(workspace, KEY, &format!("{TEXT} again"), 2);
    history.branch("draft").unwrap();
    history.checkout("draft").unwrap();
    write(workspace, KEY, &format!("{TEXT} of the draft"), 2);
    write(workspace, "only in the draft", "open", 3);
    commits.push(history.commit("draft").unwrap());
    history.checkout("main").unwrap();
    let sizes = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let item = tx.get::<Item>(KEY)?.unwrap();
        let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
        request.size = 7;
        tx.submit(request)
    });
    sizes.unwrap();
    assert!(matches!(
        history.merge("draft").unwrap(),
        Merged::Commit { .. }
    ));
    commits.push(last(workspace).id);
    history.collect_garbage(&NEEDED).unwrap();
    // Under other keys, before and after.
    delete(workspace, KEY);
    rename(workspace, "item 7", KEY, TEXT);
    commits.push(history.commit("renamed").unwrap());
    rename(workspace, KEY, "item 7 again", "open");
    commits.push(history.commit("renamed again").unwrap());
    // In a large transaction.
    let large = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for number in 0..5000 {
            tx.submit(ItemChangeRequest::upsert(data(
                format!("large {number:060}"),
                number,
            )))?;
        }
        tx.submit(ItemChangeRequest::upsert(data(KEY, 3)))
    });
    large.unwrap();
    commits.push(history.commit("large").unwrap());
    commits
}

/// The items of some commits, apart from the object: their keys and ranks.
fn states(workspace: &Workspace, commits: &[CommitId]) -> Vec<Vec<(String, i32)>> {
    let state = |id: &CommitId| {
        let items = workspace.at(*id).unwrap().fetch::<Item>().all().unwrap();
        let items = items.iter().map(|item| (item.id().to_owned(), item.rank()));
        items.filter(|(id, _)| id != KEY).collect()
    };
    commits.iter().map(state).collect()
}

fn open_named(path: &Path) -> Workspace {
    let builder = Workspace::builder(path).versioned::<Item>();
    builder.versioned::<Other>().workspace_id(7).open().unwrap()
}

// Promise: storage-format#S55
#[test]
fn forgotten_object_is_in_no_state_and_after_a_purge_nowhere() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_named(&path);
        note_others(&workspace, 0..3, "kept");
        let commits = live(&workspace);
        let history = workspace.history();
        let before = states(&workspace, &commits);
        let ids = |workspace: &Workspace| -> Vec<CommitId> {
            let commits = workspace.history().commits();
            commits.map(|commit| commit.unwrap().id).collect()
        };
        let (all, count) = (ids(&workspace), steps(&path).len());
        // A stranger deletes the object, and the bytes are in no step yet.
        let deleted = format!("DELETE FROM item WHERE __pk0 = '{KEY}'");
        assert_eq!(sql(&path).execute(&deleted, []).unwrap(), 1);
        assert!(!having(&path, KEY).is_empty() && !having(&path, TEXT).is_empty());

        let forgotten = history.forget_object::<Item>(KEY).unwrap();
        assert_eq!((ids(&workspace), steps(&path).len()), (all, count + 1));
        assert!(forgotten.changes >= 10, "{forgotten:?}");
        let lost: Vec<bool> = commits
            .iter()
            .map(|id| {
                let found = history.commits().map(Result::unwrap);
                let found = found.filter(|commit| commit.id == *id).last().unwrap();
                found.tables.iter().any(|table| table.has_forgotten_objects)
            })
            .collect();
        assert_eq!(lost, [false, true, true, true, true, false, true]);
        assert_eq!(states(&workspace, &commits), before);
        for id in &commits {
            assert!(
                workspace
                    .at(*id)
                    .unwrap()
                    .get::<Item>(KEY)
                    .unwrap()
                    .is_none()
            );
        }
        assert_eq!(history.blame::<Item>(KEY).unwrap(), []);
        for (_, record) in steps(&path) {
            assert!(!record.windows(6).any(|window| window == SECRET.as_bytes()));
        }
        leads_back(&path).unwrap();
        workspace.purge().unwrap();
        assert_eq!(having(&path, SECRET), [] as [String; 0]);
        workspace.shutdown().unwrap();
        assert_eq!(having(&path, SECRET), [] as [String; 0]);

        go_on(&path, &commits);
    });
}

/// The history goes on: undo, checkout, merges, and trees that are built anew.
fn go_on(path: &Path, commits: &[CommitId]) {
    let workspace = open_named(path);
    let history = workspace.history();
    let before = states(&workspace, commits);
    while history.undo().unwrap().is_some() {
        assert_eq!(rank(&workspace, KEY), None);
    }
    history.checkout("draft").unwrap();
    assert_eq!(rank(&workspace, KEY), None);
    assert_eq!(rank(&workspace, "only in the draft"), Some(3));
    for (number, id) in commits.iter().enumerate() {
        let name = format!("again {number}");
        history.branch_at(&name, *id).unwrap();
        history.checkout(&name).unwrap();
        let items = workspace.fetch::<Item>().all().unwrap();
        let ids: Vec<&str> = items.iter().map(Item::id).collect();
        assert!(before[number].iter().map(|(id, _)| id).eq(ids));
        put(&workspace, "after", 1);
        history.commit("after").unwrap();
        assert_eq!(last(&workspace).root("item"), built::<Item>(path));
    }
    assert_eq!(having(path, SECRET), [] as [String; 0]);
    assert!(workspace.check([Item::TABLE]).unwrap().problems.is_empty());
}

#[test]
fn change_to_a_forgotten_key_is_a_deletion_and_one_from_it_an_insertion() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        put(&workspace, "a", 1);
        rename(&workspace, "a", KEY, TEXT);
        put(&workspace, KEY, 2);
        rename(&workspace, KEY, "b", "open");
        put(&workspace, "b", 3);
        let ids: Vec<_> = history.log().map(|step| step.unwrap().id).collect();
        let forgotten = history.forget_object::<Item>(KEY).unwrap();
        assert_eq!((forgotten.changes, forgotten.commits), (3, 0));
        let keys: Vec<Vec<String>> = ids
            .iter()
            .map(|id| {
                let items = workspace.at(*id).unwrap().fetch::<Item>().all().unwrap();
                items.iter().map(|item| item.id().to_owned()).collect()
            })
            .collect();
        assert_eq!(keys, [vec!["b"], vec!["b"], vec![], vec![], vec!["a"]]);
        let counts: Vec<_> = history
            .log()
            .map(|step| {
                let table = &step.unwrap().tables[0];
                (table.inserted, table.updated, table.deleted)
            })
            .collect();
        assert_eq!(
            counts,
            [(0, 1, 0), (1, 0, 0), (0, 0, 0), (0, 0, 1), (1, 0, 0)]
        );
        for _ in 0..2 {
            history.undo().unwrap().unwrap();
        }
        assert_eq!((rank(&workspace, "b"), rank(&workspace, KEY)), (None, None));
        // The step without changes is passed.
        assert_eq!(history.undo().unwrap().unwrap().changed, 1);
        assert_eq!(rank(&workspace, "a"), Some(1));
    });
}

#[test]
fn object_that_exists_and_one_of_a_type_without_a_history_are_refused() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, KEY, 1);
        note_others(&workspace, 0..1, "note");
        let before = steps(&path);
        let exists = workspace.history().forget_object::<Item>(KEY).unwrap_err();
        assert_eq!(exists.kind(), ErrorKind::InvalidArgument);
        assert!(exists.to_string().contains("delete it first"), "{exists}");
        let OtherData { id, .. } = OtherData::default();
        let unknown = workspace.history().forget_object::<Other>(id).unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotFound);
        assert_eq!(steps(&path), before);
        // An object that never was is marked all the same.
        let none = workspace.history().forget_object::<Item>("none").unwrap();
        assert_eq!((none.changes, none.commits), (0, 0));
        // Programs that build trees from objects that they have read before begin anew.
        let count = "SELECT bytes FROM dflat__refs WHERE name = CAST('collections' AS BLOB)";
        let count: Vec<u8> = sql(&path).query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1_u64.to_le_bytes());
    });
}

#[test]
fn new_object_with_a_forgotten_key_has_a_history_of_its_own() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        put(&workspace, KEY, 1);
        put(&workspace, "other", 1);
        let first = history.commit("first").unwrap();
        delete(&workspace, KEY);
        history.forget_object::<Item>(KEY).unwrap();
        // The same bytes as before, so that the new tree is the one that the first commit had.
        put(&workspace, KEY, 1);
        let second = history.commit("second").unwrap();
        assert_eq!(history.blame::<Item>(KEY).unwrap().len(), 1);
        let ranks = |id| rank(&workspace.at(id).unwrap(), KEY);
        assert_eq!((ranks(first), ranks(second)), (None, Some(1)));
        assert_eq!(history.diff::<Item>(first, second).unwrap().count(), 1);
        put(&workspace, KEY, 2);
        delete(&workspace, KEY);
        let forgotten = history.forget_object::<Item>(KEY).unwrap();
        assert_eq!((forgotten.changes, forgotten.commits), (3, 1));
        assert_eq!(history.diff::<Item>(first, second).unwrap().count(), 0);
        workspace.purge().unwrap();
        assert_eq!(having(&path, KEY), [] as [String; 0]);
    });
}

#[test]
fn commits_without_trees_that_have_lost_an_object_are_restored_without_it() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_both(&path);
        let history = workspace.history();
        let commits: Vec<CommitId> = (0..4)
            .map(|rank| {
                put(&workspace, "open", rank);
                put(&workspace, KEY, rank);
                history.commit("a").unwrap()
            })
            .collect();
        delete(&workspace, KEY);
        history.commit("without").unwrap();
        history.collect_garbage(&NEEDED).unwrap();
        assert_eq!(history.forget_object::<Item>(KEY).unwrap().commits, 4);
        let nodes = || -> i64 {
            let count = "SELECT count(*) FROM dflat__chunks";
            sql(&path).query_row(count, [], |row| row.get(0)).unwrap()
        };
        let before = nodes();
        for id in &commits {
            history.branch_at(&format!("{id}"), *id).unwrap();
            history.checkout(&format!("{id}")).unwrap();
            assert_eq!(last(&workspace).root("item"), built::<Item>(&path));
        }
        assert!(nodes() > before);
        // The trees are known from now on, and are as good as those of other commits.
        let reads = history
            .diff::<Item>(commits[0], commits[3])
            .unwrap()
            .count();
        assert_eq!(reads, 1);
        history.collect_garbage(&NEEDED).unwrap();
        history.merge(&format!("{}", commits[0])).unwrap();
        put(&workspace, "open", 9);
        history.commit("after").unwrap();
        assert_eq!(last(&workspace).root("item"), built::<Item>(&path));
    });
}

#[test]
fn tree_of_other_objects_is_not_taken_for_that_of_a_commit() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        put(&workspace, "open", 0);
        put(&workspace, "open", 1);
        let commit = history.commit("a").unwrap();
        put(&workspace, "open", 2);
        history.commit("b").unwrap();
        history.collect_garbage(&NEEDED).unwrap();
        // The first eight bytes of a commit's row are the last step that the commit closes.
        let row = "rowid = (SELECT min(rowid) FROM dflat__commits)";
        let read = format!("SELECT bytes FROM dflat__commits WHERE {row}");
        let mut bytes: Vec<u8> = sql(&path).query_row(&read, [], |row| row.get(0)).unwrap();
        let step = i64::from_le_bytes(bytes[..8].try_into().unwrap()) - 1;
        bytes[..8].copy_from_slice(&step.to_le_bytes());
        let write = format!("UPDATE dflat__commits SET bytes = ?1 WHERE {row}");
        assert_eq!(sql(&path).execute(&write, [bytes]).unwrap(), 1);
        // Only of a commit that has lost objects, any tree is taken for that of the others.
        let error = history.branch_at("draft", commit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert!(
            error.to_string().contains("the objects are others"),
            "{error}"
        );
    });
}

/// Forgets an object while the device fails; then again, without a failure.
fn workload(device: &Device) -> Outcome {
    let path = device.path();
    let text = |error: dflat::Error| error.to_string();
    let is_done = {
        let workspace = open_durable(&path).map_err(|error| format!("cannot open: {error}"))?;
        let history = workspace.history();
        for rank in 0..3 {
            for id in [KEY, "open"] {
                let request = ItemChangeRequest::upsert(data(id, rank));
                let _ = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
            }
            let _ = history.commit("a");
        }
        let _ = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let Some(item) = tx.get::<Item>(KEY)? else {
                return Ok(());
            };
            let request = ItemChangeRequest::deletion(tx, &item)?;
            request.map_or(Ok(()), |request| tx.submit(request).map(drop))
        });
        let is_done = history.forget_object::<Item>(KEY).is_ok();
        let _ = workspace.shutdown();
        is_done
    };
    device.heal();
    let workspace = open_durable(&path).map_err(text)?;
    put(&workspace, "open", 8);
    let history = workspace.history();
    if rank(&workspace, KEY).is_some() {
        delete(&workspace, KEY);
    }
    let commits = history
        .commits()
        .collect::<Result<Vec<_>>>()
        .map_err(text)?;
    let with = commits.iter().map(|commit| {
        let at = workspace.at(commit.id)?;
        Ok(at.get::<Item>(KEY)?.is_some())
    });
    let with = with.collect::<Result<Vec<bool>>>().map_err(text)?;
    if is_done && with.contains(&true) {
        return Err("a commit has the object".to_owned());
    }
    let lost = with.iter().filter(|has| **has).count() as u64;
    let forgotten = history.forget_object::<Item>(KEY).map_err(text)?;
    if forgotten.commits != lost {
        return Err(format!(
            "{} commits had the object, not {lost}",
            forgotten.commits
        ));
    }
    leads_back(&path)?;
    workspace.purge().map_err(text)?;
    workspace.shutdown().map_err(text)?;
    match having(&path, KEY).is_empty() {
        true => Ok(()),
        false => Err("the key is left".to_owned()),
    }
}

// Promise: storage-format#S56
#[test]
fn failed_forgetting_is_whole_or_absent_and_is_completed_by_the_next() {
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    let operations = [Operation::Write, Operation::Flush];
    fault::each_sampled(&operations, &failures, 40, workload);
}
