//! Programs that write to versioned types and prevent the notes of that.

use dflat::history::{BlameChange, Change, Note};
use dflat::{ErrorKind, Object, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;
use rusqlite::params;

use super::super::files::{delete, file, leads_back, open, payload, put, rank, rows, sql};
use super::prevention::{PREVENTIONS, Prevention, insert, remove, triggers, unnoted, update};

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
        assert_eq!(leads_back(&path), Ok(()));
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
            assert_eq!(leads_back(&path), Ok(()));
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

// Promise: storage-format#S58
#[test]
fn state_before_is_known_from_a_note_a_step_or_a_received_commit() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        // A step has the object whole.
        put(&workspace, "a", 1);
        delete(&workspace, "a");
        put(&workspace, "a", 1);
        put(&workspace, "b", 1);
        // Another file has sent the object.
        let (_directory, other_path) = file();
        let other = open(&other_path);
        put(&other, "r", 5);
        other.history().commit("theirs").unwrap();
        let history = workspace.history();
        history.remote("other").pull_from(&other, "main").unwrap();
        history.merge("other/main").unwrap();
        let commit = history.commit("ours").unwrap();
        remove(&path, Prevention::Dropped, "a");
        remove(&path, Prevention::Dropped, "r");
        let step = log(&workspace)[0].clone();
        assert_eq!(counts(&step), (0, 0, 2));
        // A trigger that was left has noted the object.
        let name = "dflat__history_item:deleted";
        sql(&path)
            .execute_batch(&format!("DROP TRIGGER \"{name}\""))
            .unwrap();
        let noted = "UPDATE item SET p = ? WHERE __pk0 = 'b'";
        sql(&path).execute(noted, params![payload("b", 9)]).unwrap();
        let then = workspace.at(commit).unwrap();
        for (id, expected) in [("a", 1), ("b", 1), ("r", 5)] {
            assert_eq!(rank(&then, id), Some(expected), "{id}");
        }
        assert_eq!(then.fetch::<Item>().count().unwrap(), 3);
        history.undo_step(step.id).unwrap().unwrap();
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "r")),
            (Some(1), Some(5))
        );
    });
}

// Promise: storage-format#S58
#[test]
fn file_that_is_only_read_shows_no_earlier_state_before_the_changes_are_in_a_step() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "b", 1);
        let first = workspace.history().commit("first").unwrap();
        put(&workspace, "b", 2);
        let second = workspace.history().commit("second").unwrap();
        drop(workspace);
        update(&path, Prevention::Dropped, "a", 1000);
        let read_only = Workspace::builder(&path).read_only(true).open().unwrap();
        assert_eq!(read_only.history().log().count(), 3);
        let error = read_only.at(first).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDate, "{error}");
        let differences = read_only.history().diff::<Item>(first, second);
        let differences = differences.and_then(|changes| changes.collect::<Result<Vec<_>>>());
        assert_eq!(differences.unwrap_err().kind(), ErrorKind::OutOfDate);
        drop(read_only);
        let workspace = open(&path);
        assert_eq!(workspace.history().log().count(), 4);
        drop(workspace);
        let read_only = Workspace::builder(&path).read_only(true).open().unwrap();
        assert_eq!(rank(&read_only.at(first).unwrap(), "b"), Some(1));
    });
}

#[test]
fn object_whose_key_lacks_a_part_is_not_taken_for_a_new_one() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "b", 1);
        // An object without any field.
        let keyless = "INSERT INTO item (__pk0, p) VALUES (NULL, x'080000000400040004000000')";
        sql(&path).execute(keyless, []).unwrap();
        let first = log(&workspace).last().unwrap().id;
        for rank_of_stranger in [1000, 2000] {
            let commit = workspace.history().commit("before").unwrap();
            update(&path, Prevention::Dropped, "a", rank_of_stranger);
            let step = log(&workspace)[0].clone();
            assert_eq!(counts(&step), (0, 2, 0));
            let then = workspace.at(commit).unwrap();
            assert_eq!(rank(&then, "b"), Some(1));
        }
        let then = workspace.at(first).unwrap();
        assert_eq!(
            (rank(&then, "b"), then.get::<Item>("a").is_err()),
            (None, true)
        );
    });
}

// Promise: storage-format#S58
#[test]
fn object_that_an_older_step_has_whole_is_known_by_its_key_although_all_were_lost() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        delete(&workspace, "a");
        let first = log(&workspace)[1].id;
        insert(&path, Prevention::Dropped, "a", 7);
        let step = log(&workspace)[0].clone();
        assert!(step.tables[0].has_unnoted);
        // The step before has the object whole, in another row than the present one.
        let then = workspace.at(first).unwrap();
        let all = then.fetch::<Item>().filter(Item::ID.eq("a")).all();
        assert_eq!(all.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(rank(&then, "a"), Some(1));
    });
}
