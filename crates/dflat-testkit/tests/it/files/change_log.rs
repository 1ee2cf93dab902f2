//! The change records of a workspace's transactions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dflat::{Error, ErrorKind, Result, TransactionContext, Workspace};
use dflat_engine::storage::{Backend, Durability, RowWrite};
use dflat_model::record::{Before, Change, ChangeRecord, Part};
use dflat_model::{RowId, ValueRef};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::until;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use rusqlite::Connection;

pub(crate) type Rows = BTreeMap<i64, Vec<u8>>;

fn open(path: &Path) -> Workspace {
    Workspace::builder(path).change_log(true).open().unwrap()
}

/// The rows of the items.
pub(crate) fn rows(path: &Path) -> Rows {
    let sql = Connection::open(path).unwrap();
    let mut rows = sql.prepare("SELECT rowid, p FROM item").unwrap();
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows = rows.query_map([], read).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

/// The records from the first to the last.
pub(crate) fn records(path: &Path) -> Vec<Vec<u8>> {
    let sql = Connection::open(path).unwrap();
    let mut records = sql
        .prepare("SELECT record FROM dflat__log ORDER BY id")
        .unwrap();
    let records = records.query_map([], |row| row.get(0)).unwrap();
    records.map(|record| record.unwrap()).collect()
}

/// Undoes the changes of a record to the items. Returns how many rows it lists.
pub(crate) fn undo(record: &[u8], rows: &mut Rows) -> usize {
    let record = ChangeRecord::decode(record).unwrap();
    let mut count = 0;
    let items = record.tables.iter();
    for table in items.filter(|table| table.table.name == "item") {
        for row in table.rows() {
            let row = row.unwrap();
            let (id, key) = (row.row_id.0, row.key);
            assert!(matches!(key[..], [ValueRef::Text(_)]), "{key:?}");
            assert!(!row.is_foreign);
            match row.change {
                Change::Inserted => assert!(rows.remove(&id).is_some(), "row {id}"),
                Change::Updated(Before::Difference(difference)) => {
                    let after = &rows[&id];
                    let before = difference.apply(after).unwrap();
                    rows.insert(id, before);
                }
                Change::Updated(Before::Object(before)) => {
                    assert!(rows.insert(id, before.to_vec()).is_some(), "row {id}");
                }
                Change::Deleted(Some(before)) => {
                    assert!(rows.insert(id, before.to_vec()).is_none(), "row {id}");
                }
                other => panic!("{other:?}"),
            }
            count += 1;
        }
    }
    count
}

fn item(number: u32) -> ItemChangeRequest {
    ItemChangeRequest::creation(ItemData {
        id: format!("item {number}"),
        rank: i32::try_from(number).unwrap(),
        ..ItemData::default()
    })
}

/// One random change; some fail because of the state, which changes nothing.
fn change(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    let number = random.below(20) as u32;
    let found = tx.get::<Item>(&format!("item {number}"))?;
    match (found, random.below(4)) {
        (None, _) => drop(tx.submit(item(number))?),
        (Some(found), 0) => drop(tx.submit(ItemChangeRequest::deletion(tx, &found)?.unwrap())?),
        (Some(found), kind) => {
            let mut request = ItemChangeRequest::change(tx, &found)?.unwrap();
            match kind {
                1 => request.id = format!("item {}", random.below(20)),
                _ => request.rank = random.below(1000) as i32,
            }
            match tx.submit(request) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn failure() -> Error {
    Error::new(ErrorKind::InvalidArgument, "undo this")
}

/// Groups, savepoints that are undone, failed transactions and rows that are changed repeatedly.
#[test]
fn records_lead_back_from_the_last_state_to_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path);
    let mut transactions = 0;
    let mut random = Random::new(7);
    for _ in 0..40 {
        let handles: Vec<_> = (0..10)
            .map(|_| {
                let mut random = Random::new(random.number());
                let fails = random.below(6) == 0;
                let handle = workspace.perform_changes([Item::TABLE], move |tx| {
                    for _ in 0..random.below(5) {
                        change(tx, &mut random)?;
                    }
                    let undone = tx.nested(|tx| {
                        (0..3).try_for_each(|_| change(tx, &mut random))?;
                        Err::<(), _>(failure())
                    });
                    assert!(undone.is_err());
                    tx.nested(|tx| change(tx, &mut random))?;
                    if fails { Err(failure()) } else { Ok(()) }
                });
                (handle, fails)
            })
            .collect();
        for (handle, fails) in handles {
            assert_eq!(handle.wait().is_err(), fails);
            transactions += usize::from(!fails);
        }
    }
    let records = records(&path);
    assert!(records.len() <= transactions, "{} records", records.len());
    let mut rows = rows(&path);
    assert!(rows.len() > 5, "{rows:?}");
    for record in records.iter().rev() {
        undo(record, &mut rows);
    }
    assert!(rows.is_empty(), "{rows:?}");
}

/// The engine lists few rows of such a transaction, and reads them again for its records.
// Promise: storage-format#S32
#[test]
fn import_is_recorded_in_parts_of_bounded_size() {
    const ITEMS: u32 = 30_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path);
    let imported = workspace.perform_changes([Item::TABLE], |tx| {
        for number in 0..ITEMS {
            tx.submit(item(number))?;
            if number % 100 == 7 {
                let found = tx.get::<Item>(&format!("item {number}"))?.unwrap();
                tx.submit(ItemChangeRequest::deletion(tx, &found)?.unwrap())?;
            }
        }
        tx.nested(|tx| {
            (ITEMS..ITEMS + 100).try_for_each(|number| tx.submit(item(number)).map(drop))?;
            Err::<(), _>(failure())
        })
        .unwrap_err();
        Ok(())
    });
    imported.wait().unwrap();
    let records = records(&path);
    assert!(records.len() >= 3, "{} records", records.len());
    let (last, parts) = records.split_last().unwrap();
    let mut rows = rows(&path);
    assert_eq!(rows.len(), (ITEMS - ITEMS / 100) as usize);
    let mut count = 0;
    for (at, part) in parts.iter().enumerate() {
        let expected = Part::Early { number: at as u32 };
        assert_eq!(ChangeRecord::decode(part).unwrap().head.part, expected);
        assert!(part.len() < 300 << 10, "{} bytes", part.len());
        count += undo(part, &mut rows);
    }
    assert!(rows.is_empty(), "{} rows", rows.len());
    let last = ChangeRecord::decode(last).unwrap();
    let part = Part::Final {
        early: parts.len() as u32,
        rows: count as u64,
    };
    assert_eq!((last.head.part, last.tables.len()), (part, 1));
    assert!(last.tables[0].is_empty());
}

/// Another process on the same file, as a backend without an engine.
pub(crate) fn other(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        change_log: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// Changes a row as another process, with this record.
pub(crate) fn commit(other: &Arc<SqliteBackend>, payload: &[u8], record: Option<&[u8]>) {
    let mut tx = Arc::clone(other).begin(Durability::Normal).unwrap();
    let row = RowWrite {
        key: None,
        payload,
        entries: &[],
    };
    tx.update(&Item::TABLE, RowId(1), &row).unwrap();
    if let Some(record) = record {
        tx.append_record(record).unwrap();
    }
    tx.commit().unwrap();
}

/// Whether a file of a directory has a text.
pub(crate) fn is_found_in(directory: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(directory).unwrap();
    let mut contents = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    contents.any(|bytes| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    })
}

/// A deleted text is a state before in a change record.
// Promise: storage-format#S33
#[test]
fn purge_deletes_the_change_log() {
    const SECRET: &str = "the secret of the change log";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path);
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        tx.submit(item(1))?;
        tx.submit(ItemChangeRequest::creation(ItemData {
            id: SECRET.to_owned(),
            ..ItemData::default()
        }))
        .map(drop)
    });
    created.wait().unwrap();
    let secret = workspace.get::<Item>(SECRET).unwrap().unwrap();
    let deleted = workspace.perform_changes([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::deletion(tx, &secret)?.unwrap())
            .map(drop)
    });
    deleted.wait().unwrap();
    let is_found = || is_found_in(directory.path(), SECRET);
    assert!(is_found());
    assert_eq!(records(&path).len(), 2);
    workspace.purge().unwrap();
    assert!(!is_found());
    assert!(records(&path).is_empty());
    // The ids of the deleted records are not used again.
    let created = workspace.perform_changes([Item::TABLE], |tx| tx.submit(item(2)).map(drop));
    created.wait().unwrap();
    let sql = Connection::open(&path).unwrap();
    let id: i64 = sql
        .query_row("SELECT id FROM dflat__log", [], |row| row.get(0))
        .unwrap();
    assert!(id > 2, "{id}");
}

// Promise: storage-format#S34
#[test]
fn records_beyond_the_option_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let open = |bytes: u64| {
        let builder = Workspace::builder(&path).change_log(true);
        builder.change_log_bytes_max(bytes).open().unwrap()
    };
    let bytes = || records(&path).iter().map(Vec::len).sum::<usize>();
    let replace = |workspace: &Workspace| {
        let replaced = workspace.perform_changes([Item::TABLE], |tx| {
            if let Some(found) = tx.get::<Item>("item 1")? {
                tx.submit(ItemChangeRequest::deletion(tx, &found)?.unwrap())?;
            }
            let nick = Some("x".repeat(9_000));
            let id = "item 1".to_owned();
            let data = ItemData {
                id,
                nick,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        });
        replaced.wait().unwrap();
    };
    let workspace = open(u64::MAX);
    (0..20).for_each(|_| replace(&workspace));
    assert!(bytes() > 100_000, "{} bytes", bytes());
    workspace.shutdown().unwrap();
    let workspace = open(30_000);
    (0..3).for_each(|_| replace(&workspace));
    until(|| bytes() <= 15_000);
    assert!(!records(&path).is_empty());
}

/// An upkeep commit has a record that lists no change.
// Promise: concurrency#C84
#[test]
fn upkeep_of_another_process_does_not_make_a_transaction_busy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = open(&path);
    let created = workspace.perform_changes([Item::TABLE], |tx| tx.submit(item(1)).map(drop));
    created.wait().unwrap();
    let perform = |between: &dyn Fn()| {
        let performed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let found = tx.get::<Item>("item 1")?.unwrap();
            between();
            let mut request = ItemChangeRequest::change(tx, &found)?.unwrap();
            request.rank += 1;
            tx.submit(request).map(drop)
        });
        performed.map_err(|error| error.kind())
    };
    let other = other(&path);
    let first = rows(&path)[&1].clone();
    assert_eq!(perform(&|| ()), Ok(()));
    let second = rows(&path)[&1].clone();
    let upkeep = || {
        // Without pages to give back, only the record is written.
        other.reclaim(1).unwrap();
    };
    assert_eq!(perform(&upkeep), Ok(()));
    let change = || commit(&other, &first, Some(b"a change"));
    assert_eq!(perform(&change), Err(ErrorKind::Busy));
    let unrecorded = || commit(&other, &second, None);
    assert_eq!(perform(&unrecorded), Err(ErrorKind::Busy));
    assert_eq!(perform(&upkeep), Ok(()));
}
