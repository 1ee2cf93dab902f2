//! Devices whose programs know different versions of a schema.

use std::path::{Path, PathBuf};

use dflat::history::{ConflictReason, Merged, Side};
use dflat::{Object, Workspace};
use dflat_testkit::note::v1::diary as v1;
use dflat_testkit::note::v2::diary as v2;
use dflat_testkit::note::v3::diary as v3;
use rusqlite::params;
use tempfile::TempDir;

use super::super::files::sql;

fn path(directory: &TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}

fn open<T: Object>(path: &Path) -> Workspace {
    Workspace::builder(path).versioned::<T>().open().unwrap()
}

fn sync(here: &Workspace, there: &Workspace, name: &str) {
    let history = here.history();
    history.remote(name).pull_from(there, "main").unwrap();
    let merged = history.merge(&format!("{name}/main")).unwrap();
    if let Merged::Conflicts(mut pending) = merged {
        pending.keep_all(Side::Ours);
        pending.finish().unwrap();
    }
    history.remote(name).push_to(there, "main").unwrap();
}

/// The last commit and its roots.
fn state(workspace: &Workspace) -> (dflat::history::CommitId, Vec<dflat::history::Root>) {
    let commit = workspace.history().commits().next().unwrap().unwrap();
    let roots = commit.tables.iter().map(|table| table.root);
    (commit.id, roots.collect())
}

/// Stores an object with values that only the newer schemas have in each of two files.
fn fill_newer(second: &Workspace, third: &Workspace) {
    let stored = second.perform_changes_blocking([v2::Note::TABLE], |tx| {
        let data = v2::NoteData {
            id: "second".to_owned(),
            tags: vec!["new".to_owned()],
            stars: 5,
            mood: v2::Mood::Sad,
            ..v2::NoteData::default()
        };
        tx.submit(v2::NoteChangeRequest::creation(data)).map(drop)
    });
    stored.unwrap();
    let stored = third.perform_changes_blocking([v3::Note::TABLE], |tx| {
        let data = v3::NoteData {
            id: "third".to_owned(),
            next: v3::Mood::Wild,
            mood: v3::Mood::Wild,
            ..v3::NoteData::default()
        };
        tx.submit(v3::NoteChangeRequest::creation(data)).map(drop)
    });
    stored.unwrap();
}

// Promise: sync-format#Y12
#[test]
fn devices_with_three_versions_of_a_schema_have_one_root() {
    let directory = tempfile::tempdir().unwrap();
    let first = open::<v1::Note>(&path(&directory, "first"));
    let second = open::<v2::Note>(&path(&directory, "second"));
    let third = open::<v3::Note>(&path(&directory, "third"));
    let stored = first.perform_changes_blocking([v1::Note::TABLE], |tx| {
        (0..20).try_for_each(|number| {
            let data = v1::NoteData {
                id: format!("first {number}"),
                rank: number,
                old: 7,
                ..v1::NoteData::default()
            };
            tx.submit(v1::NoteChangeRequest::creation(data)).map(drop)
        })
    });
    stored.unwrap();
    fill_newer(&second, &third);
    // An object of a program that describes no types, such as the original.
    let original = v2::NoteData {
        id: "first 0".to_owned(),
        ..starred(9)
    };
    set_by_sql(&path(&directory, "first"), 1, original);
    // The device in the middle has the oldest schema.
    for _ in 0..2 {
        sync(&second, &first, "first");
        sync(&third, &first, "first");
    }
    assert_eq!(state(&first), state(&second));
    assert_eq!(state(&first), state(&third));
    // No value of newer code is lost on the way through older code.
    let note = third.get::<v3::Note>("second").unwrap().unwrap();
    assert_eq!((note.stars(), note.mood()), (5, v3::Mood::Sad));
    let note = third.get::<v3::Note>("first 0").unwrap().unwrap();
    assert_eq!(note.stars(), 9);
    let note = second.get::<v2::Note>("second").unwrap().unwrap();
    assert_eq!(note.tags().iter().collect::<Vec<_>>(), ["new"]);
    assert_eq!(first.fetch::<v1::Note>().count().unwrap(), 22);

    // Each device changes an object of another, and all meet again.
    let rank = |workspace: &Workspace, id: &str| {
        let changed = workspace.perform_changes_blocking([v1::Note::TABLE], |tx| {
            let note = tx.get::<v1::Note>(id)?.unwrap();
            let mut request = v1::NoteChangeRequest::change(tx, &note)?.unwrap();
            request.rank = 100;
            tx.submit(request).map(drop)
        });
        changed.unwrap();
    };
    rank(&first, "third");
    rank(&first, "first 3");
    for _ in 0..2 {
        sync(&second, &first, "first");
        sync(&third, &first, "first");
    }
    assert_eq!(state(&first), state(&second));
    assert_eq!(state(&first), state(&third));
    let note = third.get::<v3::Note>("third").unwrap().unwrap();
    assert_eq!((note.rank(), note.next()), (100, v3::Mood::Wild));
}

#[test]
fn objects_are_merged_by_fields_that_only_the_other_program_knows() {
    let directory = tempfile::tempdir().unwrap();
    let older = open::<v1::Note>(&path(&directory, "older"));
    let newer = open::<v2::Note>(&path(&directory, "newer"));
    let set = |stars: u8| {
        let changed = newer.perform_changes_blocking([v2::Note::TABLE], |tx| {
            tx.submit(v2::NoteChangeRequest::upsert(starred(stars)))
        });
        changed.unwrap();
    };
    set(1);
    let history = newer.history();
    history.remote("older").push_to(&older, "main").unwrap();
    // Different fields on both sides.
    set(2);
    let changed = older.perform_changes_blocking([v1::Note::TABLE], |tx| {
        let note = tx.get::<v1::Note>("note")?.unwrap();
        let mut request = v1::NoteChangeRequest::change(tx, &note)?.unwrap();
        request.rank = 2;
        tx.submit(request).map(drop)
    });
    changed.unwrap();
    let history = older.history();
    history.remote("newer").pull_from(&newer, "main").unwrap();
    let merged = history.merge("newer/main").unwrap();
    assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");
    history.remote("newer").push_to(&newer, "main").unwrap();
    let note = newer.get::<v2::Note>("note").unwrap().unwrap();
    assert_eq!((note.stars(), note.rank()), (2, 2));
}

fn starred(stars: u8) -> v2::NoteData {
    v2::NoteData {
        id: "note".to_owned(),
        stars,
        ..v2::NoteData::default()
    }
}

/// Sets the bytes of a row, as a program does that keeps no history and describes no types.
fn set_by_sql(path: &Path, row_id: i64, data: v2::NoteData) {
    let memory = Workspace::in_memory();
    let stored = memory.perform_changes_blocking([v2::Note::TABLE], |tx| {
        tx.submit(v2::NoteChangeRequest::upsert(data))
    });
    stored.unwrap();
    let note = memory.fetch::<v2::Note>().all().unwrap();
    let bytes = note.iter().next().unwrap().to_bytes();
    let statement = format!("UPDATE {} SET p = ? WHERE rowid = ?", v1::Note::TABLE.name);
    let changed = sql(path).execute(&statement, params![bytes, row_id]);
    assert_eq!(changed, Ok(1));
}

#[test]
fn object_with_values_that_no_schema_of_the_file_knows_is_merged_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = path(&directory, "file");
    let workspace = open::<v1::Note>(&path);
    let created = workspace.perform_changes_blocking([v1::Note::TABLE], |tx| {
        let data = v1::NoteData {
            id: "note".to_owned(),
            ..v1::NoteData::default()
        };
        tx.submit(v1::NoteChangeRequest::creation(data)).map(drop)
    });
    created.unwrap();
    let history = workspace.history();
    history.branch("draft").unwrap();
    set_by_sql(&path, 1, starred(5));
    history.commit("stars").unwrap();
    history.checkout("draft").unwrap();
    // Different fields on both sides.
    let ranked = v2::NoteData {
        rank: 2,
        ..starred(3)
    };
    set_by_sql(&path, 1, ranked);
    let Merged::Conflicts(mut pending) = history.merge("main").unwrap() else {
        panic!("fields were merged that no schema knows");
    };
    assert_eq!(pending.conflicts().len(), 1);
    assert_eq!(pending.conflicts()[0].reason, ConflictReason::Unknown);
    pending.keep_all(Side::Theirs);
    pending.finish().unwrap();
    // The bytes are those of the other side, with the value that the file does not know.
    workspace.shutdown().unwrap();
    let newer = open::<v2::Note>(&path);
    let note = newer.get::<v2::Note>("note").unwrap().unwrap();
    assert_eq!((note.stars(), note.rank()), (5, 0));
}
