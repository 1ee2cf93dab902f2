//! Repair and salvage report their progress and can be cancelled. Fuzzers check their results.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use dflat::{ErrorKind, Object, ProblemKind, Progress, Workspace};
use dflat_testkit::fixture::Fixture;
use dflat_testkit::letter;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

pub(super) const ITEMS: i32 = 3000;

/// A file in which an item can't be read, and an index has wrong entries.
pub(super) fn damaged(path: &Path) {
    let workspace = Workspace::open(path).unwrap();
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        (0..ITEMS).try_for_each(|number| {
            let data = ItemData {
                id: format!("item{number:04}"),
                rank: number % 7,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        })
    });
    created.wait().unwrap();
    workspace.shutdown().unwrap();
    execute(
        path,
        "UPDATE item SET p = x'0011' WHERE rowid = 7;
         DELETE FROM item__f6 WHERE rowid = 9;",
    );
}

pub(super) fn execute(path: &Path, statements: &str) {
    let sql = Connection::open(path).unwrap();
    let triggers = DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    sql.set_db_config(triggers, false).unwrap();
    sql.execute_batch(statements).unwrap();
}

pub(super) fn items(workspace: &Workspace) -> u64 {
    workspace.fetch::<Item>().count().unwrap() as u64
}

#[test]
fn a_repair_reports_its_progress_and_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    damaged(&path);
    let workspace = Workspace::open(&path).unwrap();
    // Cancelled at once, so nothing was changed.
    let cancelled = workspace.repair_with([Item::TABLE], |_| ControlFlow::Break(()));
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    let found = workspace.check([Item::TABLE]).unwrap();
    assert_eq!(found.problems_count, 2, "{:?}", found.problems);
    let panicked = workspace.repair_with([Item::TABLE], |_| panic!("enough"));
    assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Panicked);

    let mut received: Vec<Progress> = Vec::new();
    let report = workspace.repair_with([Item::TABLE], |progress| {
        received.push(progress);
        assert_eq!(
            workspace.shutdown().unwrap_err().kind(),
            ErrorKind::WouldDeadlock
        );
        ControlFlow::Continue(())
    });
    assert!(report.unwrap().after.is_sound());
    assert!(
        received
            .iter()
            .all(|progress| progress.done <= progress.total),
        "{received:?}"
    );
    let total = u64::try_from(ITEMS).unwrap();
    let all_looked_at = received.iter().any(|p| p.done == total && p.total == total);
    assert!(all_looked_at && received.len() > 4, "{received:?}");
    assert_eq!(items(&workspace), total - 1);
    workspace.shutdown().unwrap();
}

// Promise: durability#D66
#[test]
fn cancelled_repair_keeps_its_finished_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    damaged(&path);
    let workspace = Workspace::open(&path).unwrap();
    let total = u64::try_from(ITEMS).unwrap();
    let mut reports_before = 0;
    let cancelled = workspace.repair_with([Item::TABLE], |_| {
        // The item that can't be read was moved to `dflat__unreadable`.
        if items(&workspace) < total {
            return ControlFlow::Break(());
        }
        reports_before += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(reports_before > 1, "{reports_before}");
    workspace.indexes_ready().wait().unwrap();
    let report = workspace.check([Item::TABLE]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(items(&workspace), total - 1);
    workspace.shutdown().unwrap();
}

// Promise: durability#D64, durability#D67
#[test]
fn salvage_reports_its_progress_and_leaves_nothing_if_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    damaged(&at("a.db"));
    let nothing_is_left = || {
        let mut names = std::fs::read_dir(directory.path()).unwrap();
        names.all(|entry| {
            !entry
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .starts_with('b')
        })
    };
    for last in [0, 2000] {
        let cancelled = Workspace::salvage_with(at("a.db"), at("b.db"), [Item::TABLE], |p| {
            if p.done >= last {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(nothing_is_left());
    }
    let panicked =
        Workspace::salvage_with(at("a.db"), at("b.db"), [Item::TABLE], |_| panic!("enough"));
    assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Panicked);
    assert!(nothing_is_left());
    let mut received: Vec<Progress> = Vec::new();
    let report = Workspace::salvage_with(at("a.db"), at("b.db"), [Item::TABLE], |progress| {
        received.push(progress);
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    let total = u64::try_from(ITEMS).unwrap();
    let figures = (report.saved, report.unreadable, report.lost);
    assert_eq!(figures, (total - 1, 1, 0));
    let moved: (u32, Vec<u8>) = Connection::open(at("b.db"))
        .unwrap()
        .query_row("SELECT row, p FROM dflat__unreadable", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(moved, (7, vec![0, 0x11]));
    assert!(received.len() > 10, "{received:?}");
    assert!(
        received
            .iter()
            .all(|progress| progress.done <= progress.total),
        "{received:?}"
    );
    let saved = Workspace::open(at("b.db")).unwrap();
    assert_eq!(items(&saved), total - 1);
    saved.shutdown().unwrap();
}

#[test]
fn salvage_reports_progress_with_gaps_between_row_ids() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    damaged(&at("a.db"));
    execute(&at("a.db"), "DELETE FROM item WHERE rowid % 2 = 0");
    let mut received = Vec::new();
    let report = Workspace::salvage_with(at("a.db"), at("b.db"), [Item::TABLE], |progress| {
        received.push(progress.done);
        ControlFlow::Continue(())
    });
    assert_eq!(report.unwrap().saved, u64::try_from(ITEMS).unwrap() / 2 - 1);
    assert!(received.len() > 10, "{received:?}");
    let cancelled = Workspace::salvage_with(at("a.db"), at("c.db"), [Item::TABLE], |p| {
        if p.done > 2000 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
}

// Promise: durability#D65
/// Also if a program that was killed has left a log.
#[test]
fn salvage_leaves_the_source_and_its_directory_unchanged() {
    let home = tempfile::tempdir().unwrap();
    let before = home.path().join("before.db");
    damaged(&before);
    let writer = Connection::open(&before).unwrap();
    writer
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        .unwrap();
    writer
        .execute_batch("DELETE FROM item WHERE rowid = 1")
        .unwrap();
    for has_log in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        std::fs::copy(&before, &path).unwrap();
        if has_log {
            let log = home.path().join("before.db-wal");
            std::fs::copy(log, directory.path().join("a.db-wal")).unwrap();
        }
        let found = || -> BTreeMap<_, _> {
            let entries = std::fs::read_dir(directory.path()).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            paths
                .map(|p| (p.clone(), std::fs::read(p).unwrap()))
                .collect()
        };
        let source = found();
        let to = home.path().join(format!("saved{has_log}.db"));
        let report = Workspace::salvage(&path, &to, [Item::TABLE]).unwrap();
        let expected = u64::try_from(ITEMS).unwrap() - 1 - u64::from(has_log);
        assert_eq!(report.saved, expected);
        assert!(found() == source, "{:?}", found().keys());
    }
}

/// A file with ten items.
fn ten(path: &Path) {
    let workspace = Workspace::open(path).unwrap();
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        (1..=10).try_for_each(|n| {
            let data = ItemData {
                id: format!("item{n:02}"),
                code: Some(format!("code{n:02}")),
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        })
    });
    created.wait().unwrap();
    workspace.shutdown().unwrap();
}

/// Changes a part of the bytes of a row. Returns the changed bytes.
fn change(path: &Path, row: u32, (from, to): (&str, &str)) -> Vec<u8> {
    let read = "SELECT p FROM item WHERE rowid = ?";
    let sql = Connection::open(path).unwrap();
    let mut bytes: Vec<u8> = sql.query_row(read, [row], |row| row.get(0)).unwrap();
    drop(sql);
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let at = bytes.windows(from.len()).position(|part| part == from);
    let at = at.unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    execute(
        path,
        &format!("UPDATE item SET p = x'{hex}' WHERE rowid = {row}"),
    );
    bytes
}

/// Two bytes of a file as a number.
fn number(bytes: &[u8], at: usize) -> usize {
    u16::from_be_bytes([bytes[at], bytes[at + 1]]).into()
}

/// The bytes of a file, and the offset of the root page of a table.
fn root_page(path: &Path, table: &str) -> (Vec<u8>, usize) {
    let sql = Connection::open(path).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
    let root: u32 = sql.query_row(root, [table], |row| row.get(0)).unwrap();
    sql.close().unwrap();
    let bytes = std::fs::read(path).unwrap();
    let page = (root as usize - 1) * number(&bytes, 16);
    (bytes, page)
}

/// Gives a row of a small table the id of another row, as damage to one byte may do.
fn rename_row(path: &Path, table: &str, (from, to): (u8, u8)) {
    let (mut bytes, page) = root_page(path, table);
    assert_eq!(bytes[page], 13, "all rows are on one page");
    let cells = (0..number(&bytes, page + 3)).map(|n| page + number(&bytes, page + 8 + 2 * n));
    // The row id follows the size of the row, a varint whose bytes have the highest bit except the
    // last.
    let ids = cells.map(|cell| cell + 1 + bytes[cell..].iter().take_while(|b| **b > 127).count());
    let at = ids.into_iter().find(|at| bytes[*at] == from).unwrap();
    bytes[at] = to;
    std::fs::write(path, bytes).unwrap();
}

// Promise: durability#D60
/// The other row may have the larger or the smaller row id. The rows are then read out of order,
/// and one of the two can't be looked up.
#[test]
fn rows_with_a_duplicated_row_id_are_salvaged() {
    let directory = tempfile::tempdir().unwrap();
    for (from, to) in [(3, 8), (8, 3), (5, 6), (6, 5), (2, 120), (10, 1)] {
        let [path, saved] = ["a", "saved"].map(|n| directory.path().join(format!("{n}{from}.db")));
        ten(&path);
        rename_row(&path, "item", (from, to));
        let report = Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap();
        assert_eq!((report.saved, report.lost), (10, 0), "{from} as {to}");
        let workspace = Workspace::open(&saved).unwrap();
        assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
        for n in 1..=10 {
            let found = workspace.get::<Item>(&format!("item{n:02}")).unwrap();
            assert!(found.is_some(), "item{n:02} with {from} as {to}");
        }
    }
}

// Promise: durability#D62
/// The result does not depend on which of the two rows comes first.
#[test]
fn salvage_keeps_the_row_whose_key_columns_match() {
    let directory = tempfile::tempdir().unwrap();
    for (damaged, sound) in [(3, 8), (8, 3)] {
        let [path, saved] =
            ["a", "saved"].map(|n| directory.path().join(format!("{n}{damaged}.db")));
        ten(&path);
        let keys = [damaged, sound].map(|n| format!("item{n:02}"));
        let bytes = change(&path, damaged, (&keys[0], &keys[1]));
        let report = Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap();
        assert_eq!((report.saved, report.unreadable, report.lost), (9, 1, 0));
        let workspace = Workspace::open(&saved).unwrap();
        assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
        let found = workspace.get::<Item>(&keys[1]).unwrap().unwrap();
        assert_eq!(found.code(), Some(&*format!("code{sound:02}")));
        let moved: (String, u32, String, Vec<u8>) = Connection::open(&saved)
            .unwrap()
            .query_row("SELECT * FROM dflat__unreadable", [], |row| row.try_into())
            .unwrap();
        assert_eq!((&*moved.0, moved.1, moved.3), ("item", damaged, bytes));
        assert!(
            moved.2.contains("primary key") && moved.2.contains(&keys[1]),
            "{}",
            moved.2
        );
    }
}

// Promise: durability#D63
#[test]
fn objects_made_equal_in_a_unique_index_by_damage_are_all_salvaged() {
    let directory = tempfile::tempdir().unwrap();
    let [path, saved] = ["a", "b"].map(|name| directory.path().join(name));
    ten(&path);
    change(&path, 3, ("code03", "code08"));
    change(&path, 9, ("code09", "code04"));
    let report = Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap();
    assert_eq!((report.saved, report.unreadable, report.lost), (10, 0, 0));
    let workspace = Workspace::open(&saved).unwrap();
    assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
    for (code, items) in [
        ("code08", ["item03", "item08"]),
        ("code04", ["item04", "item09"]),
    ] {
        let found = workspace.fetch::<Item>().filter(Item::CODE.eq(code)).all();
        let ids: Vec<&str> = found.as_ref().unwrap().iter().map(Item::id).collect();
        assert_eq!(ids, items);
    }
    // No third object may get the value.
    let refused = workspace.perform_changes([Item::TABLE], |tx| {
        let mut request = ItemChangeRequest::creation(ItemData::default());
        request.code = Some("code08".to_owned());
        tx.submit(request).map(drop)
    });
    assert_eq!(refused.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
}

/// The first page of a table's rows, of which there are several.
fn first_leaf(path: &Path, table: &str) -> usize {
    let (bytes, page) = root_page(path, table);
    assert_eq!(bytes[page], 5, "one page above those of the rows");
    let cell = page + number(&bytes, page + 12);
    let child = u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap());
    (child as usize - 1) * number(&bytes, 16)
}

// Promise: durability#D61
/// The gap has as many row ids as are looked up one by one, or one more or less.
#[test]
fn rows_after_a_gap_are_all_salvaged() {
    let directory = tempfile::tempdir().unwrap();
    for gap in [1099, 1100, 1101] {
        let [path, saved] = ["a", "saved"].map(|n| directory.path().join(format!("{n}{gap}.db")));
        damaged(&path);
        let gone = format!("DELETE FROM item WHERE rowid BETWEEN 101 AND {gap}");
        execute(&path, &format!("PRAGMA journal_mode = DELETE; {gone}"));
        let leaf = first_leaf(&path, "item");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[leaf..leaf + 8].fill(0xFF);
        std::fs::write(&path, bytes).unwrap();
        let sql = Connection::open(&path).unwrap();
        let readable = |row: &i32| {
            let key = "SELECT __pk0 FROM item WHERE rowid = ?";
            sql.query_row(key, [row], |row| row.get::<_, String>(0))
                .ok()
        };
        assert!(readable(&1).is_none() && readable(&(gap + 1)).is_some());
        let keys: Vec<String> = (1..=ITEMS).filter_map(|row| readable(&row)).collect();
        let report = Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap();
        assert_eq!(report.saved, keys.len() as u64, "{report:?}");
        let workspace = Workspace::open(&saved).unwrap();
        for key in keys {
            assert!(workspace.get::<Item>(&key).unwrap().is_some(), "{key}");
        }
        workspace.shutdown().unwrap();
    }
}

#[test]
fn check_names_the_values_of_a_key_and_of_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    damaged(&path);
    execute(&path, "UPDATE item SET __pk0 = 'x' WHERE rowid = 3;");
    let workspace = Workspace::open(&path).unwrap();
    let report = workspace.check([Item::TABLE]).unwrap();
    let messages = report.problems.into_iter().map(|problem| problem.message);
    let messages: Vec<String> = messages.collect();
    for expected in [
        "the key columns differ from the object's primary key id = \"item0002\"",
        "the index on rank has no entry 1 for the row",
    ] {
        assert!(messages.iter().any(|m| m == expected), "{messages:?}");
    }
}

// Promise: compatibility#P65
#[test]
fn check_lists_objects_without_required_values() {
    let w = Fixture::sqlite();
    let empty = letter::v1::mail::LetterData {
        id: 7,
        ..Default::default()
    };
    w.create::<letter::v1::mail::Letter>([empty]);
    let found = w.check([letter::v2::mail::Letter::TABLE]).unwrap();
    assert_eq!(found.problems_count, 1, "{:?}", found.problems);
    let problem = &found.problems[0];
    assert_eq!(problem.kind, ProblemKind::Payload);
    assert!(problem.row_id.is_some());
    let message = &problem.message;
    assert!(message.contains("a required value"), "{message}");
    // The object is read, moved aside, and created anew with all values.
    let read = w.fetch::<letter::v2::mail::Letter>().unchecked();
    let mut data = read.first().unwrap().unwrap().to_data();
    w.repair([letter::v2::mail::Letter::TABLE]).unwrap();
    data.title = "a title".to_owned();
    w.create::<letter::v2::mail::Letter>([data.clone()]);
    let letter = w.get::<letter::v2::mail::Letter>(7).unwrap().unwrap();
    assert_eq!(letter.to_data(), data);
}

// Promise: storage-format#S27
#[test]
fn file_with_texts_in_utf_16_is_neither_salvaged_nor_repaired() {
    for in_log in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (path, saved) = (
            directory.path().join("a.db"),
            directory.path().join("saved.db"),
        );
        let sql = Connection::open(&path).unwrap();
        sql.pragma_update(None, "encoding", "UTF-16le").unwrap();
        if in_log {
            // The header of the file does not name the encoding.
            sql.pragma_update(None, "journal_mode", "WAL").unwrap();
        }
        sql.execute_batch(
            "CREATE TABLE item (rowid INTEGER PRIMARY KEY, __pk0 TEXT UNIQUE, p BLOB);
             INSERT INTO item (__pk0, p) VALUES ('a', x'00');",
        )
        .unwrap();
        let refused = |error: dflat::Error| {
            assert_eq!(error.kind(), ErrorKind::NotADatabase, "{error}");
            assert!(error.to_string().contains("UTF-16le"), "{error}");
        };
        refused(Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap_err());
        assert!(!saved.exists());
        match Workspace::open(&path) {
            Err(error) => refused(error),
            Ok(workspace) => {
                refused(workspace.repair([Item::TABLE]).unwrap_err());
                refused(workspace.check([Item::TABLE]).unwrap_err());
            }
        }
    }
}
