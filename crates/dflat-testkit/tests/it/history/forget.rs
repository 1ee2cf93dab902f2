//! The history of a type is ended.

use std::path::Path;

use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest, OtherData};

use super::files::{data, delete, file, open_both, put, rank, rows, sql, steps, without_history};

/// A workspace with two versioned types, and steps of each and of both.
fn filled(path: &Path) -> Workspace {
    let workspace = open_both(path);
    put(&workspace, "secret", 1);
    for id in 0..2 {
        let note = Some(format!("note {id}"));
        let both = workspace.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
            tx.submit(OtherChangeRequest::creation(OtherData { id, note }))?;
            tx.submit(ItemChangeRequest::upsert(data("secret", 10 + id)))
        });
        both.unwrap();
    }
    put(&workspace, "secret", 2);
    workspace
}

// Promise: storage-format#S50
#[test]
fn forgotten_type_is_in_no_step_and_programs_without_a_history_write_it() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = filled(&path);
        let before = (rows(&path, "item"), rows(&path, "other"));
        workspace.history().forget::<Item>().unwrap();
        assert_eq!((rows(&path, "item"), rows(&path, "other")), before);
        let secret = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"secret");
        assert!(steps(&path).iter().all(|(_, record)| !secret(record)));
        let log = workspace
            .history()
            .log()
            .collect::<Result<Vec<_>>>()
            .unwrap();
        // The latest step stays, so that no later one gets its number.
        let numbers: Vec<i64> = log.iter().map(|step| step.id.0).collect();
        assert_eq!(numbers, [4, 3, 2]);
        // Later changes are not kept.
        put(&workspace, "secret", 3);
        assert_eq!(workspace.history().log().count(), 3);
        let objects = "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'dflat__history_item*'";
        let left: i64 = sql(&path).query_row(objects, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0);
        let refused = workspace.history().forget::<Item>().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        // The other type goes on.
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(rows(&path, "other").len(), 1);
        drop(workspace);
        let without = without_history(&path);
        put(&without, "secret", 4);
        assert_eq!(rank(&without, "secret"), Some(4));
    });
}

#[test]
fn purge_names_the_tables_whose_history_has_deleted_objects() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = filled(&path);
        delete(&workspace, "secret");
        let has_secret = |path: &Path| {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(6).any(|window| window == b"secret")
        };
        let purged = workspace.purge().unwrap();
        assert_eq!(purged.versioned, ["item", "other"]);
        assert!(has_secret(&path), "the history has the deleted object");
        workspace.history().forget::<Item>().unwrap();
        let purged = workspace.purge().unwrap();
        assert_eq!(purged.versioned, ["other"]);
        workspace.shutdown().unwrap();
        assert!(!has_secret(&path));
    });
}

#[test]
fn type_can_be_versioned_again_after_it_was_forgotten() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = filled(&path);
        workspace.history().forget::<Item>().unwrap();
        let again = Workspace::builder(&path)
            .versioned::<Item>()
            .open()
            .unwrap();
        put(&again, "secret", 5);
        put(&again, "secret", 6);
        again.history().undo().unwrap().unwrap();
        assert_eq!(rank(&again, "secret"), Some(5));
        again.history().undo().unwrap().unwrap();
        assert_eq!(rank(&again, "secret"), Some(2));
    });
}

#[test]
fn large_transaction_of_two_types_keeps_the_parts_of_the_other_type() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = filled(&path);
        let imported = workspace.perform_changes_blocking([Item::TABLE, Other::TABLE], |tx| {
            for id in 10..5010 {
                let note = Some("n".repeat(60));
                tx.submit(OtherChangeRequest::creation(OtherData { id, note }))?;
                tx.submit(ItemChangeRequest::creation(data(format!("{id:060}"), id)))?;
            }
            Ok(())
        });
        imported.unwrap();
        workspace.history().forget::<Item>().unwrap();
        let undone = workspace.history().undo().unwrap().unwrap();
        assert_eq!(undone.changed, 5000);
        assert_eq!(rows(&path, "other").len(), 2);
        assert_eq!(rows(&path, "item").len(), 5001);
    });
}
