//! Transactions that the server ends because of another program's transaction.

use std::thread;
use std::time::Duration;

use dflat::{ErrorKind, TransactionContext, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Keyed, KeyedChangeRequest, KeyedData,
};

use crate::engines::{engine, is_skipped};
use crate::server::{new_schema, server, sql};

fn item(id: &str, rank: i32) -> ItemData {
    ItemData {
        id: id.to_owned(),
        rank,
        ..ItemData::default()
    }
}

fn keyed(number: u64) -> KeyedData {
    KeyedData {
        zone: "zone".to_owned(),
        number,
        ..KeyedData::default()
    }
}

/// A workspace with an object of each type.
fn filled(schema: &str) -> Workspace {
    let workspace = engine(schema);
    let created = workspace.perform_changes_blocking([Item::TABLE, Keyed::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 0)))?;
        tx.submit(KeyedChangeRequest::creation(keyed(0))).map(drop)
    });
    created.unwrap();
    workspace
}

/// Runs SQL in another session, while this thread goes on.
fn elsewhere(text: String) {
    thread::spawn(move || sql(server().unwrap(), &text));
}

/// Waits until another session waits for the lock of the writers.
fn wait_for_waiter(schema: &str) {
    let question = format!(
        "SELECT count(*) FROM pg_locks WHERE NOT granted \
         AND relation = '\"{schema}\".dflat__writer'::regclass"
    );
    while sql(server().unwrap(), &question).unwrap()[0][0] == "0" {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Makes a deadlock: this transaction has the lock of the writers and writes to a table that
/// another session has locked, and that session waits for the lock of the writers.
fn run_into_deadlock(tx: &TransactionContext, schema: &str, number: u64) -> dflat::Result<()> {
    tx.submit(ItemChangeRequest::upsert(item("a", 1)))?;
    // The server ends the session that finds the deadlock. This one looks for it after a second,
    // and the other one after an hour.
    elsewhere(format!(
        "SET deadlock_timeout = '1h'; BEGIN; \
         LOCK TABLE \"{schema}\".keyed IN ACCESS EXCLUSIVE MODE; \
         LOCK TABLE \"{schema}\".dflat__writer IN EXCLUSIVE MODE; ROLLBACK"
    ));
    wait_for_waiter(schema);
    tx.submit(KeyedChangeRequest::creation(keyed(number)))
        .map(drop)
}

/// Another session changes a row after this transaction's snapshot, although the triggers forbid
/// that. The server refuses the commit.
fn run_into_change(tx: &TransactionContext, schema: &str, change: &str) -> dflat::Result<()> {
    tx.submit(ItemChangeRequest::upsert(item("b", 1)))?;
    let change = format!(
        "SET session_replication_role = replica; \
         {change} WHERE rowid = 1"
    );
    let change = change.replace("item", &format!("\"{schema}\".item"));
    sql(server().unwrap(), &change).unwrap();
    tx.submit(ItemChangeRequest::upsert(item("a", 2))).map(drop)
}

#[test]
fn transaction_in_a_deadlock_runs_again_if_it_may_and_is_busy_otherwise() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let workspace = filled(&schema);
        let tables = || [Item::TABLE, Keyed::TABLE];
        let mut runs = 0;
        let written = workspace.perform_changes_blocking_retrying(tables(), |tx| {
            runs += 1;
            match runs {
                1 => run_into_deadlock(tx, &schema, 1),
                _ => tx.submit(KeyedChangeRequest::creation(keyed(1))).map(drop),
            }
        });
        written.unwrap();
        assert_eq!(runs, 2);
        assert_eq!(workspace.fetch::<Keyed>().count().unwrap(), 2);
        assert_eq!(workspace.get::<Item>("a").unwrap().unwrap().rank(), 0);

        let error = workspace
            .perform_changes_blocking(tables(), |tx| run_into_deadlock(tx, &schema, 2))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        let advice = "such as of perform_changes_retrying";
        assert!(error.to_string().contains(advice), "{error}");
        assert_eq!(workspace.fetch::<Keyed>().count().unwrap(), 2);
        assert_eq!(workspace.get::<Item>("a").unwrap().unwrap().rank(), 0);
    });
}

#[test]
fn transaction_whose_commit_is_refused_is_written_again() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let workspace = filled(&schema);
        let ranks = || {
            let items = workspace.fetch::<Item>().order_by(Item::ID.ascending());
            let items = items.all().unwrap();
            items.iter().map(Item::rank).collect::<Vec<_>>()
        };
        let run = |change: &str| {
            workspace
                .perform_changes_blocking([Item::TABLE], |tx| run_into_change(tx, &schema, change))
        };
        run("UPDATE item SET rowid = rowid").unwrap();
        assert_eq!(ranks(), [2, 1]);
        let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::upsert(item("a", 0))).map(drop)
        });
        changed.unwrap();
        // Another program deletes the object that the transaction changes.
        let error = run("DELETE FROM item").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert_eq!(ranks(), [1]);
    });
}
