//! Files that stand on a pack and that another program has changed.

use std::ops::Range;

use dflat::{ChangeRequest, ErrorKind, Payload, TransactionContext, Workspace};
use dflat_testkit::schema::{Item, Task};

use super::queries::task;
use super::standing::{item, items, put, ranks};

#[test]
fn rows_that_the_shell_changes_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let open = || Workspace::builder(&path).standing_on(&pack).open().unwrap();
    let workspace = open();
    put(&workspace, "i3", 33).unwrap();
    put(&workspace, "i4", 44).unwrap();
    workspace.shutdown().unwrap();
    let shell = rusqlite::Connection::open(&path).unwrap();
    let payload = item("i3", 333).to_bytes().unwrap();
    let changed = shell.execute("UPDATE item SET p = ?1 WHERE __pk0 = 'i3'", [payload]);
    assert_eq!(changed, Ok(1));
    assert_eq!(
        shell.execute("DELETE FROM item WHERE __pk0 = 'i4'", []),
        Ok(1)
    );
    // A row in the place of an object of the pack does not hide it, and the object can be neither
    // changed nor deleted until the row is gone. A new row does not reach there.
    let payload = item("x", 7).to_bytes().unwrap();
    let insert = "INSERT INTO item (rowid, __pk0, p) VALUES (?1, ?2, ?3)";
    let row = (Some(1), "x", payload);
    assert_eq!(shell.execute(insert, row), Ok(1));
    let payload = item("y", 8).to_bytes().unwrap();
    let row = (None::<i64>, "y", payload);
    assert_eq!(shell.execute(insert, row), Ok(1));
    assert_eq!(shell.last_insert_rowid(), 11);
    drop(shell);
    let workspace = open();
    assert_eq!(ranks(&workspace), [0, 1, 2, 333, 5, 6, 7, 8, 9, 8]);
    let by_rank = |rank| {
        workspace
            .fetch::<Item>()
            .filter(Item::RANK.eq(rank))
            .count()
    };
    assert_eq!((by_rank(333).unwrap(), by_rank(3).unwrap()), (1, 0));
    assert_eq!((by_rank(8).unwrap(), by_rank(4).unwrap()), (2, 0));
    put(&workspace, "i4", 4).unwrap();
    assert_eq!((by_rank(333).unwrap(), by_rank(4).unwrap()), (1, 1));
    let first = || workspace.get::<Item>("i0").unwrap().unwrap();
    let delete = || {
        workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let request = ChangeRequest::deletion(tx, &first())?.unwrap();
            tx.submit(request).map(drop)
        })
    };
    for refused in [put(&workspace, "i0", 1).unwrap_err(), delete().unwrap_err()] {
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
        let why = "Item: row 1: another program has written a row";
        assert!(refused.to_string().contains(why), "{refused}");
    }
    assert_eq!((first().rank(), ranks(&workspace).len()), (0, 11));
    let shell = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(shell.execute("DELETE FROM item WHERE rowid = 1", []), Ok(1));
    delete().unwrap();
    assert_eq!(ranks(&workspace).len(), 10);
    assert!(workspace.get::<Item>("x").unwrap().is_none());
}

/// The rows of all index tables of tasks, as text.
fn index_tables(shell: &rusqlite::Connection) -> Vec<(String, Vec<String>)> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '*task__*'";
    let mut names = shell.prepare(names).unwrap();
    let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut tables: Vec<_> = names
        .map(|name| {
            let name = name.unwrap();
            let mut rows = shell
                .prepare(&format!("SELECT rowid, * FROM {name}"))
                .unwrap();
            let columns = rows.column_count();
            let rows = rows.query_map([], |row| {
                (0..columns).try_fold(String::new(), |text, at| {
                    Ok(format!("{text} {:?}", row.get_ref(at)?))
                })
            });
            (name, rows.unwrap().map(Result::unwrap).collect())
        })
        .collect();
    tables.sort();
    tables
}

/// A thousand rows of the file are read at once.
#[test]
fn dropped_indexes_are_filled_by_the_next_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = dflat::pack::Pack::build::<Task>(directory.path(), [task(0)]).unwrap();
    let open = || Workspace::builder(&path).standing_on(&pack).open().unwrap();
    let put = |workspace: &Workspace, ids: Range<i32>| {
        let put = workspace.perform_changes_blocking([Task::TABLE], |tx| {
            ids.clone()
                .try_for_each(|id| tx.submit(ChangeRequest::<Task>::upsert(task(id))).map(drop))
        });
        put.unwrap();
    };
    let workspace = open();
    put(&workspace, 0..2500);
    let shell = rusqlite::Connection::open(&path).unwrap();
    let whole = index_tables(&shell);
    assert_eq!((whole.len(), whole[2].1.len()), (8, 416));
    workspace.shutdown().unwrap();
    for (name, _) in &whole {
        assert_eq!(shell.execute_batch(&format!("DROP TABLE {name}")), Ok(()));
    }
    let workspace = open();
    put(&workspace, 2500..2501);
    let request = |tx: &TransactionContext| {
        let last = workspace.get::<Task>(2500)?.unwrap();
        let request = ChangeRequest::deletion(tx, &last)?;
        request.map(|request| tx.submit(request)).transpose()
    };
    let deleted = workspace.perform_changes_blocking([Task::TABLE], |tx| request(tx).map(drop));
    deleted.unwrap();
    assert_eq!(index_tables(&shell), whole);
    let due = workspace
        .fetch::<Task>()
        .filter(Task::LIST.eq(1) & Task::DUE.lt(10));
    assert_eq!(due.count().unwrap(), 1);
}

#[test]
fn damaged_tables_of_hidden_objects_give_errors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let open = || Workspace::builder(&path).standing_on(&pack).open().unwrap();
    let workspace = open();
    put(&workspace, "i3", 33).unwrap();
    workspace.shutdown().unwrap();
    let shell = rusqlite::Connection::open(&path).unwrap();
    let sound: Vec<(i64, Vec<u8>)> = {
        let mut rows = shell.prepare("SELECT rowid, p FROM dflat__base").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(sound.len(), 2);
    let update = |row_id: i64, bytes: &[u8]| {
        let updated = shell.execute(
            "UPDATE dflat__base SET p = ?2 WHERE rowid = ?1",
            (row_id, bytes),
        );
        assert_eq!(updated, Ok(1));
    };
    for (row_id, bytes) in &sound {
        for len in [0, 3, 9, 15, 31, 39] {
            if len >= bytes.len() {
                continue;
            }
            update(*row_id, &bytes[..len]);
            let workspace = open();
            if let Err(error) = workspace.fetch::<Item>().all() {
                let kinds = [ErrorKind::Corrupt, ErrorKind::InvalidArgument];
                assert!(kinds.contains(&error.kind()), "{error}");
            } else {
                // Bits at the end that are missing are zeros.
                assert!(len > 8 && bytes.len() < 30, "{len} of {bytes:?}");
            }
            workspace.shutdown().unwrap();
        }
        // The row of a chunk must not count as the row with the digest.
        let mut other = [0; 40];
        other[..4].fill(0xff);
        update(*row_id, &other);
        let workspace = open();
        workspace.fetch::<Item>().all().unwrap_err();
        workspace.shutdown().unwrap();
        let mut far = bytes.clone();
        far.iter_mut().skip(8).for_each(|byte| *byte = 0xff);
        update(*row_id, &far);
        let workspace = open();
        workspace.fetch::<Item>().all().unwrap_err();
        workspace.shutdown().unwrap();
        update(*row_id, bytes);
    }
    assert_eq!(ranks(&open())[3], 33);
}
