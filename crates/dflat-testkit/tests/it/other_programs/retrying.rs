//! Handlers that read before they write, while other processes commit.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use dflat::{Dictionary, ErrorKind, Result, TransactionContext, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Other};

use crate::writing::groups::{Rig, insert, insert_other, kind, on_each_backend};

/// The variable with the path of a child process's file.
const PATH: &str = "DFLAT_RETRYING_PATH";

/// The variable with the form that a child process uses.
const FORM: &str = "DFLAT_RETRYING_FORM";

/// The number of child processes.
const PROCESSES: usize = 3;

/// The number of transactions of each child process.
const TRANSACTIONS: usize = 40;

on_each_backend! {
    a_blocking_retrying_handler_runs_until_it_is_not_overtaken
    a_handler_that_has_write_access_first_is_not_overtaken
    commit_after_the_finished_ones_does_not_overtake_a_handler_with_write_access
    values_of_the_dictionary_that_are_overtaken_in_their_group_are_no_failures
    failed_write_to_a_known_type_has_no_other_transaction_written_again
    an_overtaken_handler_that_runs_once_names_the_forms_that_help
}

fn count(tx: &TransactionContext) -> Result<usize> {
    tx.fetch::<Item>().all().map(|items| items.len())
}

// Promise: concurrency#C9
fn a_blocking_retrying_handler_runs_until_it_is_not_overtaken(rig: &Rig) {
    for overtaken in [0, 1, 3, 9] {
        let mut runs = 0;
        let name = format!("overtaken {overtaken}");
        let seen = rig
            .workspace
            .perform_changes_blocking_retrying([Item::TABLE], |tx| {
                runs += 1;
                let seen = count(tx)?;
                if runs <= overtaken {
                    rig.script.commit_elsewhere();
                }
                insert(tx, &name).map(|()| seen)
            });
        assert_eq!(seen.unwrap(), rig.ids().len() - 1);
        // The second run keeps other processes out.
        assert_eq!(runs, (overtaken + 1).min(2));
    }
}

// Promise: concurrency#C77
fn a_handler_that_has_write_access_first_is_not_overtaken(rig: &Rig) {
    let view = rig.workspace.write_first();
    let types = || [Item::TABLE];
    let work = |id: &'static str| {
        let script = Arc::clone(&rig.script);
        let mut runs = 0;
        move |tx: &TransactionContext| {
            runs += 1;
            let seen = count(tx)?;
            script.commit_elsewhere();
            insert(tx, id).map(|()| (seen, runs))
        }
    };
    let blocking = view.perform_changes_blocking(types(), work("a"));
    assert_eq!(blocking.unwrap(), (0, 1));
    let blocking = view.perform_changes_blocking_retrying(types(), work("b"));
    assert_eq!(blocking.unwrap(), (1, 1));
    let handle = view.perform_changes(types(), work("c"));
    assert_eq!(handle.wait().unwrap(), (2, 1));
    let handle = view.perform_changes_retrying(types(), work("d"));
    assert_eq!(handle.wait().unwrap(), (3, 1));
}

/// The library commits the transactions that have finished before it begins one of the storage for
/// a handler with write access; another process may commit in between.
// Promise: concurrency#C77
fn commit_after_the_finished_ones_does_not_overtake_a_handler_with_write_access(rig: &Rig) {
    rig.script.commit_elsewhere_before_each();
    let hold = rig.hold();
    let finished = rig.insert("a");
    let first = rig
        .workspace
        .write_first()
        .perform_changes([Item::TABLE], |tx| insert(tx, "b"));
    drop(hold);
    finished.wait().unwrap();
    first.wait().unwrap();
    assert_eq!(rig.ids(), ["a", "b"]);
}

/// The values share a commit with a transaction that fails after it has created the storage of its
/// type, so that they are written again; another process commits in between.
// Promise: concurrency#C86
fn values_of_the_dictionary_that_are_overtaken_in_their_group_are_no_failures(rig: &Rig) {
    let dictionary = rig.workspace.dictionary();
    rig.script.commit_elsewhere_before_each();
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let hold = rig
        .workspace
        .perform_changes([Dictionary::TABLE], move |_| {
            let _ = goes.recv();
            Ok(())
        });
    dictionary.set("key", 1_i64).unwrap();
    let failing = rig
        .workspace
        .perform_changes([Dictionary::TABLE, Item::TABLE], |tx| {
            insert(tx, "a")?;
            Err::<(), _>(dflat::Error::new(ErrorKind::User, "as the test wants"))
        });
    drop(go);
    hold.wait().unwrap();
    assert_eq!(kind(failing), Some(ErrorKind::User));
    dictionary.synchronize().unwrap();
    assert_eq!(dictionary.failures(), 0);
    let stored = rig.beside().dictionary().get("key");
    assert_eq!(stored.unwrap(), Some(1_i64));
}

/// After a commit of another process, the first write to a type reads its stored schema again. If
/// the transaction then fails, its rows alone are undone: another process has no moment to commit
/// before the other transactions of the commit.
// Promise: concurrency#C9, concurrency#C77
fn failed_write_to_a_known_type_has_no_other_transaction_written_again(rig: &Rig) {
    rig.insert("known").wait().unwrap();
    rig.insert_other(1).wait().unwrap();
    rig.script.commit_elsewhere_before_each();
    let writes = rig.script.writes();
    let hold = rig.hold();
    let finished = rig.workspace.perform_changes_retrying([Item::TABLE], |tx| {
        assert!(tx.get::<Item>("known")?.is_some());
        insert(tx, "a")
    });
    let failing = rig
        .workspace
        .perform_changes([Item::TABLE, Other::TABLE], |tx| {
            insert_other(tx, 2)?;
            Err::<(), _>(dflat::Error::new(ErrorKind::User, "as the test wants"))
        });
    drop(hold);
    finished.wait().unwrap();
    assert_eq!(kind(failing), Some(ErrorKind::User));
    assert_eq!(
        (rig.ids(), rig.others()),
        (vec!["known".to_owned(), "a".to_owned()], vec![1])
    );
    // Both rows, and the deletion of one.
    assert_eq!(rig.script.writes() - writes, 3);
}

// Promise: concurrency#C5
fn an_overtaken_handler_that_runs_once_names_the_forms_that_help(rig: &Rig) {
    let error = rig
        .workspace
        .perform_changes_blocking([Item::TABLE], |tx| {
            count(tx)?;
            rig.script.commit_elsewhere();
            insert(tx, "a")
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let message = error.to_string();
    for named in ["Item", "perform_changes_retrying", "write_first"] {
        assert!(message.contains(named), "{message}");
    }
}

/// Increments the counter and inserts an item that has the counter's value as its key.
fn count_up(tx: &TransactionContext) -> Result<()> {
    let Some(counter) = tx.get::<Item>("counter")? else {
        return Err(dflat::Error::new(ErrorKind::NotFound, "no counter"));
    };
    let next = counter.rank() + 1;
    let Some(mut change) = ItemChangeRequest::change(tx, &counter)? else {
        return Err(dflat::Error::new(ErrorKind::NotFound, "no counter"));
    };
    change.rank = next;
    tx.submit(change)?;
    insert(tx, &format!("item {next}"))
}

/// Not a test by itself: a process of the tests below, which start it.
#[test]
fn a_process_that_counts() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let form = std::env::var(FORM).unwrap();
    let workspace = Workspace::open(path).unwrap();
    let types = || [Item::TABLE];
    for _ in 0..TRANSACTIONS {
        let counted = match form.as_str() {
            "retrying" => workspace.perform_changes_retrying(types(), count_up).wait(),
            "blocking retrying" => workspace.perform_changes_blocking_retrying(types(), count_up),
            "write first" => workspace
                .write_first()
                .perform_changes(types(), count_up)
                .wait(),
            "blocking write first" => workspace
                .write_first()
                .perform_changes_blocking(types(), count_up),
            _ => workspace.perform_changes_blocking(types(), count_up),
        };
        counted.unwrap();
    }
}

fn start(path: &Path, form: &str) -> Child {
    let name = "other_programs::retrying::a_process_that_counts";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(PATH, path)
        .env(FORM, form)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts processes that use these forms, in turn, on a new file. Checks that each of them ends
/// without an error, and that no update is lost.
fn count_in_processes(forms: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("counter.db");
    let workspace = Workspace::open(&path).unwrap();
    let counter = ItemData {
        id: "counter".into(),
        ..ItemData::default()
    };
    workspace
        .perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(counter))
        })
        .unwrap();
    let children: Vec<Child> = (0..PROCESSES)
        .zip(forms.iter().cycle())
        .map(|(_, form)| start(&path, form))
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success(), "{forms:?}");
    }
    let transactions = PROCESSES * TRANSACTIONS;
    let counter = workspace.get::<Item>("counter").unwrap().unwrap();
    assert_eq!(usize::try_from(counter.rank()).unwrap(), transactions);
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), transactions + 1);
}

// Promise: concurrency#C8, concurrency#C9
#[test]
fn processes_that_retry_lose_no_update_and_get_no_error() {
    for form in ["retrying", "blocking retrying"] {
        bounded(move || count_in_processes(&[form]));
    }
}

// Promise: concurrency#C8, concurrency#C77
#[test]
fn processes_that_take_write_access_first_lose_no_update_and_get_no_error() {
    for form in ["write first", "blocking write first"] {
        bounded(move || count_in_processes(&[form]));
    }
}

// Promise: concurrency#C9, concurrency#C77
#[test]
fn processes_with_different_forms_lose_no_update_and_get_no_error() {
    bounded(|| count_in_processes(&["blocking retrying", "write first", "retrying"]));
}
