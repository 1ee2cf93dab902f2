//! Tests of giving space back and of purging deleted data.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dflat_engine::ErrorKind;
use dflat_engine::storage::{
    Backend, CloseOptions, IndexEntry, RowWrite, Source, View, WriteTransaction,
};
use dflat_model::{RowId, Step, Table, ValueRef};
use dflat_sqlite::{Operation, Reclaim, SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::{INT, TEXT, begin, field, ids, snapshot, table_of};

fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        busy_timeout: Duration::from_millis(50),
        reclaim: Reclaim::Never,
        io_stats: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// A table with a text key and an index on a text.
fn secret() -> Table {
    let index = field(&[Step::Field(6)], TEXT);
    table_of("secret", &[TEXT, INT], &[(index, false)])
}

fn insert(tx: &mut dyn WriteTransaction, number: i64, text: &str, length: usize) -> RowId {
    let payload = text.repeat(length / text.len() + 1);
    let row = RowWrite {
        key: Some(&[ValueRef::Text(text), ValueRef::Int(number)]),
        payload: payload.as_bytes(),
        entries: &[IndexEntry::one(0, ValueRef::Text(text))],
    };
    tx.insert(&secret(), &row).unwrap()
}

fn update(tx: &mut dyn WriteTransaction, row_id: RowId, text: &str, length: usize) {
    let payload = text.repeat(length / text.len() + 1);
    let row = RowWrite {
        key: None,
        payload: payload.as_bytes(),
        entries: &[],
    };
    tx.update(&secret(), row_id, &row).unwrap();
}

/// The number of times that a text occurs in the files of a directory. No connection may have the
/// files open.
fn occurrences(directory: &Path, text: &str) -> usize {
    let files = fs::read_dir(directory).unwrap();
    let count = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        let windows = bytes.windows(text.len());
        windows.filter(|window| *window == text.as_bytes()).count()
    };
    files.map(|entry| count(&entry.unwrap().path())).sum()
}

/// Copies the files of a database that is open. Another process copies them, because reading the
/// files in this process would drop the locks that SQLite holds.
fn copied(path: &Path) -> tempfile::TempDir {
    let copies = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let mut from = path.as_os_str().to_owned();
        from.push(suffix);
        if Path::new(&from).exists() {
            let words: &[&str] = match cfg!(windows) {
                true => &["cmd", "/C", "copy"],
                false => &["cp"],
            };
            let mut copy = std::process::Command::new(words[0]);
            let copy = copy.args(&words[1..]).arg(&from).arg(copies.path());
            assert!(copy.status().unwrap().success());
        }
    }
    copies
}

/// Inserts, updates and deletes rows at random. Returns the remaining rows, and for each whether it
/// ever held the secret.
fn shuffle(backend: &Arc<SqliteBackend>, seed: u64) -> Vec<(RowId, bool)> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut below = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % end
    };
    let mut rows: Vec<(RowId, bool)> = Vec::new();
    for number in 0..400 {
        let mut tx = begin(backend);
        tx.create(&secret()).unwrap();
        for part in 0..3 {
            let is_secret = below(3) == 0;
            let text = if is_secret { "SECRET-7f3a" } else { "ordinary" };
            let length = [20, 300, 1500, 6000][below(4) as usize];
            match below(5) {
                0 if !rows.is_empty() => {
                    let at = below(rows.len() as u64) as usize;
                    assert!(tx.delete(&secret(), rows.swap_remove(at).0).unwrap());
                }
                1 if !rows.is_empty() => {
                    let at = below(rows.len() as u64) as usize;
                    update(&mut *tx, rows[at].0, text, length as usize);
                    rows[at].1 |= is_secret;
                }
                _ => {
                    let id = insert(&mut *tx, number * 3 + part, text, length as usize);
                    rows.push((id, is_secret));
                }
            }
        }
        tx.commit().unwrap();
    }
    rows
}

/// Besides unused pages, pages in use may hold deleted data: when SQLite moves rows between pages,
/// it leaves copies of rows behind. With seed 9, one such copy is left by incremental vacuum.
#[test]
fn purge_erases_all_deleted_data() {
    for seed in 0..12_u64 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let backend = open(&path);
        let mut rows = shuffle(&backend, seed);
        let mut tx = begin(&backend);
        for (row_id, _) in rows.extract_if(.., |row| row.1) {
            tx.delete(&secret(), row_id).unwrap();
        }
        tx.commit().unwrap();
        backend.purge().unwrap();
        let copies = copied(&path);
        assert_eq!(occurrences(copies.path(), "SECRET-7f3a"), 0, "seed {seed}");
        assert!(!rows.is_empty() && occurrences(copies.path(), "ordinary") > 0);
    }
}

/// `ANALYZE`, which a SQLite shell may run, keeps samples of the values of indexes.
#[cfg(feature = "bundled")]
#[test]
fn purge_erases_samples_of_deleted_values() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    let mut tx = begin(&backend);
    tx.create(&secret()).unwrap();
    let row_id = insert(&mut *tx, 1, "SECRET-7f3a", 10);
    insert(&mut *tx, 2, "ordinary", 10);
    tx.commit().unwrap();
    let mut raw = Raw::open(&path);
    raw.execute("ANALYZE");
    let tables = "FROM sqlite_schema WHERE name = 'sqlite_stat4'";
    if raw.rows(&["count(*)"], tables) == ["0"] {
        let is_system = std::env::var_os("DFLAT_SYSTEM_SQLITE").is_some();
        assert!(is_system, "the bundled library takes samples");
        eprintln!("skipped: the system's SQLite takes no samples");
        return;
    }
    let samples = raw.rows(&["count(*) > 0"], "FROM sqlite_stat4");
    assert_eq!(samples, ["1"], "the bundled library takes samples");
    drop(raw);
    let mut tx = begin(&backend);
    tx.delete(&secret(), row_id).unwrap();
    tx.commit().unwrap();
    backend.purge().unwrap();
    assert_eq!(occurrences(copied(&path).path(), "SECRET-7f3a"), 0);
}

// Promise: durability#D43
/// Figure C5: a tenth of the file is given back in steps, and a writer and readers run between the
/// steps.
#[test]
fn unused_pages_are_given_back_in_steps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    let mut tx = begin(&backend);
    tx.create(&secret()).unwrap();
    let rows: Vec<RowId> = (0..4800).map(|n| insert(&mut *tx, n, "x", 4000)).collect();
    tx.commit().unwrap();
    // The pages that the inserts left in the log are not counted as those of the reclaim.
    backend.purge().unwrap();
    let mut tx = begin(&backend);
    for row_id in &rows[..480] {
        tx.delete(&secret(), *row_id).unwrap();
    }
    tx.commit().unwrap();

    let free = backend.reclaim(0).unwrap();
    assert!((450..550).contains(&free), "{free}");
    let before = backend.io_report().unwrap();
    let mut left = free;
    let mut number = 10_000;
    while left > 0 {
        let rest = backend.reclaim(64).unwrap();
        // The insert between the steps may have used some pages.
        let steps = left.saturating_sub(67)..=left.saturating_sub(64);
        assert!(steps.contains(&rest), "{rest} of {left}");
        left = rest;
        let mut tx = begin(&backend);
        insert(&mut *tx, number, "y", 10);
        number += 1;
        tx.commit().unwrap();
        let mut reader = snapshot(&backend, View::Latest);
        assert!(ids(&mut *reader, &secret(), Source::Rows).len() > 4000);
    }
    let reclaimed = backend.io_report().unwrap().since(&before);
    let before = backend.io_report().unwrap();
    backend.compact().unwrap();
    let compacted = backend.io_report().unwrap().since(&before);
    let [reclaimed, compacted] = [reclaimed, compacted].map(|r| r.bytes(Operation::Write));
    assert!(reclaimed <= 4_200_000, "{reclaimed}");
    assert!(compacted >= 8 * reclaimed, "{compacted} {reclaimed}");
}

#[test]
fn file_of_dflat_for_swift_is_reclaimed_only_after_compact() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::copy(data.join("checkpointed.db"), &path).unwrap();
    let backend = open(&path);
    let errors = [
        backend.reclaim(1).unwrap_err(),
        backend.purge().unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("needs compact()"), "{error}");
    }
    backend.compact().unwrap();
    assert_eq!(backend.reclaim(1).unwrap(), 0);
    backend.purge().unwrap();
    backend.close(CloseOptions::default()).unwrap();
    let mut raw = Raw::open(&path);
    assert_eq!(raw.rows(&["auto_vacuum"], "FROM pragma_auto_vacuum"), ["2"]);
    assert_eq!(
        raw.rows(&["integrity_check"], "FROM pragma_integrity_check"),
        ["'ok'"]
    );
}

#[test]
fn purge_beside_a_reader_is_busy() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    let mut tx = begin(&backend);
    tx.create(&secret()).unwrap();
    let row_id = insert(&mut *tx, 1, "SECRET", 9000);
    tx.commit().unwrap();
    let mut reader = snapshot(&backend, View::Pinned);
    ids(&mut *reader, &secret(), Source::Rows);
    let mut tx = begin(&backend);
    tx.delete(&secret(), row_id).unwrap();
    tx.commit().unwrap();
    assert_eq!(backend.purge().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(ids(&mut *reader, &secret(), Source::Rows), [row_id.0]);
    drop(reader);
    backend.purge().unwrap();
}

#[test]
fn maintenance_creates_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = open(&path);
    assert_eq!(backend.reclaim(9).unwrap(), 0);
    backend.purge().unwrap();
    backend.compact().unwrap();
    assert!(!path.exists());
}
