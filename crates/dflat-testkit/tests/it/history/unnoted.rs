//! Programs that write to versioned types and prevent the notes of that.

use std::path::Path;

use dflat::history::{BlameChange, Change, Note};
use dflat::{ErrorKind, Object, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;
use rusqlite::params;

use super::files::{delete, file, open, payload, put, rank, rows, sql};

const NOTES: &str = "dflat__history_item";

/// How a program prevents the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prevention {
    /// The triggers are dropped.
    Dropped,
    /// One trigger is dropped: that of the change.
    OneDropped,
    /// The triggers are replaced by others that do nothing.
    Replaced,
    /// The triggers are dropped, and made again after the change.
    MadeAgain,
    /// As before, and then the file is vacuumed.
    Vacuumed,
    /// The table of the notes is dropped and made again after the change.
    NotesLost,
}

pub(crate) const PREVENTIONS: [Prevention; 6] = [
    Prevention::Dropped,
    Prevention::OneDropped,
    Prevention::Replaced,
    Prevention::MadeAgain,
    Prevention::Vacuumed,
    Prevention::NotesLost,
];

/// The names and definitions of the triggers.
fn triggers(path: &Path) -> Vec<(String, String)> {
    let sql = sql(path);
    let find = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'item' \
                AND name GLOB 'dflat__history_item:*' ORDER BY rowid";
    let mut found = sql.prepare(find).unwrap();
    let found = found.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    found.unwrap().map(|row| row.unwrap()).collect()
}

/// Runs a statement while no trigger notes its changes.
pub(crate) fn unnoted(
    path: &Path,
    prevention: Prevention,
    (statement, bytes): (&str, Option<&[u8]>),
) {
    let made = triggers(path);
    let sql = sql(path);
    let drop = |(name, _): &(String, String)| {
        sql.execute_batch(&format!("DROP TRIGGER \"{name}\""))
            .unwrap();
    };
    match prevention {
        Prevention::OneDropped => {
            let kind = statement.split(' ').next().unwrap().to_lowercase();
            let is_of = |name: &str| match kind.as_str() {
                "insert" => name.ends_with(":inserted") || name.ends_with(":replaces"),
                "update" => name.ends_with(":updated") || name.ends_with(":moves"),
                _ => name.ends_with(":deleted"),
            };
            made.iter().filter(|(name, _)| is_of(name)).for_each(drop);
        }
        Prevention::NotesLost => {}
        _ => made.iter().for_each(drop),
    }
    if prevention == Prevention::Replaced {
        for (name, definition) in &made {
            let (head, _) = definition.split_once(" BEGIN ").unwrap();
            let empty = format!("{head} BEGIN SELECT 1; END");
            sql.execute_batch(&empty)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    match bytes {
        Some(bytes) => sql.execute(statement, params![bytes]).unwrap(),
        None => sql.execute(statement, []).unwrap(),
    };
    match prevention {
        Prevention::MadeAgain | Prevention::Vacuumed => {
            for (_, definition) in &made {
                sql.execute_batch(definition).unwrap();
            }
        }
        Prevention::NotesLost => {
            let find = format!("SELECT sql FROM sqlite_schema WHERE name = '{NOTES}'");
            let definition: String = sql.query_row(&find, [], |row| row.get(0)).unwrap();
            let again = format!("DROP TABLE {NOTES}; {definition}");
            sql.execute_batch(&again).unwrap();
        }
        _ => {}
    }
    if prevention == Prevention::Vacuumed {
        sql.execute_batch("VACUUM").unwrap();
    }
}

pub(crate) fn update(path: &Path, prevention: Prevention, id: &str, rank: i32) {
    let statement = format!("UPDATE item SET p = ? WHERE __pk0 = '{id}'");
    unnoted(path, prevention, (&statement, Some(&payload(id, rank))));
}

pub(crate) fn insert(path: &Path, prevention: Prevention, id: &str, rank: i32) {
    let statement = format!("INSERT INTO item (__pk0, p) VALUES ('{id}', ?)");
    unnoted(path, prevention, (&statement, Some(&payload(id, rank))));
}

pub(crate) fn remove(path: &Path, prevention: Prevention, id: &str) {
    let statement = format!("DELETE FROM item WHERE __pk0 = '{id}'");
    unnoted(path, prevention, (&statement, None));
}

fn log(workspace: &Workspace) -> Vec<dflat::history::Step> {
    let log = workspace.history().log().collect::<Result<Vec<_>>>();
    log.unwrap()
}

fn counts(step: &dflat::history::Step) -> (u64, u64, u64) {
    let [table] = &step.tables[..] else {
        panic!("{step:?}");
    };
    (table.inserted, table.updated, table.deleted)
}

// Promise: storage-format#S58
#[test]
fn objects_that_were_changed_without_notes_since_a_commit_are_found_by_comparison() {
    bounded(|| {
        for prevention in PREVENTIONS {
            let (_directory, path) = file();
            let workspace = open(&path);
            for id in ["a", "b", "c", "d"] {
                put(&workspace, id, 1);
            }
            let first = workspace.history().commit("first").unwrap();
            update(&path, prevention, "a", 1000);
            remove(&path, prevention, "b");
            insert(&path, prevention, "s", 7);
            let found = log(&workspace);
            let unknown: Vec<_> = found
                .iter()
                .filter(|step| step.note == Note::Unknown)
                .collect();
            let changed = unknown.iter().map(|step| counts(step));
            let changed = changed.fold((0, 0, 0), |sum, of| {
                (sum.0 + of.0, sum.1 + of.1, sum.2 + of.2)
            });
            assert_eq!(changed, (1, 1, 1), "{prevention:?} {found:?}");
            // The objects of before are lost, and all others are not.
            let then = workspace.at(first).unwrap();
            assert_eq!(rank(&then, "c"), Some(1));
            assert_eq!(rank(&then, "s"), None);
            for id in ["a", "b"] {
                let error = then.get::<Item>(id).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotFound);
                let text = error.to_string();
                assert!(text.contains("Item") && text.contains(id), "{text}");
                assert!(text.contains("step 5"), "{text}");
            }
            assert_eq!(
                then.fetch::<Item>().all().unwrap_err().kind(),
                ErrorKind::NotFound
            );
            // The next commit has the tree of the present objects.
            let second = workspace.history().commit("second").unwrap();
            let root = |id| {
                let commit = workspace
                    .history()
                    .commits()
                    .find(|c| c.as_ref().unwrap().id == id);
                commit.unwrap().unwrap().tables[0].root
            };
            let (_directory, other_path) = file();
            let other = open(&other_path);
            for (id, rank) in [("a", 1000), ("c", 1), ("d", 1), ("s", 7)] {
                put(&other, id, rank);
            }
            let of_other = other.history().commit("other").unwrap();
            let expected = other.history().commits().next().unwrap().unwrap();
            assert_eq!(expected.id, of_other);
            assert_eq!(root(second), expected.tables[0].root, "{prevention:?}");
            let differences = workspace.history().diff::<Item>(first, second).unwrap();
            let differences: Vec<Result<Change<Item>>> = differences.collect();
            assert!(differences.iter().any(|change| {
                change
                    .as_ref()
                    .is_err_and(|error| error.kind() == ErrorKind::NotFound)
            }));
        }
    });
}

// Promise: storage-format#S58
#[test]
fn undo_never_overwrites_a_change_without_a_note() {
    bounded(|| {
        for prevention in PREVENTIONS {
            for has_commit in [false, true] {
                let (_directory, path) = file();
                let workspace = open(&path);
                put(&workspace, "a", 1);
                put(&workspace, "b", 1);
                if has_commit {
                    workspace.history().commit("first").unwrap();
                }
                put(&workspace, "a", 2);
                update(&path, prevention, "a", 1000);
                let error = workspace.history().undo().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::OutOfDate, "{prevention:?} {error}");
                assert_eq!(rank(&workspace, "a"), Some(1000));
                let step = log(&workspace)[0].clone();
                assert_eq!(step.note, Note::Unknown);
                assert_eq!(step.tables[0].has_unnoted, !has_commit);
                let blamed = workspace.history().blame::<Item>("a").unwrap();
                assert_eq!(blamed[0].step.id, step.id);
                if has_commit {
                    assert_eq!(blamed[0].change, BlameChange::Updated);
                    let error = workspace.history().undo_step(step.id).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                }
                // Later changes are undone as ever, and older ones are where they are known.
                put(&workspace, "a", 3);
                workspace.history().undo().unwrap().unwrap();
                assert_eq!(rank(&workspace, "a"), Some(1000));
                let steps = log(&workspace);
                let first = steps.iter().find(|step| step.id.0 == 1).unwrap();
                let then = workspace.at(first.id).unwrap();
                let of_b = then.get::<Item>("b");
                match has_commit {
                    true => assert!(of_b.unwrap().is_none()),
                    // Any object may have been there.
                    false => assert_eq!(of_b.unwrap_err().kind(), ErrorKind::NotFound),
                }
                // Step 3 has the difference from a state that is lost.
                let of_a = then.get::<Item>("a").unwrap_err();
                assert_eq!(of_a.kind(), ErrorKind::NotFound);
            }
        }
    });
}

#[test]
fn triggers_that_were_dropped_without_a_change_make_no_step_if_there_is_a_tree() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for id in ["a", "b"] {
            put(&workspace, id, 1);
        }
        workspace.history().commit("first").unwrap();
        unnoted(
            &path,
            Prevention::Dropped,
            ("DELETE FROM item WHERE 0", None),
        );
        assert_eq!(workspace.history().log().count(), 2);
        assert_eq!(triggers(&path).len(), 5);
        put(&workspace, "a", 2);
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(rank(&workspace, "a"), Some(1));
    });
}

#[test]
fn vacuum_and_triggers_of_others_leave_the_notes_trusted() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let also = "CREATE TABLE more (x); CREATE TRIGGER on_item AFTER UPDATE ON item BEGIN \
                    SELECT 1; END; VACUUM; DROP TABLE more; VACUUM;";
        sql(&path).execute_batch(also).unwrap();
        let noted = "UPDATE item SET p = ? WHERE __pk0 = 'a'";
        sql(&path).execute(noted, params![payload("a", 2)]).unwrap();
        let step = log(&workspace)[0].clone();
        assert_eq!(
            (step.note, counts(&log(&workspace)[0])),
            (Note::Unknown, (0, 1, 0))
        );
        assert!(!step.tables[0].has_unnoted);
        workspace.history().undo_step(step.id).unwrap().unwrap();
        assert_eq!(rank(&workspace, "a"), Some(1));
        assert_eq!(super::files::leads_back(&path), Ok(()));
    });
}

#[test]
fn object_that_got_another_row_without_a_note_is_found_in_both() {
    bounded(|| {
        for prevention in PREVENTIONS {
            let (_directory, path) = file();
            let workspace = open(&path);
            put(&workspace, "a", 1);
            put(&workspace, "b", 1);
            let first = workspace.history().commit("first").unwrap();
            let moved = "UPDATE item SET rowid = rowid + 1000 WHERE __pk0 = 'a'";
            unnoted(&path, prevention, (moved, None));
            put(&workspace, "b", 2);
            let then = workspace.at(first).unwrap();
            let items = then.fetch::<Item>().all().unwrap();
            let found: Vec<_> = items.iter().map(|item| (item.id(), item.rank())).collect();
            assert_eq!(found.len(), 2, "{prevention:?}");
            assert_eq!(super::files::leads_back(&path), Ok(()));
        }
    });
}

#[test]
fn deleted_object_that_is_inserted_again_is_known_again() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().commit("first").unwrap();
        remove(&path, Prevention::Dropped, "a");
        put(&workspace, "a", 5);
        delete(&workspace, "a");
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(rank(&workspace, "a"), Some(5));
        assert_eq!(rows(&path, "item").len(), 1);
        let bytes = workspace.get::<Item>("a").unwrap().unwrap().to_bytes();
        assert_eq!(bytes, payload("a", 5));
    });
}
