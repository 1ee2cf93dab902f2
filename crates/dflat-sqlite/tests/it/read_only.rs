//! Files that are read without shared locks, while other connections write.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

use dflat_engine::ErrorKind;
use dflat_engine::storage::{Row, ScanPlan, Source, View};

use crate::raw::Raw;
use crate::sample::*;

#[test]
fn scan_of_a_read_only_file_shows_one_state() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut tx = begin(&backend);
    for key in 0..5000 {
        insert_post(&mut *tx, (&format!("{key:01000}"), key, None)).unwrap();
    }
    tx.commit().unwrap();
    drop(backend);
    let reader = open_read_only(&path);
    for view in [View::Latest, View::Pinned] {
        Raw::open(&path).execute("UPDATE post SET p = CAST('old' AS BLOB)");
        make_old(&path);
        let mut snap = snapshot(&reader, view);
        let table = post();
        let plan = ScanPlan {
            table: &table,
            source: Source::Rows,
            payload: true,
        };
        let mut seen = Vec::new();
        let torn = snap.scan(&plan, &mut |row: Row<'_>| {
            if seen.is_empty() {
                // Another program writes, and copies its log into the main file as it closes.
                Raw::open(&path).execute("UPDATE post SET p = CAST('new' AS BLOB)");
            }
            seen.push(row.payload.to_vec());
            ControlFlow::Continue(())
        });
        assert_eq!(seen[0], b"old");
        assert_eq!(torn.unwrap_err().kind(), ErrorKind::Busy, "{view:?}");
        drop(snap);
        let latest = collect(&mut *snapshot(&reader, view), &post(), Source::Rows);
        assert!(latest.iter().all(|(_, payload)| payload == b"new"));
    }
}

// Promise: durability#D84
/// SQLite keeps the log beside the file to which a link leads. The library looked for it beside the
/// link, found none, and read the file without the commits in its log.
#[cfg(unix)]
#[test]
fn commits_in_the_log_are_read_by_a_symbolic_link() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("links")).unwrap();
    let writer = three_posts(&at("a.db"));
    for (link, target) in [("links/a.db", "../a.db"), ("b.db", "links/a.db")] {
        std::os::unix::fs::symlink(target, at(link)).unwrap();
        let reader = open_read_only(&at(link));
        let before = latest_ids(&writer, &post());
        assert_eq!(latest_ids(&reader, &post()), before);
        let mut tx = begin(&writer);
        insert_post(&mut *tx, (link, 0, None)).unwrap();
        tx.commit().unwrap();
        let after = latest_ids(&reader, &post());
        assert_eq!(after.len(), before.len() + 1);
    }
}

#[test]
fn a_rollback_journal_does_not_end_a_pinned_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    drop(three_posts(&path));
    Raw::open(&path).execute("PRAGMA journal_mode = DELETE");
    let reader = open_read_only(&path);
    let mut pinned = snapshot(&reader, View::Pinned);
    assert_eq!(ids(&mut *pinned, &post(), Source::Rows), [1, 2, 3]);
    let mut raw = Raw::open(&path);
    raw.execute("BEGIN IMMEDIATE");
    raw.execute("INSERT INTO post (__pk0, p) VALUES ('f', x'00')");
    // The commit would wait, because the file's own locks protect the snapshot.
    assert_eq!(ids(&mut *pinned, &post(), Source::Rows), [1, 2, 3]);
    drop(pinned);
    raw.execute("COMMIT");
    assert_eq!(latest_ids(&reader, &post()), [1, 2, 3, 4]);
}

/// The number of commits in the file's header.
fn count_in_header(path: &Path) -> [u8; 4] {
    fs::read(path).unwrap()[24..28].try_into().unwrap()
}

/// Issue 33. A commit to a log leaves the count in the header as it is if it changes no page count
/// and no definition.
#[test]
fn commit_of_a_program_that_opens_and_closes_the_file_overtakes_the_state_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    drop(three_posts(&path));
    let reader = open_read_only(&path);
    let state = || snapshot(&reader, View::Pinned).pin().unwrap();
    let mut before = state();
    let is_overtaken = |before| {
        let mut now = snapshot(&reader, View::Pinned);
        now.pin().unwrap();
        now.is_overtaken(before)
    };
    let first = count_in_header(&path);
    for text in ["one", "two", "six"] {
        assert!(!is_overtaken(before), "before {text}");
        let sql = format!("UPDATE post SET p = CAST('{text}' AS BLOB)");
        Raw::open(&path).execute(&sql);
        assert_eq!(count_in_header(&path), first, "the header shows no commit");
        assert!(is_overtaken(before), "{text}");
        before = state();
        let latest = collect(&mut *snapshot(&reader, View::Latest), &post(), Source::Rows);
        let expected = text.as_bytes();
        assert_eq!(latest.len(), 3);
        assert!(latest.iter().all(|(_, payload)| payload == expected));
    }
}

/// A program can set the time back at which a file was changed, as programs that copy files do.
#[cfg(unix)]
#[test]
fn change_shows_although_its_time_was_set_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    drop(three_posts(&path));
    let reader = open_read_only(&path);
    let before = snapshot(&reader, View::Pinned).pin().unwrap();
    let found = fs::metadata(&path).unwrap();
    Raw::open(&path).execute("DELETE FROM post WHERE rowid = 2");
    let file = File::options().append(true).open(&path).unwrap();
    file.set_modified(found.modified().unwrap()).unwrap();
    drop(file);
    let now = fs::metadata(&path).unwrap();
    assert_eq!(now.len(), found.len());
    assert_eq!(now.modified().unwrap(), found.modified().unwrap());
    let mut latest = snapshot(&reader, View::Pinned);
    latest.pin().unwrap();
    assert!(latest.is_overtaken(before));
    assert_eq!(ids(&mut *latest, &post(), Source::Rows), [1, 3]);
}
