//! Salvage of files that stand on a pack.

use std::path::Path;

use dflat::{Object, SalvageReport, Workspace};
use dflat_testkit::schema::{Item, ItemChangeRequest};
use rusqlite::Connection;

use super::standing::{items, put, ranks};

fn remove(workspace: &Workspace, id: &str) {
    let removed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let found = tx.get::<Item>(id)?.unwrap();
        let request = ItemChangeRequest::deletion(tx, &found)?.unwrap();
        tx.submit(request).map(drop)
    });
    removed.unwrap();
}

/// A file that stands on a pack of ten items, of which it has changed one and deleted another. It
/// has had an item of its own, and deleted it.
fn changed(path: &Path, pack: &dflat::pack::Pack) {
    let workspace = open(path, pack);
    put(&workspace, "i3", 33).unwrap();
    put(&workspace, "own", 10).unwrap();
    remove(&workspace, "i5");
    remove(&workspace, "own");
    workspace.shutdown().unwrap();
}

fn open(path: &Path, pack: &dflat::pack::Pack) -> Workspace {
    Workspace::builder(path).standing_on(pack).open().unwrap()
}

fn execute(path: &Path, statements: &str) {
    let sql = Connection::open(path).unwrap();
    sql.execute_batch(statements).unwrap();
}

fn base_table(path: &Path) -> String {
    let sql = Connection::open(path).unwrap();
    let query = "SELECT sql FROM sqlite_schema WHERE name = 'dflat__base'";
    sql.query_row(query, [], |row| row.get(0)).unwrap()
}

fn salvaged(path: &Path) -> (std::path::PathBuf, SalvageReport) {
    let to = path.with_extension("saved");
    let report = Workspace::salvage(path, &to, [Item::TABLE]).unwrap();
    (to, report)
}

// Promise: durability#D90
#[test]
fn salvaged_file_stands_on_the_same_pack() {
    // The last row id of the table may be lost: new row ids then begin far behind.
    for damage in ["", "DELETE FROM sqlite_sequence WHERE name = 'item'"] {
        let directory = tempfile::tempdir().unwrap();
        let pack = items(directory.path());
        let path = directory.path().join("own.db");
        changed(&path, &pack);
        execute(&path, damage);
        let (saved, report) = salvaged(&path);
        assert_eq!((report.saved, report.lost), (1, 0));
        assert_eq!(base_table(&saved), base_table(&path));
        let workspace = open(&saved, &pack);
        assert_eq!(ranks(&workspace), [0, 1, 2, 33, 4, 6, 7, 8, 9]);
        // The row ids of new objects begin behind those of the pack.
        put(&workspace, "new", 11).unwrap();
        put(&workspace, "i0", 100).unwrap();
        remove(&workspace, "i1");
        assert_eq!(ranks(&workspace), [100, 2, 33, 4, 6, 7, 8, 9, 11]);
        assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
        let new = workspace.get::<Item>("new").unwrap().unwrap();
        assert!(new.row_id().0 > 10, "{:?}", new.row_id());
    }
}

/// Without the row that names the pack, the other rows would hide objects of any pack.
#[test]
fn salvaged_file_without_the_name_of_its_pack_has_its_own_objects() {
    let directory = tempfile::tempdir().unwrap();
    let pack = items(directory.path());
    let path = directory.path().join("own.db");
    changed(&path, &pack);
    execute(&path, "DELETE FROM dflat__base WHERE __pk0 = ''");
    let (saved, report) = salvaged(&path);
    assert_eq!(report.saved, 1);
    let workspace = Workspace::open(&saved).unwrap();
    assert_eq!(ranks(&workspace), [33]);
}
