//! Programs that keep no history write to versioned types.

use std::path::Path;

use dflat::history::{BlameChange, Note};
use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest};
use rusqlite::config::DbConfig;
use rusqlite::params;

use super::files::{
    another, data, delete, file, leads_back, open, payload, put, rank, rows, sql, steps,
};
use super::operation::{Operation, difference, run};

/// A change by plain SQL. Each has an effect if there are the items `a` and `b`.
#[derive(Clone, Copy, Debug)]
enum Stranger {
    Update,
    Insert,
    Delete,
    Replace,
    Move,
    DeleteAll,
    Garbage,
}

const STRANGERS: [Stranger; 7] = [
    Stranger::Update,
    Stranger::Insert,
    Stranger::Delete,
    Stranger::Replace,
    Stranger::Move,
    Stranger::DeleteAll,
    Stranger::Garbage,
];

fn write(path: &Path, stranger: Stranger) {
    let sql = sql(path);
    let written = match stranger {
        Stranger::Update => {
            let update = "UPDATE item SET p = ? WHERE __pk0 = 'a'";
            sql.execute(update, params![payload("a", 1000)])
        }
        Stranger::Insert => {
            let insert = "INSERT INTO item (__pk0, p) VALUES ('s', ?)";
            sql.execute(insert, params![payload("s", 1000)])
        }
        Stranger::Delete => sql.execute("DELETE FROM item WHERE __pk0 = 'a'", []),
        Stranger::Replace => {
            let replace = "INSERT OR REPLACE INTO item (__pk0, p) VALUES ('a', ?)";
            sql.execute(replace, params![payload("a", 1000)])
        }
        Stranger::Move => {
            let moved = "UPDATE item SET rowid = rowid + 1000 WHERE __pk0 = 'a'";
            sql.execute(moved, [])
        }
        Stranger::DeleteAll => sql.execute("DELETE FROM item", []),
        Stranger::Garbage => sql.execute("UPDATE item SET p = x'0102' WHERE __pk0 = 'a'", []),
    };
    written.unwrap();
}

const OPERATIONS: [Operation; 7] = [
    Operation::Change,
    Operation::Another,
    Operation::Undo,
    Operation::UndoRest,
    Operation::Redo,
    Operation::Log,
    Operation::Blame,
];

fn put_both(workspace: &Workspace, rank: i32) {
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for id in ["a", "b"] {
            tx.submit(ItemChangeRequest::upsert(data(id, rank)))?;
        }
        Ok(())
    });
    stored.unwrap();
}

// Promise: storage-format#S48
#[test]
fn shell_that_writes_between_any_two_operations_is_in_the_history_and_never_overwritten() {
    bounded(|| {
        for stranger in STRANGERS {
            let (_directory, path) = file();
            let workspace = open(&path);
            let other = another(&path);
            put_both(&workspace, 1);
            let mut number = 10;
            for first in OPERATIONS {
                for second in OPERATIONS {
                    // Both items are there, and the last change is that of both.
                    put_both(&workspace, 2);
                    put_both(&workspace, 3);
                    run((&workspace, &other), first, &mut number);
                    if rows(&path, "item").is_empty() || rank(&workspace, "a").is_none() {
                        put_both(&workspace, 4);
                    }
                    let before = rows(&path, "item");
                    write(&path, stranger);
                    let written = rows(&path, "item");
                    run((&workspace, &other), second, &mut number);
                    let case = format!("{first:?}, {stranger:?}, {second:?}");
                    let after = rows(&path, "item");
                    let is_undo = [Operation::Undo, Operation::UndoRest, Operation::Redo];
                    if is_undo.contains(&second) {
                        for row in difference(&before, &written) {
                            assert_eq!(after.get(&row), written.get(&row), "{case}");
                        }
                    }
                    assert_eq!(leads_back(&path), Ok(()), "{case}");
                    let count = difference(&before, &written).len() as u64;
                    let history = workspace.history();
                    let mut log = history.log().map(|step| step.unwrap());
                    let unknown = log.find(|step| step.note == Note::Unknown).unwrap();
                    let table = &unknown.tables[0];
                    let changed = table.inserted + table.updated + table.deleted;
                    assert_eq!((changed, unknown.tables.len()), (count, 1), "{case}");
                    // The next round begins with items that can be read.
                    let repair = "DELETE FROM item WHERE __pk0 IN ('a', 's')";
                    sql(&path).execute(repair, []).unwrap();
                }
            }
        }
    });
}

#[test]
fn change_of_a_stranger_is_a_conflict_that_names_its_step() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "a", 2);
        write(&path, Stranger::Update);
        let error = workspace.history().undo().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDate);
        assert!(error.to_string().contains("step 3"), "{error}");
        assert_eq!(rank(&workspace, "a"), Some(1000));
        let blamed = workspace.history().blame::<Item>("a").unwrap();
        assert_eq!(blamed[0].step.note, Note::Unknown);
        assert_eq!(blamed[0].change, BlameChange::Updated);
        // It is undone if that is asked for.
        workspace
            .history()
            .undo_step(blamed[0].step.id)
            .unwrap()
            .unwrap();
        assert_eq!(rank(&workspace, "a"), Some(2));
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(rank(&workspace, "a"), Some(1));
        assert_eq!(leads_back(&path), Ok(()));
    });
}

#[test]
fn stranger_that_restores_a_row_makes_no_step() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        sql(&path).execute("UPDATE item SET p = x'00'", []).unwrap();
        let stored = payload("a", 1);
        sql(&path)
            .execute("UPDATE item SET p = ?", params![stored])
            .unwrap();
        assert_eq!(workspace.history().log().count(), 1);
        let notes: i64 = sql(&path)
            .query_row("SELECT count(*) FROM dflat__history_item", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(notes, 0);
    });
}

#[test]
fn many_rows_of_a_stranger_are_one_step_in_parts() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            (0..5000).try_for_each(|number| {
                let id = format!("{number:060}");
                tx.submit(ItemChangeRequest::creation(data(id, number)))
                    .map(drop)
            })
        });
        filled.unwrap();
        let before = rows(&path, "item");
        write(&path, Stranger::DeleteAll);
        let log = workspace
            .history()
            .log()
            .collect::<Result<Vec<_>>>()
            .unwrap();
        assert_eq!(log.len(), 2);
        assert_eq!(log[0].tables[0].deleted, 5000);
        assert!(steps(&path).len() > 4);
        workspace.history().undo_step(log[0].id).unwrap().unwrap();
        assert_eq!(rows(&path, "item"), before);
    });
}

// Promise: storage-format#S48
#[test]
fn triggers_that_a_program_has_dropped_are_made_again() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let find = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' \
                    AND tbl_name = 'item' AND name GLOB 'dflat__history_item:*'";
        let count = || -> i64 { sql(&path).query_row(find, [], |row| row.get(0)).unwrap() };
        assert_eq!(count(), 5);
        sql(&path)
            .execute_batch("DROP TRIGGER \"dflat__history_item:updated\"")
            .unwrap();
        put(&workspace, "a", 2);
        assert_eq!(count(), 5);
        write(&path, Stranger::Update);
        put(&workspace, "b", 2);
        assert_eq!(leads_back(&path), Ok(()));
    });
}

// Promise: storage-format#S48
#[test]
fn change_with_triggers_off_is_reported_as_damage() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "a", 2);
        let sql = sql(&path);
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
            .unwrap();
        let update = "UPDATE item SET p = ? WHERE __pk0 = 'a'";
        sql.execute(update, params![payload("a", 1000)]).unwrap();
        let error = workspace.history().undo().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("kept no history"), "{error}");
        assert_eq!(rank(&workspace, "a"), Some(1000));
    });
}

#[test]
fn reader_of_the_log_in_a_handler_or_of_a_file_that_is_only_read_does_not_wait() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        write(&path, Stranger::Update);
        let inside = workspace
            .perform_changes_blocking([Item::TABLE], |_| Ok(workspace.history().log().count()));
        assert_eq!(inside.unwrap(), 1);
        drop(workspace);
        let read_only = Workspace::builder(&path).read_only(true).open().unwrap();
        assert_eq!(read_only.history().log().count(), 1);
        assert_eq!(
            read_only.history().undo().unwrap_err().kind(),
            ErrorKind::ReadOnly
        );
        drop(read_only);
        let workspace = open(&path);
        assert_eq!(workspace.history().log().count(), 2);
        delete(&workspace, "a");
        assert_eq!(workspace.history().log().count(), 3);
    });
}

#[test]
fn rows_from_before_a_type_was_versioned_have_no_step() {
    bounded(|| {
        let (_directory, path) = file();
        let plain = Workspace::open(&path).unwrap();
        put(&plain, "a", 1);
        drop(plain);
        write(&path, Stranger::Insert);
        let workspace = open(&path);
        put(&workspace, "a", 2);
        assert_eq!(workspace.history().log().count(), 1);
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(workspace.history().undo().unwrap(), None);
        assert_eq!(rank(&workspace, "a"), Some(1));
    });
}
