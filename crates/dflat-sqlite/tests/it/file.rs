//! The file and its directory: opening, creating, closing.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use dflat_engine::ErrorKind;
use dflat_engine::storage::{Backend, CloseOptions, Source, View};
use dflat_sqlite::{Durability, Operation, SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::*;

fn listing(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn names(directory: &Path) -> Vec<String> {
    listing(directory)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

fn open_error(path: &Path) -> dflat_engine::Error {
    SqliteBackend::open(path, SqliteOptions::default()).unwrap_err()
}

// Promise: storage-format#S3
#[test]
fn opening_writes_nothing() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::copy(data.join("checkpointed.db"), at("log.db")).unwrap();
    fs::copy(data.join("unclean/unclean.db"), at("u.db")).unwrap();
    fs::copy(data.join("unclean/unclean.db-wal"), at("u.db-wal")).unwrap();
    fs::write(at("empty.db"), b"").unwrap();
    let before = listing(directory.path());
    for name in ["log.db", "u.db", "empty.db", "none.db"] {
        let backend = open(&at(name));
        assert_eq!(listing(directory.path()), before);
        backend.close(CloseOptions::default()).unwrap();
        assert_eq!(listing(directory.path()), before);
    }
}

#[test]
fn reading_a_file_that_is_missing_creates_none() {
    let directory = tempfile::tempdir().unwrap();
    let backend = open(&directory.path().join("a.db"));
    for view in [View::Latest, View::Pinned] {
        let mut reader = snapshot(&backend, view);
        assert!(ids(&mut *reader, &post(), Source::Rows).is_empty());
        assert_eq!(reader.indexes(&post()).unwrap().states.len(), 2);
    }
    backend
        .close(CloseOptions {
            truncate: true,
            vacuum: true,
        })
        .unwrap();
    assert!(names(directory.path()).is_empty());
}

#[test]
fn file_that_is_not_a_database_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text.db");
    for content in [&b"short"[..], &[b'x'; 5000]] {
        fs::write(&path, content).unwrap();
        let error = open_error(&path);
        assert_eq!(error.kind(), ErrorKind::NotADatabase);
        assert!(error.to_string().contains("text.db"), "{error}");
    }
    let error = open_error(&directory.path().join("no/such/a.db"));
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("no/such/a.db"), "{error}");
    assert_eq!(open_error(directory.path()).kind(), ErrorKind::Io);
}

/// The system lets a process that opens a pipe wait for another one that writes to it. All other
/// files that the process opens waited as well.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[test]
fn named_pipe_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe.db");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // With a writer, this test would fail and not wait.
    let writer = File::options().read(true).write(true).open(&path);
    let error = open_error(&path);
    assert_eq!(error.kind(), ErrorKind::NotADatabase);
    assert!(error.to_string().contains("named pipe"), "{error}");
    drop(writer.unwrap());
}

// Promise: durability#D28, storage-format#S4
#[cfg(unix)]
#[test]
fn files_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let _backend = three_posts(&directory.path().join("a.db"));
    assert!(names(directory.path()).len() >= 2);
    for name in names(directory.path()) {
        let metadata = fs::metadata(directory.path().join(&name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

// Promise: storage-format#S1
#[test]
fn a_new_file_has_a_log_and_incremental_vacuum() {
    for durability in [Durability::Normal, Durability::Full] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let options = SqliteOptions {
            durability,
            ..SqliteOptions::default()
        };
        let backend = SqliteBackend::open(&path, options).unwrap();
        begin(&backend).commit().unwrap();
        let mut raw = Raw::open(&path);
        assert_eq!(raw.rows(&["auto_vacuum"], "FROM pragma_auto_vacuum"), ["2"]);
        assert_eq!(
            raw.rows(&["journal_mode"], "FROM pragma_journal_mode"),
            ["'wal'"]
        );
    }
}

// Promise: storage-format#S2
#[test]
fn first_write_gives_a_file_in_rollback_mode_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let mut raw = Raw::open(&path);
    raw.execute("CREATE TABLE post (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 TEXT, p BLOB, UNIQUE(__pk0))");
    raw.execute("INSERT INTO post (__pk0, p) VALUES ('k', x'00')");
    drop(raw);
    let before = listing(directory.path());
    let backend = open_impatient(&path);
    let mut pinned = snapshot(&backend, View::Pinned);
    assert_eq!(ids(&mut *pinned, &post(), Source::Rows), [1]);
    assert_eq!(listing(directory.path()), before);
    let busy = Arc::clone(&backend).begin(backend.durability()).map(drop);
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    drop(pinned);
    begin(&backend).commit().unwrap();
    let mode = Raw::open(&path).rows(&["journal_mode"], "FROM pragma_journal_mode");
    assert_eq!(mode, ["'wal'"]);
    assert_eq!(latest_ids(&backend, &post()), [1]);
}

// Promise: storage-format#S2
#[test]
fn first_write_that_waits_for_a_reader_lets_the_reader_begin_another_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let mut raw = Raw::open(&path);
    raw.execute("CREATE TABLE other (x)");
    let reading = open(&path);
    let mut pinned = snapshot(&reading, View::Pinned);
    assert!(ids(&mut *pinned, &post(), Source::Rows).is_empty());
    thread::scope(|scope| {
        let written = scope.spawn(|| {
            let writing = open(&path);
            Arc::clone(&writing).begin(writing.durability())?.commit()
        });
        // SQLite lets no read begin while it waits for the open one.
        while !raw.is_kept_out() {
            assert!(!written.is_finished());
        }
        assert!(latest_ids(&reading, &post()).is_empty());
        drop(pinned);
        written.join().unwrap().unwrap();
    });
}

/// Without a log, each of six readers reads for 600 ms, so that some of them always read.
// Promise: storage-format#S2
#[test]
fn first_write_ends_while_reads_of_other_processes_overlap() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    Raw::open(&path).execute("CREATE TABLE other (x)");
    let (has_ended, offset) = (AtomicBool::new(false), Duration::from_millis(100));
    thread::scope(|scope| {
        for reader in 0..6 {
            let (path, has_ended) = (&path, &has_ended);
            scope.spawn(move || {
                let reading = open(path);
                thread::sleep(offset * reader);
                while !has_ended.load(Ordering::Relaxed) {
                    let mut pinned = snapshot(&reading, View::Pinned);
                    assert!(ids(&mut *pinned, &post(), Source::Rows).is_empty());
                    thread::sleep(6 * offset);
                }
            });
        }
        thread::sleep(6 * offset);
        let writing = open(&path);
        let begun = Arc::clone(&writing).begin(writing.durability());
        has_ended.store(true, Ordering::Relaxed);
        begun.unwrap().commit().unwrap();
    });
}

#[test]
fn snapshot_of_an_empty_file_keeps_no_process_from_creating_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    fs::write(&path, b"").unwrap();
    let (reading, writing) = (open(&path), open_impatient(&path));
    let mut pinned = snapshot(&reading, View::Pinned);
    let state = pinned.pin().unwrap();
    assert!(ids(&mut *pinned, &post(), Source::Rows).is_empty());
    let mut tx = begin(&writing);
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("k", 1, None)).unwrap();
    tx.commit().unwrap();
    assert!(ids(&mut *pinned, &post(), Source::Rows).is_empty());
    assert_eq!(latest_ids(&reading, &post()), [1]);
    assert!(begin(&reading).is_overtaken(state));
}

// Promise: durability#D45
#[test]
fn closing_can_leave_one_small_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = three_posts(&path);
    let mut tx = begin(&backend);
    for i in 0..2000 {
        insert_post(&mut *tx, (&format!("{i:0>200}"), i, None)).unwrap();
    }
    tx.commit().unwrap();
    let mut tx = begin(&backend);
    for i in 4..=2003 {
        assert!(tx.delete(&post(), dflat_model::RowId(i)).unwrap());
    }
    tx.commit().unwrap();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3]);
    backend
        .close(CloseOptions {
            truncate: true,
            vacuum: true,
        })
        .unwrap();
    assert_eq!(names(directory.path()), ["a.db"]);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    assert_eq!(bytes[18..20], [1, 1]);
    assert_eq!(latest_ids(&open(&path), &post()), [1, 2, 3]);
}

// Promise: durability#D36
#[test]
fn two_backends_may_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let first = three_posts(&path);
    let second = open_impatient(&path);
    let mut tx = begin(&second);
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("d", 1, None)).unwrap();
    let mut other = open_impatient(&path);
    let busy = Arc::clone(&other).begin(other.durability()).map(drop);
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    tx.commit().unwrap();
    assert_eq!(latest_ids(&first, &post()), [1, 2, 3, 4]);
    // Tables that another connection dropped are created again.
    Raw::open(&path).execute("DROP TABLE post__f8");
    let mut tx = begin(&first);
    tx.create(&post()).unwrap();
    insert_post(&mut *tx, ("e", 1, None)).unwrap();
    tx.commit().unwrap();
    let busy = other.close(CloseOptions {
        truncate: true,
        vacuum: false,
    });
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    other = open(&path);
    assert_eq!(latest_ids(&other, &post()), [1, 2, 3, 4, 5]);
}

// Promise: durability#D35
#[test]
fn second_writer_waits_for_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let first = three_posts(&path);
    let options = SqliteOptions {
        busy_timeout: Duration::from_secs(3600),
        io_stats: true,
        ..SqliteOptions::default()
    };
    let second = SqliteBackend::open(&path, options).unwrap();
    // The locks of opening the file are not counted below.
    begin(&second).commit().unwrap();
    let locks = || second.io_report().unwrap().count(Operation::Lock);
    let tx = begin(&first);
    thread::scope(|scope| {
        let before = locks();
        let waiting = scope.spawn(|| Arc::clone(&second).begin(second.durability()).map(drop));
        // The waiting thread tries again and again.
        while locks() < before + 9 {
            assert!(!waiting.is_finished(), "{}", locks() - before);
            thread::yield_now();
        }
        tx.commit().unwrap();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn concurrent_calls_of_suspend_have_one_outcome() {
    const THREADS: usize = 3;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    drop(three_posts(&path));
    let options = SqliteOptions {
        busy_timeout: Duration::from_millis(300),
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    let suspend = || -> Vec<dflat_engine::Result<()>> {
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            let ask = || {
                start.wait();
                backend.suspend()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    };
    let mut pinned = snapshot(&backend, View::Pinned);
    assert_eq!(ids(&mut *pinned, &post(), Source::Rows), [1, 2, 3]);
    for refused in suspend() {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Busy);
    }
    drop(pinned);
    for suspended in suspend() {
        suspended.unwrap();
    }
    backend.resume();
    assert_eq!(latest_ids(&backend, &post()), [1, 2, 3]);
}
