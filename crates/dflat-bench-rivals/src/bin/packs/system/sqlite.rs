//! SQLite: a prepared statement in one transaction, with its memory map, and values lent from its
//! pages.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{Entry, Sum, System};
use crate::Result;
use crate::data::{Data, sum};

pub(super) fn entries() -> [Entry; 2] {
    [
        Entry {
            name: "SQLite",
            folder: "sqlite",
            build: |folder, data| build(folder, data, false),
            open: |folder| open(folder, false),
            note: "a table of rows with a unique index of the keys as blobs, memory-mapped",
        },
        Entry {
            name: "SQLite, integer key",
            folder: "sqlite-integer",
            build: |folder, data| build(folder, data, true),
            open: |folder| open(folder, true),
            note: "the key is the row id, which only integers can be, memory-mapped",
        },
    ]
}

fn connection(folder: &Path) -> Result<Connection> {
    let connection = Connection::open(folder.join("values.db"))?;
    connection.execute_batch("PRAGMA mmap_size = 8589934592; PRAGMA cache_size = -65536;")?;
    Ok(connection)
}

fn build(folder: &Path, data: &Data, is_integer: bool) -> Result<()> {
    let mut connection = connection(folder)?;
    connection.execute_batch(match is_integer {
        true => "CREATE TABLE v (key INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        false => "CREATE TABLE v (key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)",
    })?;
    let tx = connection.transaction()?;
    let mut insert = tx.prepare("INSERT INTO v (key, value) VALUES (?, ?)")?;
    for key in &data.keys {
        match is_integer {
            true => insert.execute(params![signed(*key), data.value(*key)])?,
            false => insert.execute(params![key.to_be_bytes(), data.value(*key)])?,
        };
    }
    drop(insert);
    Ok(tx.commit()?)
}

/// The key as a number of SQLite, in the same order.
const fn signed(key: u64) -> i64 {
    (key ^ 1 << 63).cast_signed()
}

struct Sqlite {
    connection: Connection,
    is_integer: bool,
}

fn open(folder: &Path, is_integer: bool) -> Result<Box<dyn System>> {
    let connection = connection(folder)?;
    connection.execute_batch("BEGIN")?;
    Ok(Box::new(Sqlite {
        connection,
        is_integer,
    }))
}

impl System for Sqlite {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let mut all = Sum::default();
        let mut select = self
            .connection
            .prepare_cached("SELECT value FROM v WHERE key = ?")?;
        for key in keys {
            let mut rows = match self.is_integer {
                true => select.query(params![signed(*key)])?,
                false => select.query(params![key.to_be_bytes()])?,
            };
            if let Some(row) = rows.next()? {
                all.add(sum(row.get_ref(0)?.as_blob()?));
            }
        }
        Ok(all)
    }

    fn scan(&mut self) -> Result<Sum> {
        let mut all = Sum::default();
        // The rows were inserted in the order of their keys.
        let mut select = self
            .connection
            .prepare_cached("SELECT value FROM v ORDER BY rowid")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            all.add(sum(row.get_ref(0)?.as_blob()?));
        }
        Ok(all)
    }
}
