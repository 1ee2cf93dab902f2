//! A file that is deleted, replaced or truncated while a backend has it open.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dflat_engine::storage::{Backend, CloseOptions, Row, ScanPlan, Source, View};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_sqlite::faults::{Action, Fault, FaultPlan};
use dflat_sqlite::{FileKind, Operation, SqliteBackend, SqliteOptions};

use crate::raw::Raw;
use crate::sample::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Deleted,
    Replaced,
    /// The file gets another name, and another file its name.
    Moved,
    Truncated,
    /// The file loses its last page.
    Cut,
}

const EVENTS: [Event; 5] = [
    Event::Deleted,
    Event::Replaced,
    Event::Moved,
    Event::Truncated,
    Event::Cut,
];

impl Event {
    /// Lets the event happen to the file `a.db`. If it is replaced or moved, `other.db` takes its
    /// place.
    fn happen(self, directory: &Path) {
        let path = directory.join("a.db");
        match self {
            Self::Deleted => fs::remove_file(path).unwrap(),
            Self::Replaced => fs::rename(directory.join("other.db"), path).unwrap(),
            Self::Moved => {
                fs::rename(&path, directory.join("moved.db")).unwrap();
                fs::rename(directory.join("other.db"), path).unwrap();
            }
            Self::Truncated => cut(&path, 0),
            Self::Cut => {
                let length = fs::metadata(&path).unwrap().len();
                cut(&path, length - PAGE_BYTES);
            }
        }
    }

    fn check(self, error: &Error) {
        let (kind, word) = match self {
            Self::Deleted => (ErrorKind::Io, "deleted"),
            Self::Replaced | Self::Moved => (ErrorKind::Io, "replaced"),
            Self::Truncated | Self::Cut => (ErrorKind::Corrupt, "truncated"),
        };
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(error.to_string().contains("a.db"), "{error}");
    }
}

const PAGE_BYTES: u64 = 4096;

/// Cuts a file, by another process: to close it in this one would drop the backend's locks.
fn cut(path: &Path, length: u64) {
    let mut dd = Command::new("dd");
    let output = dd
        .args(["bs=1", "count=0", &format!("seek={length}")])
        .args(["if=/dev/null", &format!("of={}", path.display())])
        .output();
    assert!(output.unwrap().status.success());
    assert_eq!(fs::metadata(path).unwrap().len(), length);
}

fn read(backend: &Arc<SqliteBackend>) -> Result<usize> {
    let table = post();
    let plan = ScanPlan {
        table: &table,
        source: Source::Rows,
        payload: true,
    };
    let mut count = 0;
    let mut visit = |_: Row<'_>| {
        count += 1;
        ControlFlow::Continue(())
    };
    Arc::clone(backend)
        .snapshot(View::Latest)?
        .scan(&plan, &mut visit)?;
    Ok(count)
}

/// A directory with three posts in `a.db`, which is open, and another database, `other.db`.
fn in_directory(test: impl Fn(&Path, &Arc<SqliteBackend>, Event)) {
    for event in EVENTS {
        let directory = tempfile::tempdir().unwrap();
        Raw::open(&directory.path().join("other.db")).execute("CREATE TABLE other (x)");
        let other = fs::read(directory.path().join("other.db")).unwrap();
        let path = directory.path().join("a.db");
        let backend = three_posts(&path);
        // The last pages of the file hold no post, so a missing one is noticed by its absence only.
        let mut raw = Raw::open(&path);
        raw.execute("CREATE TABLE filler AS SELECT zeroblob(40000) AS bytes");
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)");
        drop(raw);
        test(directory.path(), &backend, event);
        no_call_succeeds(&backend, directory.path(), event);
        drop(backend);
        match event {
            Event::Deleted => assert!(!directory.path().join("a.db").exists()),
            Event::Replaced | Event::Moved => {
                let there = fs::read(directory.path().join("a.db")).unwrap();
                assert!(there == other, "the other file was written");
            }
            Event::Truncated | Event::Cut => {}
        }
    }
}

fn no_call_succeeds(backend: &Arc<SqliteBackend>, directory: &Path, event: Event) {
    // A kept read transaction goes on until upkeep ends it.
    let error = loop {
        match read(backend) {
            Ok(count) => assert_eq!(count, 3, "{event:?}"),
            // Damaged pages may be noticed first.
            Err(error) if error.to_string().contains("cannot use") => break error,
            Err(error) => panic!("{event:?}: {error:?}"),
        }
    };
    event.check(&error);
    let begun = Arc::clone(backend).begin(backend.durability());
    let committed = begun.and_then(|mut tx| {
        let _ = insert_post(&mut *tx, ("late", 1, None));
        tx.commit()
    });
    event.check(&committed.unwrap_err());
    event.check(&backend.purge().unwrap_err());
    let copy = directory.join("copy.db");
    let backed_up = backend.backup(&copy, &mut |_| ControlFlow::Continue(()));
    event.check(&backed_up.unwrap_err());
    assert!(!copy.exists());
}

// Promise: durability#D74, durability#D75
/// Issue 27.
#[test]
fn file_that_is_gone_is_noticed_when_idle() {
    in_directory(|directory, backend, event| {
        assert_eq!(read(backend).unwrap(), 3);
        event.happen(directory);
    });
}

// Promise: durability#D75
/// The first read of a handler has a state of its own. It fails, and must not leave a transaction
/// with which later reads go on.
#[test]
fn no_read_succeeds_after_one_has_noticed_that_the_file_is_gone() {
    in_directory(|directory, backend, event| {
        assert_eq!(read(backend).unwrap(), 3);
        event.happen(directory);
        let pin = || Arc::clone(backend).snapshot(View::Pinned)?.pin();
        // The path may have been looked at a moment ago.
        let error = loop {
            if let Err(error) = pin() {
                break error;
            }
        };
        event.check(&error);
        event.check(&read(backend).unwrap_err());
    });
}

// Promise: durability#D74
#[test]
fn file_that_is_gone_is_noticed_in_a_transaction() {
    in_directory(|directory, backend, event| {
        let mut tx = begin(backend);
        insert_post(&mut *tx, ("d", 1, None)).unwrap();
        event.happen(directory);
        insert_post(&mut *tx, ("e", 2, None)).unwrap();
        event.check(&tx.commit().unwrap_err());
    });
}

// Promise: durability#D74
/// The import is larger than SQLite's cache, which writes to the log before the commit.
#[test]
fn file_that_is_gone_is_noticed_in_a_large_import() {
    in_directory(|directory, backend, event| {
        let mut tx = begin(backend);
        for number in 0..4000 {
            insert_post(&mut *tx, (&format!("{number:01000}"), number, None)).unwrap();
        }
        event.happen(directory);
        insert_post(&mut *tx, ("last", 1, None)).unwrap();
        event.check(&tx.commit().unwrap_err());
    });
}

// Promise: durability#D74
#[test]
fn file_that_is_gone_is_noticed_before_a_checkpoint() {
    in_directory(|directory, backend, event| {
        let mut tx = begin(backend);
        insert_post(&mut *tx, ("d", 1, None)).unwrap();
        drop(tx);
        event.happen(directory);
        event.check(&backend.purge().unwrap_err());
        event.check(&backend.compact().unwrap_err());
        event.check(&backend.reclaim(1).unwrap_err());
    });
}

// Promise: durability#D89
/// The failure of this test was seen when another program cut a file in use: a checkpoint that had
/// begun made the file as long as it was, and transactions were committed to it for half a second.
#[test]
fn checkpoint_writes_nothing_to_a_file_that_is_cut_during_the_sync_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let options = SqliteOptions {
        log_bytes_max: 256 << 10,
        io_stats: true,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(&path, options).unwrap();
    let insert = |range: std::ops::Range<i64>| {
        let mut tx = begin(&backend);
        tx.create(&post()).unwrap();
        for number in range {
            insert_post(&mut *tx, (&format!("{number:01000}"), number, None)).unwrap();
        }
        tx.commit().unwrap();
    };
    insert(0..100);
    backend.purge().unwrap();
    // The first commit to a log syncs it.
    insert(100..101);
    let length = fs::metadata(&path).unwrap().len();
    let plan = FaultPlan::attach(&path).unwrap();
    plan.add(Fault {
        kind: Some(FileKind::Log),
        operation: Operation::Flush,
        at: 1,
        lasting: true,
        action: Action::Delay(Duration::from_secs(60)),
    });
    // The log is long enough for a checkpoint, which begins on the thread of the upkeep.
    insert(101..250);
    let begun = Instant::now();
    while plan.met_count() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint");
        thread::sleep(Duration::from_millis(1));
    }
    // SQLite itself notices a loss of more pages than the log has.
    let shorter = length - 16 * PAGE_BYTES;
    cut(&path, shorter);
    plan.clear();
    // Order: closing waits for the checkpoint.
    backend.close(CloseOptions::default()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), shorter);
}
