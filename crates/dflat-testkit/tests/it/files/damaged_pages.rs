//! Repairs of rows whose pages are damaged.

use std::path::{Path, PathBuf};

use dflat::{ErrorKind, ProblemKind, Result, Workspace};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use rusqlite::Connection;

const PAGE: usize = 4096;

fn store(workspace: &Workspace, id: &str, length: usize) {
    let data = ItemData {
        id: id.to_owned(),
        nick: Some("n".repeat(length)),
        ..ItemData::default()
    };
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::upsert(data)).map(drop)
    });
    stored.unwrap();
}

/// The pages that have nothing but a part of the long text, in their order: each begins with the
/// number of the next one, and the last one with 0.
fn pages_of_text(bytes: &[u8]) -> Vec<usize> {
    let pages = bytes.chunks(PAGE).enumerate();
    let of_text = pages.filter(|(_, page)| page[4..200].iter().all(|byte| *byte == b'n'));
    of_text.map(|(number, _)| number).collect()
}

fn is_last(bytes: &[u8], page: usize) -> bool {
    bytes[page * PAGE..][..4] == [0; 4]
}

/// A file with two items, of which one with a text of some length has a page of other bytes: its
/// last page, or one before.
fn damaged(path: &Path, length: usize, is_at_end: bool) -> Workspace {
    let workspace = Workspace::open(path).unwrap();
    store(&workspace, "long", length);
    store(&workspace, "short", 10);
    workspace.shutdown().unwrap();
    drop(workspace);
    let mut bytes = std::fs::read(path).unwrap();
    let pages = pages_of_text(&bytes);
    let mut chosen = pages
        .into_iter()
        .filter(|page| is_last(&bytes, *page) == is_at_end);
    let page = chosen.nth(usize::from(!is_at_end)).unwrap();
    bytes[page * PAGE..][..PAGE].fill(0xa5);
    std::fs::write(path, bytes).unwrap();
    let workspace = Workspace::open(path).unwrap();
    let kinds = kinds(&workspace);
    assert!(kinds.contains(&ProblemKind::Pages), "{kinds:?}");
    let is_unreadable = kinds.contains(&ProblemKind::Payload);
    assert_eq!(is_unreadable, is_at_end, "{kinds:?}");
    workspace
}

fn kinds(workspace: &Workspace) -> Vec<ProblemKind> {
    let checked = workspace.check([Item::TABLE]).unwrap();
    checked.problems.iter().map(|found| found.kind).collect()
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    (directory, path)
}

fn count(workspace: &Workspace) -> Result<usize> {
    workspace.fetch::<Item>().count()
}

/// The table of the moved rows was made first. For this, SQLite moved the only page of the shorter
/// text, and grew the file to the page that the bytes name as the next one. Nothing could be
/// written to the file afterwards.
#[test]
fn row_is_moved_if_its_pages_are_sound_afterwards() {
    for length in [6_000, 30_000] {
        let (_directory, path) = file();
        let workspace = damaged(&path, length, true);
        let repaired = workspace.repair([Item::TABLE]).unwrap();
        assert_eq!(repaired.unreadable.len(), 1);
        assert!(repaired.after.is_sound(), "{:?}", repaired.after.problems);
        store(&workspace, "later", 10);
        assert_eq!(count(&workspace).unwrap(), 2);
        let sql = Connection::open(&path).unwrap();
        let query = "SELECT count(*) FROM dflat__unreadable WHERE length(p) > ?";
        let kept: i64 = sql
            .query_row(query, [length as i64], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, 1);
    }
}

#[test]
fn nothing_is_changed_if_pages_would_be_damaged_afterwards() {
    let (_directory, path) = file();
    let workspace = damaged(&path, 30_000, false);
    let before = kinds(&workspace);
    let error = workspace.repair([Item::TABLE]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("salvage"), "{error}");
    assert_eq!(kinds(&workspace), before);
    store(&workspace, "later", 10);
    workspace.shutdown().unwrap();
    let saved = path.with_extension("saved");
    let found = Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap();
    assert_eq!(found.saved, 2, "{found:?}");
}

/// SQLite would leave out the rows that it cannot find any more.
#[test]
fn file_with_damaged_pages_is_neither_compacted_nor_purged() {
    let (_directory, path) = file();
    let workspace = Workspace::open(&path).unwrap();
    for number in 0..100 {
        store(&workspace, &format!("item{number:04}"), 300);
    }
    workspace.shutdown().unwrap();
    // The tree of the items has one leaf less.
    let mut bytes = std::fs::read(&path).unwrap();
    let sql = Connection::open(&path).unwrap();
    let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'item'";
    let root: i64 = sql.query_row(query, [], |row| row.get(0)).unwrap();
    drop(sql);
    let root = &mut bytes[(root as usize - 1) * PAGE..][..PAGE];
    const INTERIOR: u8 = 5;
    assert_eq!(root[0], INTERIOR);
    let cells = u16::from_be_bytes([root[3], root[4]]) - 1;
    root[3..5].copy_from_slice(&cells.to_be_bytes());
    root.copy_within(14..12 + 2 * (usize::from(cells) + 1), 12);
    std::fs::write(&path, &bytes).unwrap();

    let workspace = Workspace::open(&path).unwrap();
    let left = workspace.fetch::<Item>().all().unwrap().len();
    assert!(left > 50 && left < 100, "{left}");
    for written in [workspace.compact(), workspace.purge().map(drop)] {
        let error = written.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    workspace.shutdown().unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
}

/// The items of a file of which pages are missing, as SQLite reads them one by one.
fn readable(path: &Path) -> u64 {
    let sql = Connection::open(path).unwrap();
    sql.pragma_update(None, "writable_schema", true).unwrap();
    let read = |row_id: &i64| {
        let query = "SELECT length(p) FROM item WHERE rowid = ?";
        sql.query_row(query, [row_id], |row| row.get::<_, i64>(0))
            .is_ok()
    };
    (1..=ITEMS).filter(read).count() as u64
}

const ITEMS: i64 = 500;

// Promise: durability#D91
#[test]
fn file_that_was_cut_off_is_salvaged() {
    let (_directory, path) = file();
    let workspace = Workspace::open(&path).unwrap();
    for number in 0..ITEMS {
        store(&workspace, &format!("item{number:04}"), 300);
    }
    workspace.shutdown().unwrap();
    drop(workspace);
    let whole = std::fs::read(&path).unwrap();
    let mut found = Vec::new();
    for share in [9, 6, 4] {
        let pages = whole.len() / PAGE * share / 10;
        // The last page is cut within.
        std::fs::write(&path, &whole[..pages * PAGE + 100]).unwrap();
        let count = readable(&path);
        let saved = path.with_extension(format!("saved{share}"));
        let report = Workspace::salvage(&path, &saved, [Item::TABLE]).unwrap();
        assert_eq!(report.saved, count, "{report:?}");
        assert!(report.lost > 0, "{report:?}");
        assert_eq!(std::fs::read(&path).unwrap().len(), pages * PAGE + 100);
        let workspace = Workspace::open(&saved).unwrap();
        assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
        assert_eq!(self::count(&workspace).unwrap() as u64, count);
        found.push(count);
    }
    let is_falling = found.windows(2).all(|pair| pair[0] > pair[1]);
    assert!(found[0] < ITEMS as u64 && is_falling, "{found:?}");
}
