//! Transactions during which another process commits.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use dflat::{ErrorKind, FetchedResult, Result, TransactionContext, Update, Workspace};
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::schema::{Item, ItemData, Other};

use crate::writing::groups::{Rig, insert, insert_other, kind, on_each_backend};

const BUSY: ErrorKind = ErrorKind::Busy;

fn count(tx: &TransactionContext) -> Result<usize> {
    tx.fetch::<Item>().all().map(|items| items.len())
}

on_each_backend! {
    a_commit_between_the_first_read_and_the_first_change_is_busy
    a_foreign_commit_before_the_first_read_or_after_the_first_change_is_no_conflict
    a_transaction_that_changes_nothing_is_not_overtaken
    reader_whose_commit_group_ended_is_busy_if_a_foreign_commit_followed
    a_member_that_is_written_again_after_a_commit_elsewhere_is_busy
    a_retrying_handler_runs_until_it_is_not_overtaken
    retrying_handler_that_was_overtaken_once_locks_the_file
    a_retrying_handlers_own_error_is_not_retried
    commit_after_an_unknown_state_is_read_again
}

// Promise: concurrency#C5
fn a_commit_between_the_first_read_and_the_first_change_is_busy(rig: &Rig) {
    rig.insert("a").wait().unwrap();
    let script = Arc::clone(&rig.script);
    let overtaken = rig.workspace.perform_changes([Item::TABLE], move |tx| {
        count(tx)?;
        script.commit_elsewhere();
        let error = insert(tx, "b").unwrap_err();
        assert_eq!(error.kind(), BUSY);
        // The transaction is lost, even if the handler ignores the error.
        assert_eq!(insert(tx, "c").unwrap_err().kind(), ErrorKind::Aborted);
        Ok(())
    });
    let error = overtaken.wait().unwrap_err();
    assert_eq!(error.kind(), BUSY);
    assert!(error.to_string().contains("Item"), "{error}");
    rig.insert("d").wait().unwrap();
    assert_eq!(rig.ids(), ["a", "d"]);
}

// Promise: concurrency#C7
fn a_foreign_commit_before_the_first_read_or_after_the_first_change_is_no_conflict(rig: &Rig) {
    let script = Arc::clone(&rig.script);
    let transaction = rig.workspace.perform_changes([Item::TABLE], move |tx| {
        script.commit_elsewhere();
        insert(tx, "a")?;
        count(tx)
    });
    assert_eq!(transaction.wait().unwrap(), 1);
    let script = Arc::clone(&rig.script);
    let transaction = rig.workspace.perform_changes([Item::TABLE], move |tx| {
        script.commit_elsewhere();
        count(tx)?;
        insert(tx, "b")
    });
    transaction.wait().unwrap();
    assert_eq!(rig.ids(), ["a", "b"]);
}

// Promise: concurrency#C10
fn a_transaction_that_changes_nothing_is_not_overtaken(rig: &Rig) {
    let script = Arc::clone(&rig.script);
    let transaction = rig.workspace.perform_changes([Item::TABLE], move |tx| {
        let before = count(tx)?;
        script.commit_elsewhere();
        Ok((before, count(tx)?))
    });
    assert_eq!(transaction.wait().unwrap(), (0, 0));
}

/// The outcome of a transaction that reads the write of a group member before its commit, and reads
/// again after the commit and after `between`.
fn read_twice(rig: &Rig, id: &'static str, between: impl FnOnce()) -> Result<usize> {
    let hold = rig.hold();
    let member = rig.insert(id);
    let (reader, has_read, go) = rig.gated([Item::TABLE], |tx| count(tx).map(drop), count);
    drop(hold);
    next(&has_read);
    assert_eq!(kind(member), None);
    between();
    go.send(()).unwrap();
    reader.wait()
}

fn reader_whose_commit_group_ended_is_busy_if_a_foreign_commit_followed(rig: &Rig) {
    const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    for (before, id) in IDS.into_iter().enumerate() {
        assert_eq!(read_twice(rig, id, || {}).unwrap(), before + 1);
    }
    // If the member was committed before the first read, both reads are of the committed state.
    let is_busy = |id| {
        let read = read_twice(rig, id, || rig.script.commit_elsewhere());
        read.is_err_and(|error| error.kind() == BUSY)
    };
    assert!(
        ["g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]
            .into_iter()
            .any(is_busy)
    );
}

// Promise: concurrency#C11
fn a_member_that_is_written_again_after_a_commit_elsewhere_is_busy(rig: &Rig) {
    let hold = rig.hold();
    let first = rig.insert("a");
    let (second, wrote, go) = rig.gated([Item::TABLE], |tx| insert(tx, "b"), |tx| insert(tx, "c"));
    drop(hold);
    next(&wrote);
    // The first is committed without the second, which is to be written again.
    assert_eq!(kind(first), None);
    let script = Arc::clone(&rig.script);
    script.commit_elsewhere();
    go.send(()).unwrap();
    // This does not hold if the first was committed before the second wrote.
    match kind(second) {
        Some(kind) => assert_eq!((kind, rig.ids()), (BUSY, vec!["a".to_owned()])),
        None => assert_eq!(rig.ids(), ["a", "b", "c"]),
    }
}

// Promise: concurrency#C9
fn a_retrying_handler_runs_until_it_is_not_overtaken(rig: &Rig) {
    let script = Arc::clone(&rig.script);
    let mut runs = 0;
    let handle = rig
        .workspace
        .perform_changes_retrying([Item::TABLE], move |tx| {
            runs += 1;
            let seen = count(tx)?;
            if runs < 2 {
                script.commit_elsewhere();
            }
            insert(tx, &format!("run {runs}"))?;
            Ok((runs, seen))
        });
    assert_eq!(handle.wait().unwrap(), (2, 0));
    assert_eq!(rig.ids(), ["run 2"]);
}

// Promise: concurrency#C9
fn retrying_handler_that_was_overtaken_once_locks_the_file(rig: &Rig) {
    let script = Arc::clone(&rig.script);
    let mut runs = 0;
    let handle = rig
        .workspace
        .perform_changes_retrying([Item::TABLE], move |tx| {
            runs += 1;
            count(tx)?;
            script.commit_elsewhere();
            insert(tx, &format!("run {runs}"))?;
            Ok(runs)
        });
    assert_eq!(handle.wait().unwrap(), 2);
    assert_eq!(rig.ids(), ["run 2"]);
}

// Promise: concurrency#C12
fn a_retrying_handlers_own_error_is_not_retried(rig: &Rig) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let handle = rig
        .workspace
        .perform_changes_retrying([Item::TABLE], move |tx| {
            counted.fetch_add(1, Ordering::Relaxed);
            insert(tx, "a")?;
            Err::<(), _>(dflat::Error::new(BUSY, "not because of another process"))
        });
    assert_eq!(kind(handle), Some(BUSY));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(rig.ids().is_empty());
}

fn commit_after_an_unknown_state_is_read_again(rig: &Rig) {
    rig.script.hide_states();
    let (sender, received) = mpsc::channel();
    let w = &rig.workspace;
    let followed = w.subscribe(
        w.fetch::<Item>(),
        move |update: Result<Update<FetchedResult<Item>>>| {
            sender.send(update.unwrap().result().len()).unwrap();
        },
    );
    let subscription = followed.unwrap();
    rig.workspace.settle().unwrap();
    let beside = rig.beside();
    let written = beside.perform_changes([Item::TABLE], |tx| insert(tx, "a"));
    written.wait().unwrap();
    // This commit follows an unknown state, so the subscribed result is read again.
    rig.insert_other(1).wait().unwrap();
    rig.workspace.settle().unwrap();
    assert_eq!(received.try_iter().last(), Some(1));
    let written = beside.perform_changes([Item::TABLE], |tx| insert(tx, "b"));
    written.wait().unwrap();
    rig.workspace.refresh().unwrap();
    rig.workspace.settle().unwrap();
    assert_eq!(received.try_iter().last(), Some(2));
    subscription.cancel();
}

/// Commits through a connection that SQLite treats like another process.
fn commit_elsewhere(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "CREATE TABLE IF NOT EXISTS elsewhere (n); INSERT INTO elsewhere VALUES (1)";
    connection.execute_batch(sql).unwrap();
}

/// A transaction that reads, lets `between` happen, and writes.
fn read_then_write(w: &Workspace, between: impl FnOnce() + Send + 'static) -> Option<ErrorKind> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    kind(w.perform_changes([Item::TABLE], move |tx| {
        count(tx)?;
        between();
        insert(tx, &format!("{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }))
}

/// Runs a test on a file in each state that a file can have. The argument of the test says whether
/// a reader blocks foreign writes, as it does in a file with content and without a log.
fn on_each_file(test: fn(&Path, &Workspace, bool)) {
    type Prepare = fn(&Path);
    let nothing: Prepare = |_| {};
    let empty: Prepare = |path| drop(std::fs::File::create(path).unwrap());
    let with_log: Prepare = |path| {
        let w = Workspace::open(path).unwrap();
        kind(w.perform_changes([Item::TABLE], |tx| insert(tx, "old")));
    };
    let without_log: Prepare = |path| {
        let w = Workspace::open(path).unwrap();
        kind(w.perform_changes([Item::TABLE], |tx| insert(tx, "old")));
        drop(w);
        let connection = rusqlite::Connection::open(path).unwrap();
        connection
            .pragma_update(None, "journal_mode", "DELETE")
            .unwrap();
    };
    for (name, prepare, excludes) in [
        ("none", nothing, false),
        ("empty", empty, false),
        ("log", with_log, false),
        ("no log", without_log, true),
    ] {
        for io_stats in [false, true] {
            bounded(move || {
                eprintln!("file: {name}, io_stats: {io_stats}");
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("test.db");
                prepare(&path);
                let w = Workspace::builder(&path).io_stats(io_stats).open().unwrap();
                test(&path, &w, excludes);
            });
        }
    }
}

// Promise: concurrency#C5
#[test]
fn another_process_that_commits_under_a_transaction_makes_it_busy() {
    on_each_file(|path, w, excludes| {
        if !excludes {
            let other = path.to_owned();
            assert_eq!(
                read_then_write(w, move || commit_elsewhere(&other)),
                Some(BUSY)
            );
        }
        for _ in 0..3 {
            assert_eq!(read_then_write(w, || {}), None);
            let other = path.to_owned();
            assert_eq!(
                read_then_write(w, move || commit_elsewhere(&other)),
                Some(BUSY)
            );
            commit_elsewhere(path);
        }
        let other = path.to_owned();
        let mut runs = 0;
        let retried = w.perform_changes_retrying([Item::TABLE], move |tx| {
            runs += 1;
            count(tx)?;
            if runs == 1 {
                commit_elsewhere(&other);
            }
            insert(tx, "retried")?;
            Ok(runs)
        });
        assert_eq!(retried.wait().unwrap(), 2);
    });
}

/// Whether another process can write now, without waiting.
fn can_commit_elsewhere(path: &Path) -> bool {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS elsewhere (n)")
        .is_ok()
}

// Promise: concurrency#C6
#[test]
fn other_processes_wait_from_the_first_change_on() {
    on_each_file(|path, w, _| {
        let other = path.to_owned();
        let seen = w.perform_changes([Item::TABLE], move |tx| {
            insert(tx, "a")?;
            Ok(can_commit_elsewhere(&other))
        });
        assert!(!seen.wait().unwrap());
        assert!(can_commit_elsewhere(path));
    });
}

// Promise: concurrency#C11
#[test]
fn another_process_writes_under_a_transaction_only_after_a_commit_of_finished_ones() {
    on_each_file(|path, w, _| {
        let (hold, held) = mpsc::channel::<()>();
        let waiting = w.perform_changes([Item::TABLE], move |_| {
            // The sender is dropped.
            let _ = held.recv();
            Ok(())
        });
        let finished = w.perform_changes([Item::TABLE], |tx| insert(tx, "a"));
        let ((wrote, writes), (go, goes)) = (mpsc::channel(), mpsc::channel());
        let (other, wrote_elsewhere) = (path.to_owned(), Arc::new(AtomicBool::new(false)));
        let seen = Arc::clone(&wrote_elsewhere);
        let slow = w.perform_changes([Item::TABLE], move |tx| {
            insert(tx, "b")?;
            wrote.send(()).unwrap();
            next(&goes);
            seen.store(can_commit_elsewhere(&other), Ordering::SeqCst);
            insert(tx, "c")
        });
        drop(hold);
        waiting.wait().unwrap();
        next(&writes);
        finished.wait().unwrap();
        go.send(()).unwrap();
        // The finished transaction may have been committed before the slow one wrote.
        let outcome = kind(slow);
        let expected = wrote_elsewhere.load(Ordering::SeqCst).then_some(BUSY);
        assert_eq!(outcome, expected);
        let others = w.fetch::<Item>().filter(Item::ID.in_(["b", "c"]));
        assert_eq!(
            others.count().unwrap(),
            if expected.is_some() { 0 } else { 2 }
        );
    });
}

// Promise: concurrency#C13
#[test]
fn reader_of_a_file_without_a_log_blocks_other_writers() {
    on_each_file(|path, w, excludes| {
        let other = path.to_owned();
        let reads = w.perform_changes([Item::TABLE], move |tx| {
            count(tx)?;
            Ok(can_commit_elsewhere(&other))
        });
        assert_eq!(reads.wait().unwrap(), !excludes);
    });
}

// Promise: concurrency#C7
#[test]
fn internal_work_of_the_workspace_causes_no_conflict() {
    on_each_file(|_, w, excludes| {
        for round in 0..3 {
            if excludes {
                // The transaction's own commit is the first one.
                assert_eq!(read_then_write(w, || {}), None);
            }
            let (go, goes) = mpsc::channel::<()>();
            let (sender, received) = mpsc::channel();
            let reader = w.perform_changes([Item::TABLE], move |tx| {
                let seen = count(tx)?;
                sender.send(()).unwrap();
                next(&goes);
                insert(tx, &format!("round {round}"))?;
                Ok(seen)
            });
            next(&received);
            // Transactions over other types, some of which write nothing, and a reclaim.
            for n in 0..5 {
                let id = round * 10 + n;
                w.perform_changes([Other::TABLE], move |tx| insert_other(tx, id))
                    .wait()
                    .unwrap();
                let undone = w.perform_changes([Other::TABLE], move |tx| {
                    insert_other(tx, -1)?;
                    tx.abort();
                    Ok(())
                });
                assert_eq!(kind(undone), Some(ErrorKind::Aborted));
                let nothing = w.perform_changes([Other::TABLE], move |tx| {
                    let twice = insert_other(tx, id);
                    assert_eq!(twice.unwrap_err().kind(), ErrorKind::AlreadyExists);
                    Ok(())
                });
                nothing.wait().unwrap();
                let _ = w.reclaim(1);
            }
            go.send(()).unwrap();
            reader.wait().unwrap();
        }
    });
}

// Promise: concurrency#C8, concurrency#C9
#[test]
fn transactions_of_two_engines_on_one_file_lose_no_update() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let open = || {
            let options = dflat_sqlite::SqliteOptions::default();
            let backend = dflat_sqlite::SqliteBackend::open(&path, options).unwrap();
            Workspace::on_backend(backend, dflat_engine::engine::EngineOptions::default())
        };
        let engines = [open(), open()];
        let zero = ItemData {
            id: "0".into(),
            ..ItemData::default()
        };
        let created = engines[0].perform_changes([Item::TABLE], |tx| {
            tx.submit(dflat::ChangeRequest::<Item>::creation(zero))
                .map(drop)
        });
        created.wait().unwrap();
        std::thread::scope(|scope| {
            for w in &engines {
                scope.spawn(|| {
                    for _ in 0..60 {
                        let added = w.perform_changes_retrying([Item::TABLE], |tx| {
                            let zero = tx.get::<Item>("0")?.unwrap();
                            let mut change = dflat::ChangeRequest::change(tx, &zero)?.unwrap();
                            change.rank += 1;
                            tx.submit(change).map(drop)
                        });
                        added.wait().unwrap();
                    }
                });
            }
        });
        let zero = engines[0].get::<Item>("0").unwrap().unwrap();
        assert_eq!(zero.rank(), 120);
    });
}
