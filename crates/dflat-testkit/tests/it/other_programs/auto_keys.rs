//! Keys that the library assigns, beside the keys of other processes and of other programs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dflat::{ErrorKind, Result, TransactionContext, Workspace};
use dflat_testkit::diary::{
    Entry, EntryChangeRequest, EntryData, Event, EventChangeRequest, EventData,
};
use dflat_testkit::fixture::bounded;
use rusqlite::Connection;
use uuid::Uuid;

/// The variable with the path of a child process's file.
const PATH: &str = "DFLAT_AUTO_KEYS_PATH";

/// The number of child processes.
const PROCESSES: usize = 3;

/// The number of transactions of each child process.
const TRANSACTIONS: usize = 40;

fn insert(tx: &TransactionContext) -> Result<u64> {
    let entry = tx.submit(EntryChangeRequest::creation(EntryData::default()))?;
    let key = entry.object().map_or(0, Entry::id);
    let event = EventData {
        entry: key,
        ..EventData::default()
    };
    tx.submit(EventChangeRequest::creation(event))?;
    Ok(key)
}

/// Not a test by itself: a process of the test below, which starts it.
#[test]
fn a_process_that_inserts() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(path).unwrap();
    let mut last = 0;
    for _ in 0..TRANSACTIONS {
        let types = [Entry::TABLE, Event::TABLE];
        let key = workspace
            .perform_changes_blocking_retrying(types, insert)
            .unwrap();
        assert!(last < key, "{key} after {last}");
        last = key;
    }
}

pub(super) fn start(path: &Path) -> Child {
    let name = "other_programs::auto_keys::a_process_that_inserts";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn processes_that_insert_at_once_get_different_keys() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("diary.db");
        let children: Vec<Child> = (0..PROCESSES).map(|_| start(&path)).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let workspace = Workspace::open(&path).unwrap();
        let inserted = (PROCESSES * TRANSACTIONS) as u64;
        let entries = workspace.fetch::<Entry>().all().unwrap();
        // Each key was given once, without a gap, in the order of the insertions.
        assert!(entries.iter().map(Entry::id).eq(1..=inserted));
        let events = workspace.fetch::<Event>().all().unwrap();
        let keys: BTreeSet<&str> = events.iter().map(Event::id).collect();
        assert_eq!(keys.len() as u64, inserted);
        assert!(
            keys.iter()
                .all(|key| Uuid::parse_str(key).unwrap().get_version_num() == 7)
        );
        assert!(events.iter().map(Event::entry).eq(1..=inserted));
    });
}

/// A file with one entry and one event, and a connection of another program to it.
fn file(directory: &Path) -> (Workspace, Connection) {
    let path = directory.join("diary.db");
    let workspace = Workspace::open(&path).unwrap();
    let types = [Entry::TABLE, Event::TABLE];
    workspace.perform_changes_blocking(types, insert).unwrap();
    (workspace, Connection::open(path).unwrap())
}

fn next(workspace: &Workspace) -> Result<u64> {
    workspace.perform_changes_blocking([Entry::TABLE, Event::TABLE], insert)
}

/// The tables are those that Dflat for Swift makes for a schema without `auto`: a key column with
/// the field's value, and the payload.
#[test]
fn tables_with_assigned_keys_have_the_form_of_dflat_for_swift() {
    let directory = tempfile::tempdir().unwrap();
    let (_workspace, other) = file(directory.path());
    let definition = |table: &str| -> String {
        let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        other.query_row(sql, [table], |row| row.get(0)).unwrap()
    };
    let form = |table: &str, column: &str| {
        format!(
            "CREATE TABLE {table} (rowid INTEGER PRIMARY KEY AUTOINCREMENT, \
             __pk0 {column}, p BLOB, UNIQUE(__pk0))"
        )
    };
    assert_eq!(definition(&Entry::TABLE.name), form("entry", "INTEGER"));
    assert_eq!(definition(&Event::TABLE.name), form("event", "TEXT"));
    let key: i64 = other
        .query_row("SELECT __pk0 FROM entry", [], |row| row.get(0))
        .unwrap();
    let event: String = other
        .query_row("SELECT __pk0 FROM event", [], |row| row.get(0))
        .unwrap();
    assert_eq!((key, event.len()), (1, 36));
    // The payload has the key, too: Dflat for Swift reads it from there.
    let payload: Vec<u8> = other
        .query_row("SELECT p FROM event", [], |row| row.get(0))
        .unwrap();
    assert!(payload.windows(36).any(|bytes| bytes == event.as_bytes()));
}

// Promise: compatibility#P67
#[test]
fn keys_that_another_program_inserted_count() {
    let directory = tempfile::tempdir().unwrap();
    let (workspace, other) = file(directory.path());
    let foreign = |key: &str| {
        let sql = format!("INSERT INTO entry (__pk0, p) SELECT {key}, p FROM entry LIMIT 1");
        other.execute(&sql, []).unwrap();
    };
    foreign("900");
    assert_eq!(next(&workspace).unwrap(), 901);
    // A key that is no number is larger than every number, and does not count.
    foreign("'text'");
    assert_eq!(next(&workspace).unwrap(), 902);
    foreign("9223372036854775807");
    assert_eq!(
        next(&workspace).unwrap_err().kind(),
        ErrorKind::KeysExhausted
    );
}
