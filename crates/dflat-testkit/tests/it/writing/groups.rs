//! Members of a commit group whose backend fails.

use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use dflat::codegen::Encoder;
use dflat::{
    ErrorKind, FetchedResult, Result, TransactionContext, TransactionHandle, Update, Workspace,
};
use dflat_engine::engine::{EngineOptions, PerformOptions};
use dflat_engine::object::Writer;
use dflat_engine::storage::{Backend, MemoryBackend};
use dflat_engine::transaction::{Change, Transaction};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::next;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

use crate::writing::scripted::{Call, Script, Scripted};

const FULL: ErrorKind = ErrorKind::StorageFull;

/// A workspace on a backend that fails on request.
pub(crate) struct Rig {
    // Order: the workspace is dropped before its directory.
    pub(crate) workspace: Workspace,
    pub(crate) script: Arc<Script>,
    inner: Arc<dyn Backend>,
    _directory: Option<tempfile::TempDir>,
}

/// Makes a test on each backend.
macro_rules! on_each_backend {
    ($($test:ident)*) => {
        mod memory {
            use crate::writing::groups::Rig;

            $(#[test]
            fn $test() {
                dflat_testkit::fixture::bounded(|| super::$test(&Rig::memory()));
            })*
        }
        mod sqlite {
            use crate::writing::groups::Rig;

            $(#[test]
            fn $test() {
                dflat_testkit::fixture::bounded(|| super::$test(&Rig::sqlite()));
            })*
        }
    };
}
pub(crate) use on_each_backend;

on_each_backend! {
    full_disk_inside_a_transaction_fails_no_other_in_its_group
    lone_transaction_is_committed_at_once
    full_disk_during_a_read_fails_no_other_in_its_group
    transaction_that_cannot_be_started_fails_no_other
    failed_commit_fails_its_whole_group_and_is_not_delivered
    members_that_read_uncommitted_changes_fail_too
    members_that_read_uncommitted_changes_and_wrote_fail_too
    members_that_read_nothing_uncommitted_do_not_fail
    transaction_that_cannot_be_written_again_fails_only_its_readers_too
    a_transaction_that_cannot_be_written_again_leaves_nothing_behind
    full_disk_while_undoing_a_savepoint_loses_its_transaction
    transaction_is_written_again_without_its_undone_savepoint
}

impl Rig {
    pub(crate) fn memory() -> Self {
        Self::on(MemoryBackend::new(), None)
    }

    pub(crate) fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
        Self::on(backend, Some(directory))
    }

    fn on(backend: Arc<dyn Backend>, directory: Option<tempfile::TempDir>) -> Self {
        let inner = Arc::clone(&backend);
        let (backend, script) = Scripted::new(backend);
        Self {
            workspace: Workspace::on_backend(backend, EngineOptions::default()),
            script,
            inner,
            _directory: directory,
        }
    }

    /// Another workspace on the same data, with an engine of its own.
    pub(crate) fn beside(&self) -> Workspace {
        Workspace::on_backend(Arc::clone(&self.inner), EngineOptions::default())
    }

    /// Holds the turn of the items until the sender is dropped, so that a queue can form.
    pub(crate) fn hold(&self) -> Sender<()> {
        let (go, goes) = mpsc::channel::<()>();
        self.workspace
            .perform_changes([Item::TABLE], move |_| {
                let _ = goes.recv();
                Ok(())
            })
            .detach();
        go
    }

    pub(crate) fn insert(&self, id: &'static str) -> TransactionHandle<()> {
        self.workspace
            .perform_changes([Item::TABLE], move |tx| insert(tx, id))
    }

    pub(crate) fn insert_other(&self, id: i32) -> TransactionHandle<()> {
        self.workspace
            .perform_changes([Other::TABLE], move |tx| insert_other(tx, id))
    }

    /// A transaction over these types in two parts; the second waits for a message.
    pub(crate) fn gated<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = dflat::Table>,
        first: impl FnOnce(&TransactionContext) -> Result<()> + Send + 'static,
        second: impl FnOnce(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> (TransactionHandle<R>, Receiver<()>, Sender<()>) {
        let ((sender, received), (go, goes)) = (mpsc::channel(), mpsc::channel());
        let handle = self.workspace.perform_changes(types, move |tx| {
            first(tx)?;
            sender.send(()).unwrap();
            next(&goes);
            second(tx)
        });
        (handle, received, go)
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let items = self.workspace.fetch::<Item>().all().unwrap();
        items.iter().map(|item| item.id().to_owned()).collect()
    }

    pub(crate) fn others(&self) -> Vec<i32> {
        let others = self.workspace.fetch::<Other>().all().unwrap();
        others.iter().map(Other::id).collect()
    }
}

pub(crate) fn insert(tx: &TransactionContext, id: &str) -> Result<()> {
    let data = ItemData {
        id: id.into(),
        code: Some(id.into()),
        ..ItemData::default()
    };
    tx.submit(ItemChangeRequest::creation(data)).map(drop)
}

pub(crate) fn insert_other(tx: &TransactionContext, id: i32) -> Result<()> {
    let data = OtherData { id, note: None };
    tx.submit(OtherChangeRequest::creation(data)).map(drop)
}

pub(crate) fn kind<R>(handle: TransactionHandle<R>) -> Option<ErrorKind> {
    handle.wait().err().map(|error| error.kind())
}

// Promise: concurrency#C45, concurrency#C46
fn full_disk_inside_a_transaction_fails_no_other_in_its_group(rig: &Rig) {
    let runs: Arc<Mutex<Vec<&str>>> = Arc::default();
    let hold = rig.hold();
    let handles = ["a", "b", "c", "d"].map(|id| {
        let runs = Arc::clone(&runs);
        rig.workspace.perform_changes([Item::TABLE], move |tx| {
            runs.lock().unwrap().push(id);
            insert(tx, id)
        })
    });
    rig.script.fail(Call::InsertOf("c"), 0);
    drop(hold);
    let kinds = handles.map(kind);
    assert_eq!(kinds, [None, None, Some(FULL), None]);
    assert_eq!(
        *runs.lock().unwrap(),
        ["a", "b", "c", "d"],
        "handlers run once"
    );
    assert_eq!(rig.ids(), ["a", "b", "d"]);
}

// Promise: concurrency#C39
/// A group that waits for its next member is committed by another thread than its handlers'.
fn lone_transaction_is_committed_at_once(rig: &Rig) {
    for id in ["a", "b", "c", "d", "e", "f"] {
        let handler = rig.workspace.perform_changes([Item::TABLE], move |tx| {
            insert(tx, id)?;
            Ok(std::thread::current().id())
        });
        let handler = handler.wait().unwrap();
        assert_eq!(rig.script.committer(), Some(handler));
    }
}

// Promise: concurrency#C45
fn full_disk_during_a_read_fails_no_other_in_its_group(rig: &Rig) {
    let hold = rig.hold();
    let first = rig.insert("a");
    let reader = rig.workspace.perform_changes([Item::TABLE], |tx| {
        tx.fetch::<Item>().all().map(|items| items.len())
    });
    let last = rig.insert("b");
    rig.script.fail(Call::Scan, 0);
    drop(hold);
    assert_eq!(kind(first), None);
    // If the first was committed before, the reader did not read through the group.
    assert!(matches!(kind(reader), None | Some(FULL)));
    assert_eq!(kind(last), None);
    assert_eq!(rig.ids(), ["a", "b"]);
}

// Promise: concurrency#C52
fn transaction_that_cannot_be_started_fails_no_other(rig: &Rig) {
    rig.script.fail(Call::Begin, 0);
    assert_eq!(kind(rig.insert("a")), Some(FULL));
    assert_eq!(kind(rig.insert("b")), None);
    assert_eq!(rig.ids(), ["b"]);
}

// Promise: concurrency#C49
fn failed_commit_fails_its_whole_group_and_is_not_delivered(rig: &Rig) {
    kind(rig.insert("before"));
    let (sender, received) = mpsc::channel();
    let all = rig.workspace.fetch::<Item>();
    let note_all = move |result: Result<Update<FetchedResult<Item>>>| {
        sender.send(result.unwrap().len()).unwrap();
    };
    let _subscription = rig.workspace.subscribe(all, note_all).unwrap();
    assert_eq!(next(&received), 1);
    let hold = rig.hold();
    let handles = ["a", "b", "c"].map(|id| rig.insert(id));
    rig.script.fail(Call::Commit, 0);
    drop(hold);
    let kinds = handles.map(kind);
    let failed = kinds.iter().filter(|kind| **kind == Some(FULL)).count();
    assert!(failed > 0, "{kinds:?}");
    assert_eq!(rig.ids().len(), 4 - failed, "{kinds:?}");
    assert_eq!(kind(rig.insert("after")), None);
    let counts: Vec<usize> = received.try_iter().collect();
    assert_eq!(counts, (2..=5 - failed).collect::<Vec<_>>(), "{kinds:?}");
}

/// A first insert in a group that stays open while `second` runs, and whose commit fails. The
/// transaction gets its outcome when the first has its own.
fn after_a_failed_commit<R: Send + 'static>(
    rig: &Rig,
    first: impl FnOnce(&TransactionContext) -> Result<()> + Send + 'static,
    second: impl FnOnce(&TransactionContext) -> Result<R> + Send + 'static,
) -> Option<ErrorKind> {
    let hold = rig.hold();
    let member = rig.insert("a");
    let (handle, received, go) = rig.gated([Item::TABLE], first, second);
    rig.script.fail(Call::Commit, 0);
    drop(hold);
    next(&received);
    // The group does not wait for the handler, and is committed while it runs.
    assert_eq!(kind(member), Some(FULL));
    go.send(()).unwrap();
    kind(handle)
}

// Promise: concurrency#C50
fn members_that_read_uncommitted_changes_fail_too(rig: &Rig) {
    let seen = Arc::new(Mutex::new(false));
    let sees = Arc::clone(&seen);
    let outcome = after_a_failed_commit(
        rig,
        move |tx| {
            *sees.lock().unwrap() = tx.get::<Item>("a")?.is_some();
            Ok(())
        },
        |_| Ok(()),
    );
    assert_eq!(outcome.is_some(), *seen.lock().unwrap());
    assert!(rig.ids().is_empty());
}

// Promise: concurrency#C50
fn members_that_read_uncommitted_changes_and_wrote_fail_too(rig: &Rig) {
    let seen = Arc::new(Mutex::new(false));
    let sees = Arc::clone(&seen);
    let outcome = after_a_failed_commit(
        rig,
        move |tx| {
            *sees.lock().unwrap() = tx.get::<Item>("a")?.is_some();
            insert(tx, "b")
        },
        |tx| insert(tx, "c"),
    );
    let seen = *seen.lock().unwrap();
    assert_eq!(outcome.is_some(), seen);
    assert_eq!(rig.ids().is_empty(), seen);
    assert_eq!(kind(rig.insert("d")), None);
}

// Promise: concurrency#C51
fn members_that_read_nothing_uncommitted_do_not_fail(rig: &Rig) {
    let (sender, received) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    // The member changes one type. The other transaction changes another type, and has write access
    // when the commit fails.
    let hold = rig.hold();
    let member = rig.insert("a");
    let next_item = rig.workspace.perform_changes([Item::TABLE], move |_| {
        sender.send(()).unwrap();
        next(&goes);
        Ok(())
    });
    let (other, wrote, end) = rig.gated(
        [Other::TABLE],
        move |tx| {
            next(&received);
            insert_other(tx, 1)
        },
        |tx| insert_other(tx, 2),
    );
    rig.script.fail(Call::Commit, 0);
    drop(hold);
    next(&wrote);
    assert_eq!(kind(member), Some(FULL));
    end.send(()).unwrap();
    assert_eq!(kind(other), None);
    go.send(()).unwrap();
    // The transaction declares the type of the items, but has not read them.
    assert_eq!(kind(next_item), None);
    assert_eq!(rig.others(), [1, 2]);
    assert!(rig.ids().is_empty());
}

// Promise: concurrency#C51
fn transaction_that_cannot_be_written_again_fails_only_its_readers_too(rig: &Rig) {
    let hold = rig.hold();
    let first = rig.insert("a");
    let reader = rig.workspace.perform_changes([Item::TABLE], |tx| {
        tx.get::<Item>("a").map(|item| item.is_some())
    });
    let both = rig
        .workspace
        .perform_changes([Item::TABLE, Other::TABLE], |tx| insert_other(tx, 1));
    // This transaction loses the group's transaction; then the first member can't be written again
    // either.
    let loser = rig.insert("b");
    rig.script.fail(Call::InsertOf("b"), 0);
    rig.script.fail(Call::InsertOf("a"), 1);
    drop(hold);
    let (first, reader, both) = (kind(first), reader.wait(), kind(both));
    assert_eq!(kind(loser), Some(FULL));
    let kept = rig.ids();
    match first {
        Some(_) => {
            assert!(kept.is_empty(), "{kept:?}");
            assert!(reader.map_or(true, |seen| !seen), "it saw what never was");
            assert_eq!((both, rig.others()), (Some(FULL), Vec::new()));
        }
        // The group was committed before the loss.
        None => assert_eq!(kept, ["a"]),
    }
    // If the first member was committed before the loss, nothing was written again.
    rig.script.heal();
    assert_eq!(kind(rig.insert("c")), None);
}

// Promise: concurrency#C52
fn a_transaction_that_cannot_be_written_again_leaves_nothing_behind(rig: &Rig) {
    let hold = rig.hold();
    let member = rig.insert("a");
    // This transaction is queued after the member, so its changes are undone when the member is
    // committed.
    let (slow, wrote, go) = rig.gated(
        [Item::TABLE, Other::TABLE],
        |tx| {
            insert_other(tx, 1)?;
            insert_other(tx, 2)
        },
        |tx| insert_other(tx, 3),
    );
    drop(hold);
    next(&wrote);
    assert_eq!(kind(member), None);
    rig.script.fail(Call::Write, 1);
    go.send(()).unwrap();
    // This does not hold if the member was committed before the transaction wrote.
    let was_undone = kind(slow) == Some(FULL);
    // The next transaction must not commit the rest of the changes.
    while let Some(kind) = kind(rig.insert_other(4)) {
        assert_eq!(kind, FULL);
    }
    let expected: &[i32] = if was_undone { &[4] } else { &[1, 2, 3, 4] };
    assert_eq!(rig.others(), expected);
}

/// Inserts an object behind a savepoint that is undone.
fn insert_and_undo(tx: &TransactionContext, id: &str) -> Result<()> {
    let undone = tx.nested(|tx| {
        insert(tx, id)?;
        Err::<(), _>(dflat::Error::new(ErrorKind::InvalidArgument, "undo"))
    });
    match undone.unwrap_err() {
        error if error.kind() == ErrorKind::InvalidArgument => Ok(()),
        error => Err(error),
    }
}

// Promise: concurrency#C59
fn full_disk_while_undoing_a_savepoint_loses_its_transaction(rig: &Rig) {
    // The third write is the deletion of the object inserted behind the savepoint.
    rig.script.fail(Call::Write, 2);
    let lost = rig.workspace.perform_changes([Item::TABLE], |tx| {
        insert(tx, "a")?;
        // The handler ignores the error.
        let _ = insert_and_undo(tx, "b");
        Ok(())
    });
    assert_eq!(kind(lost), Some(FULL));
    assert_eq!(kind(rig.insert("c")), None);
    assert_eq!(rig.ids(), ["c"]);
}

// Promise: concurrency#C54
fn transaction_is_written_again_without_its_undone_savepoint(rig: &Rig) {
    let hold = rig.hold();
    let member = rig.workspace.perform_changes([Item::TABLE], |tx| {
        insert(tx, "a")?;
        insert_and_undo(tx, "never")?;
        insert(tx, "b")
    });
    let loser = rig.insert("loser");
    rig.script.fail(Call::InsertOf("loser"), 0);
    drop(hold);
    assert_eq!(kind(member), None);
    assert_eq!(kind(loser), Some(FULL));
    assert_eq!(rig.ids(), ["a", "b"]);
}

// Promise: concurrency#C72
#[test]
fn engine_dropped_without_a_shutdown_ends_its_threads() {
    let (backend, script) = Scripted::new(MemoryBackend::new());
    let (dropped, drops) = mpsc::channel();
    script.on_drop(dropped);
    let engine = dflat_engine::engine::Engine::new(backend, EngineOptions::default());
    let (end, ended) = mpsc::channel();
    for n in 0..100 {
        let end = end.clone();
        let completion = Box::new(move |outcome: Result<()>| end.send(outcome).unwrap());
        let insert = Box::new(move |transaction: &Rc<Transaction>| {
            let id = n.to_string();
            let data = ItemData {
                id,
                ..ItemData::default()
            };
            let mut writer = Writer::new();
            Encoder::encode_root(&mut writer, &data);
            let payload = writer.finish()?;
            transaction
                .submit(&Item::TABLE, Change::Create { payload })
                .map(drop)
        });
        engine.perform([Item::TABLE], PerformOptions::default(), insert, completion);
    }
    for _ in 0..100 {
        next(&ended).unwrap();
    }
    drop(engine);
    // The last thread drops the backend.
    next(&drops);
}
