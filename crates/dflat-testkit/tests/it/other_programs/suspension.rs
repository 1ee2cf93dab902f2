//! Suspension: a file without locks for a while.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use dflat::{ErrorKind, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::Backend;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

fn open(path: &Path) -> Workspace {
    let builder = Workspace::builder(path).busy_timeout(Duration::from_millis(50));
    builder.open().unwrap()
}

fn put(workspace: &Workspace, id: i32) -> dflat::TransactionHandle<()> {
    workspace.perform_changes([Other::TABLE], move |tx| {
        let data = OtherData { id, note: None };
        tx.submit(OtherChangeRequest::upsert(data)).map(drop)
    })
}

fn count(workspace: &Workspace) -> usize {
    workspace.fetch::<Other>().all().unwrap().len()
}

/// The number of locks of this process on the file and on the files beside it.
#[cfg(target_os = "linux")]
fn locks(directory: &Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).unwrap();
    let inodes: Vec<String> = entries
        .map(|entry| format!(":{} ", entry.unwrap().metadata().unwrap().ino()))
        .collect();
    let process = format!(" {} ", std::process::id());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    locks
        .lines()
        .filter(|line| line.contains(&process) && inodes.iter().any(|inode| line.contains(inode)))
        .count()
}

// Promise: durability#D52
#[test]
fn suspension_holds_no_lock_and_leaves_no_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path);
    put(&workspace, 1).wait().unwrap();
    assert_eq!(count(&workspace), 1);
    #[cfg(target_os = "linux")]
    assert!(locks(directory.path()) > 0, "an open file is locked");
    workspace.suspend().unwrap();
    workspace.suspend().unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(locks(directory.path()), 0);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    workspace.resume();
    workspace.resume();
    assert_eq!(count(&workspace), 1);
}

/// A workspace that has only read takes in a log that another program has left.
// Promise: durability#D52
#[test]
fn suspension_of_a_reader_leaves_no_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let killed = directory.path().join("killed.db");
    let workspace = open(&path);
    put(&workspace, 1).wait().unwrap();
    // The files are as those of a program that was killed.
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&path), name(&killed)).unwrap();
    }
    workspace.shutdown().unwrap();
    std::fs::remove_file(&path).unwrap();
    let workspace = open(&killed);
    assert_eq!(count(&workspace), 1);
    workspace.suspend().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    workspace.resume();
    assert_eq!(count(&workspace), 1);
    put(&workspace, 2).wait().unwrap();
    assert_eq!(count(&workspace), 2);
}

/// A workspace with 2000 objects and a subscription to all, and a backup with one of them.
fn with_backup(test: impl Fn(&Path, &Workspace, &mpsc::Receiver<usize>)) {
    let directory = tempfile::tempdir().unwrap();
    let (path, backup) = (directory.path().join("a.db"), directory.path().join("b.db"));
    let workspace = open(&path);
    put(&workspace, 1).wait().unwrap();
    workspace.backup(&backup).unwrap();
    let (received, deliveries) = mpsc::channel();
    let subscription = workspace
        .subscribe(workspace.fetch::<Other>(), move |result| {
            let _ = received.send(result.unwrap().len());
        })
        .unwrap();
    assert_eq!(deliveries.recv().unwrap(), 1);
    let many = workspace.perform_changes([Other::TABLE], |tx| {
        for id in 0..2000 {
            let note = Some("x".repeat(200));
            tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))?;
        }
        Ok(())
    });
    many.wait().unwrap();
    assert_eq!(deliveries.recv().unwrap(), 2000);
    test(directory.path(), &workspace, &deliveries);
    subscription.cancel();
    workspace.shutdown().unwrap();
}

// Promise: durability#D86
#[test]
fn file_that_took_the_place_of_a_suspended_one_is_read() {
    type Replace = fn(&Path, &Path);
    // The other file has fewer pages than the file.
    let ways: [Replace; 3] = [
        |path, backup| assert!(std::fs::copy(backup, path).unwrap() > 0),
        |path, backup| std::fs::rename(backup, path).unwrap(),
        |path, backup| {
            let moved = path.with_extension("moved");
            std::fs::rename(path, moved).unwrap();
            std::fs::rename(backup, path).unwrap();
        },
    ];
    for replace in ways {
        with_backup(|directory, workspace, deliveries| {
            workspace.suspend().unwrap();
            replace(&directory.join("a.db"), &directory.join("b.db"));
            workspace.resume();
            assert_eq!(count(workspace), 1);
            put(workspace, 7).wait().unwrap();
            assert_eq!(count(workspace), 2);
            assert!(deliveries.iter().any(|found| found == 2));
        });
    }
}

// Promise: durability#D87
#[test]
fn file_that_was_deleted_while_suspended_is_created_again() {
    with_backup(|directory, workspace, deliveries| {
        workspace.suspend().unwrap();
        std::fs::remove_file(directory.join("a.db")).unwrap();
        workspace.resume();
        assert_eq!(count(workspace), 0);
        put(workspace, 7).wait().unwrap();
        put(workspace, 8).wait().unwrap();
        assert_eq!(count(workspace), 2);
        assert!(deliveries.iter().any(|found| found == 2));
    });
}

// Promise: durability#D86, durability#D87
/// The first backend to be suspended leaves the log to the other one. Each stands for a process.
#[test]
fn file_is_replaced_or_deleted_while_two_processes_are_suspended() {
    let put = |backend: &Workspace, id| put(backend, id).wait().unwrap();
    for (is_deleted, is_first_to_resume) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let directory = tempfile::tempdir().unwrap();
        let (path, new) = (directory.path().join("a.db"), directory.path().join("b.db"));
        let other = open(&new);
        put(&other, 1);
        other.shutdown().unwrap();
        let backends = [(); 2].map(|()| {
            let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
            let storage = Arc::clone(&backend) as Arc<dyn Backend>;
            let workspace = Workspace::on_backend(storage, EngineOptions::default());
            put(&workspace, 2);
            put(&workspace, 3);
            (backend, workspace)
        });
        for (backend, workspace) in &backends {
            assert_eq!(count(workspace), 2);
            backend.suspend().unwrap();
        }
        match is_deleted {
            true => std::fs::remove_file(&path).unwrap(),
            false => std::fs::rename(&new, &path).unwrap(),
        }
        let mut order: Vec<&(Arc<SqliteBackend>, Workspace)> = backends.iter().collect();
        if !is_first_to_resume {
            order.reverse();
        }
        let mut expected = usize::from(!is_deleted);
        for (backend, workspace) in order {
            backend.resume();
            assert_eq!(count(workspace), expected);
            expected += 1;
            put(workspace, 10 + expected as i32);
            assert_eq!(count(workspace), expected);
        }
        for (_, workspace) in &backends {
            assert_eq!(count(workspace), expected);
            workspace.shutdown().unwrap();
        }
    }
}

// Promise: durability#D88
/// SQLite would apply the log of the old file to the new one.
#[test]
fn suspension_does_not_hide_that_the_file_was_replaced_before_or_while_another_process_used_it() {
    let replaced = |workspace: &Workspace| {
        let error = put(workspace, 7).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("replaced"), "{error}");
    };
    with_backup(|directory, workspace, _| {
        workspace.suspend().unwrap();
        workspace.resume();
        assert_eq!(count(workspace), 2000);
        std::fs::rename(directory.join("b.db"), directory.join("a.db")).unwrap();
        replaced(workspace);
        workspace.suspend().unwrap();
        workspace.resume();
        replaced(workspace);
    });
    with_backup(|directory, workspace, _| {
        let other = rusqlite::Connection::open(directory.join("a.db")).unwrap();
        other
            .execute("DELETE FROM other WHERE __pk0 = 1", [])
            .unwrap();
        workspace.suspend().unwrap();
        std::fs::rename(directory.join("b.db"), directory.join("a.db")).unwrap();
        workspace.resume();
        replaced(workspace);
    });
}

// Promise: durability#D53, durability#D55
#[test]
fn queued_transactions_wait_for_resume_and_then_see_foreign_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path);
    put(&workspace, 1).wait().unwrap();
    let (received, deliveries) = mpsc::channel();
    let subscription = workspace
        .subscribe(workspace.fetch::<Other>(), move |result| {
            let _ = received.send(result.unwrap().len());
        })
        .unwrap();
    assert_eq!(deliveries.recv().unwrap(), 1);
    workspace.suspend().unwrap();
    let (done, completed) = mpsc::channel();
    put(&workspace, 2).on_completion(move |outcome| drop(done.send(outcome)));
    let error = workspace.fetch::<Other>().all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("suspended"), "{error}");
    assert!(completed.try_recv().is_err(), "it waits");
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("DELETE FROM other WHERE __pk0 = 1", [])
        .unwrap();
    drop(other);
    workspace.resume();
    completed.recv().unwrap().unwrap();
    assert_eq!(count(&workspace), 1);
    assert_eq!(
        workspace.get::<Other>(1).unwrap().map(|other| other.id()),
        None
    );
    assert!(deliveries.recv().is_ok());
    subscription.cancel();
}

// Promise: durability#D54
#[test]
fn reads_wait_until_a_suspension_ends() {
    let directory = tempfile::tempdir().unwrap();
    let builder = Workspace::builder(directory.path().join("a.db"));
    let workspace = builder
        .busy_timeout(Duration::from_secs(3600))
        .open()
        .unwrap();
    put(&workspace, 1).wait().unwrap();
    workspace.suspend().unwrap();
    std::thread::scope(|scope| {
        let (starts, started) = mpsc::channel();
        let workspace = &workspace;
        let reading = scope.spawn(move || {
            starts.send(()).unwrap();
            count(workspace)
        });
        started.recv().unwrap();
        // Enough time for a wrong failure to show.
        for _ in 0..1000 {
            assert!(!reading.is_finished());
            std::thread::yield_now();
        }
        workspace.resume();
        assert_eq!(reading.join().unwrap(), 1);
    });
}

// Promise: durability#D56
#[test]
fn a_snapshot_prevents_suspension_and_stays_readable() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = open(&directory.path().join("a.db"));
    put(&workspace, 1).wait().unwrap();
    let snapshot = workspace.snapshot().unwrap();
    assert_eq!(snapshot.fetch::<Other>().count().unwrap(), 1);
    let error = workspace.suspend().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    put(&workspace, 2).wait().unwrap();
    assert_eq!(snapshot.fetch::<Other>().count().unwrap(), 1);
    drop(snapshot);
    workspace.suspend().unwrap();
    workspace.resume();
    assert_eq!(count(&workspace), 2);
}

// Promise: durability#D57
#[test]
fn shutdown_ends_a_suspension() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    for by_drop in [false, true] {
        let workspace = open(&path);
        put(&workspace, 1).wait().unwrap();
        workspace.suspend().unwrap();
        let queued = put(&workspace, 2);
        if by_drop {
            drop(workspace);
        } else {
            workspace.shutdown().unwrap();
        }
        queued.wait().unwrap();
    }
    let in_memory = Workspace::in_memory();
    in_memory.suspend().unwrap();
    put(&in_memory, 1).wait().unwrap();
    in_memory.resume();
}
