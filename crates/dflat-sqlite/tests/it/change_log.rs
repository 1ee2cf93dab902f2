//! Tests of the change log: its records are complete, or a reader learns that they are not.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat_engine::storage::{
    Records, RowWrite, Snapshot, StateId, View, WriteError, WriteTransaction,
};
use dflat_model::record::{RecordHead, RecordWriter, empty_record};
use dflat_model::{RowId, Table, ValueRef};
use dflat_sqlite::{Reclaim, SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::{INT, begin, snapshot, table_of};

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        change_log: true,
        reclaim: Reclaim::Never,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

fn plain() -> Table {
    table_of("plain", &[INT], &[])
}

fn insert(tx: &mut dyn WriteTransaction, key: i64) -> Result<RowId, WriteError> {
    tx.create(&plain()).unwrap();
    let row = RowWrite {
        key: Some(&[ValueRef::Int(key)]),
        payload: &[7; 100],
        entries: &[],
    };
    tx.insert(&plain(), &row)
}

/// Commits a row with records.
fn commit(backend: &Arc<SqliteBackend>, key: i64, records: &[&str]) {
    let mut tx = begin(backend);
    insert(&mut *tx, key).unwrap();
    for record in records {
        tx.append_record(record.as_bytes()).unwrap();
    }
    tx.commit().unwrap();
}

/// The state that a new snapshot sees.
fn state(backend: &Arc<SqliteBackend>) -> StateId {
    snapshot(backend, View::Pinned).pin().unwrap()
}

/// The records since a state as texts, if they are complete; a record of upkeep as no text.
fn records_in(snapshot: &mut dyn Snapshot, since: StateId) -> Option<Vec<String>> {
    let mut records = Vec::new();
    let read = snapshot.records(since, &mut |record| {
        let is_upkeep = record == empty_record();
        let text = if is_upkeep { &[] } else { record };
        records.push(String::from_utf8(text.to_vec()).unwrap());
        ControlFlow::Continue(())
    });
    match read.unwrap() {
        Records::Complete => Some(records),
        Records::Noted => panic!("this process does not follow"),
        Records::Broken => {
            assert!(records.is_empty(), "{records:?}");
            None
        }
    }
}

fn records(backend: &Arc<SqliteBackend>, since: StateId) -> Option<Vec<String>> {
    let mut snapshot = snapshot(backend, View::Pinned);
    snapshot.pin().unwrap();
    records_in(&mut *snapshot, since)
}

fn incarnations(path: &Path) -> Vec<String> {
    let rest = "FROM dflat__log GROUP BY incarnation ORDER BY min(id)";
    Raw::open(path).rows(&["incarnation"], rest)
}

// Promise: storage-format#S29
#[test]
fn law_12_complete_records_account_for_every_commit_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (one, two) = (open(&path), open(&path));
    commit(&one, 0, &["first"]);
    let since = [&one, &two].map(state);
    assert_eq!(records(&two, since[1]).unwrap(), [""; 0]);
    commit(&one, 1, &["a", "b", "c"]);
    commit(&two, 2, &["d"]);
    commit(&one, 3, &[""]);
    let between = state(&one);
    commit(&one, 4, &["e"]);
    for (backend, since) in [&one, &two].into_iter().zip(since) {
        assert_eq!(
            records(backend, since).unwrap(),
            ["e", "", "d", "c", "b", "a"]
        );
    }
    assert_eq!(records(&one, between).unwrap(), ["e"]);
    // A write transaction reads up to its base state.
    let mut tx = begin(&two);
    tx.append_record(b"own").unwrap();
    assert_eq!(records_in(&mut *tx, since[1]).unwrap().len(), 6);
    drop(tx);
    assert_eq!(records(&two, since[1]).unwrap().len(), 6);
}

#[test]
fn visitor_that_breaks_gets_broken_records() {
    let directory = tempfile::tempdir().unwrap();
    let one = open(&directory.path().join("a.db"));
    commit(&one, 0, &["first"]);
    let since = state(&one);
    commit(&one, 1, &["a", "b", "c"]);
    let mut snapshot = snapshot(&one, View::Pinned);
    snapshot.pin().unwrap();
    let mut visited = 0;
    let read = snapshot.records(since, &mut |_| {
        visited += 1;
        match visited {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!((read.unwrap(), visited), (Records::Broken, 2));
}

/// A process that is alone writes no records.
#[test]
fn own_commits_need_no_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (one, two) = (open(&path), open(&path));
    commit(&one, 0, &["first"]);
    let since = [&one, &two].map(state);
    commit(&one, 1, &[]);
    commit(&one, 2, &[]);
    commit(&two, 3, &["a"]);
    commit(&one, 4, &["b"]);
    commit(&one, 5, &[]);
    commit(&two, 6, &["c"]);
    assert_eq!(records(&one, since[0]).unwrap(), ["c", "b", "a"]);
    assert_eq!(records(&two, since[1]), None);
}

#[test]
fn checkpoints_do_not_break_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (one, two) = (open(&path), open(&path));
    commit(&one, 0, &["first"]);
    let since = state(&two);
    for key in 1..5 {
        commit(&one, key, &["x"]);
        Raw::open(&path).execute("PRAGMA wal_checkpoint(PASSIVE)");
    }
    commit(&two, 5, &["y"]);
    assert_eq!(records(&two, since).unwrap().concat(), "yxxxx");
    assert_eq!(incarnations(&path).len(), 1);
}

// Promise: storage-format#S29
#[test]
fn commit_without_a_record_breaks_the_records_and_ends_their_incarnation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (one, two, reader) = (open(&path), open(&path), open(&path));
    commit(&one, 0, &["first"]);
    commit(&one, 1, &["second"]);
    let breaks: [&dyn Fn(); 3] = [
        &|| commit(&one, 10, &[]),
        &|| commit(&two, 11, &[]),
        &|| Raw::open(&path).execute("UPDATE plain SET p = x'07'"),
    ];
    for (at, write) in breaks.iter().enumerate() {
        let since = state(&reader);
        write();
        assert_eq!(records(&reader, since), None);
        let after = state(&reader);
        commit(&one, 20 + at as i64, &["later"]);
        assert_eq!(records(&reader, since), None);
        assert_eq!(records(&reader, after).unwrap(), ["later"]);
        assert_eq!(incarnations(&path).len(), at + 2);
    }
}

#[test]
fn undone_transaction_leaves_no_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let one = open(&path);
    let mut tx = begin(&one);
    tx.append_record(b"undone with the table").unwrap();
    drop(tx);
    commit(&one, 0, &["first"]);
    let since = state(&one);
    let mut tx = begin(&one);
    insert(&mut *tx, 1).unwrap();
    tx.append_record(b"undone").unwrap();
    drop(tx);
    commit(&one, 2, &["second"]);
    assert_eq!(records(&one, since).unwrap(), ["second"]);
    let ids = Raw::open(&path).rows(&["id"], "FROM dflat__log");
    assert_eq!(ids, ["1", "2"]);
}

/// After the last connection is closed, nothing shows whether another program has written.
// Promise: storage-format#S30
#[test]
fn records_begin_anew_when_the_file_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let one = open(&path);
    commit(&one, 0, &["first"]);
    commit(&one, 1, &["second"]);
    drop(one);
    let (one, two) = (open(&path), open(&path));
    let since = state(&two);
    Raw::open(&path).execute("UPDATE plain SET p = x'07'");
    commit(&one, 2, &["third"]);
    assert_eq!(records(&two, since), None);
    assert_eq!(incarnations(&path).len(), 2);
}

// Promise: storage-format#S30
#[test]
fn copy_of_a_file_has_a_change_log_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let one = open(&path);
    commit(&one, 0, &["first"]);
    let copy = directory.path().join("b.db");
    one.backup(&copy, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let other = open(&copy);
    commit(&other, 1, &["in the copy"]);
    commit(&one, 1, &["in the original"]);
    assert_eq!(incarnations(&path).len(), 1);
    let both = incarnations(&copy);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(incarnations(&path).contains(&both[0]));
}

/// Ways in which another program can damage the change log.
const DAMAGES: [&str; 17] = [
    "INSERT INTO dflat__log VALUES (9223372036854775807, 1, 1, 1, 1, 0, x'')",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'dflat__log'",
    "UPDATE sqlite_sequence SET seq = 4611686018427387904 WHERE name = 'dflat__log'",
    "UPDATE sqlite_sequence SET seq = -9223372036854775808 WHERE name = 'dflat__log'",
    "UPDATE sqlite_sequence SET seq = 'x' WHERE name = 'dflat__log'",
    "UPDATE sqlite_sequence SET seq = NULL WHERE name = 'dflat__log'",
    "DELETE FROM sqlite_sequence",
    "UPDATE dflat__log SET id = -id, commits = 'x', place = -5",
    "UPDATE dflat__log SET commits = 9223372036854775807, place = 9223372036854775807",
    "UPDATE dflat__log SET commits = -9223372036854775808, place = -9223372036854775808",
    "DELETE FROM dflat__log WHERE id = (SELECT max(id) FROM dflat__log)",
    "DROP TABLE dflat__log; CREATE TABLE dflat__log (id)",
    "ALTER TABLE dflat__log RENAME COLUMN place TO other",
    "DROP TRIGGER dflat__log_deleted",
    "CREATE UNIQUE INDEX strange ON dflat__log (record)",
    "UPDATE dflat__log SET record = CAST(record AS TEXT)",
    "UPDATE dflat__log SET incarnation = 9223372036854775807, salt = -1",
];

// Promise: storage-format#S31
#[test]
fn damaged_change_log_begins_anew_and_fails_no_write() {
    for damage in DAMAGES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let (one, two, reader) = (open(&path), open(&path), open(&path));
        commit(&one, 0, &["same"]);
        commit(&one, 1, &["other"]);
        let since = state(&reader);
        let mut raw = Raw::open(&path);
        damage.split("; ").for_each(|sql| raw.execute(sql));
        assert_eq!(records(&reader, since), None, "{damage}");
        let after = state(&reader);
        commit(&two, 2, &["same", "same"]);
        assert_eq!(records(&reader, since), None, "{damage}");
        assert_eq!(records(&reader, after).unwrap().len(), 2, "{damage}");
        let middle = state(&reader);
        commit(&one, 3, &["same"]);
        commit(&two, 4, &["last"]);
        let later = records(&reader, middle).unwrap();
        assert_eq!(later, ["last", "same"], "{damage}");
    }
}

// Promise: storage-format#S31
#[test]
fn commit_whose_second_record_is_refused_has_no_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (one, reader) = (open(&path), open(&path));
    commit(&one, 0, &["first"]);
    Raw::open(&path).execute("CREATE UNIQUE INDEX strange ON dflat__log (record)");
    let since = state(&reader);
    commit(&one, 1, &["same", "same", "more"]);
    assert_eq!(records(&reader, since), None);
    let after = state(&reader);
    commit(&one, 2, &["later"]);
    assert_eq!(records(&reader, after).unwrap(), ["later"]);
}

/// A view may have any number of rows, and can't be dropped as a table is.
// Promise: storage-format#S31
#[test]
fn view_in_place_of_the_change_log_fails_no_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (one, reader) = (open(&path), open(&path));
    commit(&one, 0, &[]);
    Raw::open(&path).execute(
        "CREATE VIEW dflat__log AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
         SELECT i AS id, 1 AS incarnation, 1 AS commits, 1 AS digest, 1 AS salt, 0 AS place, \
         1 AS time, x'' AS record FROM n",
    );
    let since = state(&reader);
    commit(&one, 1, &["a", "b"]);
    assert_eq!(records(&reader, since), None);
    assert_eq!(Raw::open(&path).rows(&["count(*)"], "FROM plain"), ["2"]);
}

// Promise: storage-format#S34
#[test]
fn old_records_are_deleted_when_nobody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let options = SqliteOptions {
        change_log: true,
        change_log_bytes_max: 400_000,
        ..SqliteOptions::default()
    };
    let one = SqliteBackend::open(&path, options).unwrap();
    let record = "x".repeat(100);
    for key in 0..3 {
        let mut tx = begin(&one);
        insert(&mut *tx, key).unwrap();
        (0..2000).for_each(|_| tx.append_record(record.as_bytes()).unwrap());
        tx.commit().unwrap();
    }
    let reader = open(&path);
    let since = state(&reader);
    let bytes = || -> u64 {
        let rows = Raw::open(&path).rows(&["sum(length(record))"], "FROM dflat__log");
        rows[0].parse().unwrap()
    };
    let start = std::time::Instant::now();
    while bytes() > 200_000 {
        assert!(start.elapsed().as_secs() < 60, "{} bytes", bytes());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(bytes() > 50_000);
    // The ids go on, and pruning itself is accounted for.
    commit(&one, 10, &["later"]);
    let later = records(&reader, since).unwrap();
    assert_eq!(later[0], "later");
    assert!(later[1..].iter().all(String::is_empty), "{}", later.len());
}

/// A record of a transaction at a time, in milliseconds since 1970.
fn record_of(time: u64) -> Vec<u8> {
    let head = RecordHead {
        engine: 1,
        time,
        ..RecordHead::default()
    };
    let mut record = Vec::new();
    RecordWriter::new(&head, false, &mut record).finish();
    record
}

// Promise: storage-format#S42
#[test]
fn records_that_are_too_old_are_deleted_when_nobody_writes() {
    const HOUR: u64 = 3_600_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_millis()).unwrap();
    let (old, later) = (now - 2 * HOUR, now + HOUR);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let without = open(&path);
    let commit_records = |backend: &Arc<SqliteBackend>, key, records: &[&[u8]]| {
        let mut tx = begin(backend);
        insert(&mut *tx, key).unwrap();
        records.iter().for_each(|r| tx.append_record(r).unwrap());
        tx.commit().unwrap();
    };
    // More than one step deletes; upkeep has no time, and the clock was wrong for a while.
    let many: Vec<_> = (0..1500).map(|_| record_of(old)).collect();
    let many: Vec<_> = many.iter().map(Vec::as_slice).collect();
    commit_records(&without, 0, &many);
    commit_records(
        &without,
        1,
        &[&empty_record(), &record_of(later), b"damaged"],
    );
    commit_records(&without, 2, &[&record_of(old + 1), &empty_record()]);
    let ids = || Raw::open(&path).rows(&["id"], "FROM dflat__log ORDER BY id");
    assert_eq!(ids().len(), 1505);
    let since = state(&without);
    let options = SqliteOptions {
        change_log: true,
        change_log_age_max: Some(Duration::from_millis(HOUR)),
        ..SqliteOptions::default()
    };
    // Opening and reading delete nothing.
    let limited = SqliteBackend::open(&path, options).unwrap();
    let reader = state(&limited);
    assert_eq!(records(&limited, reader).unwrap(), [""; 0]);
    // The first commit does: also the last old record, but nothing after it.
    commit_records(&limited, 3, &[&record_of(now)]);
    let start = std::time::Instant::now();
    while ids().len() > 4 {
        assert!(start.elapsed().as_secs() < 60, "{} records", ids().len());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Upkeep, the record of the commit, and those of the two steps that deleted.
    assert_eq!(ids(), ["1505", "1506", "1507", "1508"]);
    // Pruning itself is accounted for.
    let mut snapshot = snapshot(&without, View::Pinned);
    snapshot.pin().unwrap();
    let read = snapshot.records(since, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(read.unwrap(), Records::Complete));
}
