//! The floor of the dictionary: values by key, in a table like the dictionary's.
#![allow(
    unsafe_code,
    reason = "SQLite's C API, called without a layer between: that is what the floor measures"
)]

use std::path::Path;

use dflat::Durability;
use libsqlite3_sys as sqlite;

use super::{Floor, bind_blob, bind_text, column_blob};
use crate::Result;

/// A connection with the statements of a table of keys and values.
pub struct KeyedFloor {
    floor: Floor,
    // Invariant: prepared by the connection, reset between calls, finalized before it closes.
    put: *mut sqlite::sqlite3_stmt,
    find: *mut sqlite::sqlite3_stmt,
}

impl KeyedFloor {
    /// Opens or creates a file with the table.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn open(path: &Path) -> Result<Self> {
        let mut floor = Floor::open(path, Durability::Normal, &[])?;
        floor.execute(
            "CREATE TABLE IF NOT EXISTS item (rowid INTEGER PRIMARY KEY AUTOINCREMENT, \
             __pk0 TEXT, __pk1 TEXT, p BLOB, UNIQUE(__pk0, __pk1))",
        )?;
        let put = floor.prepare(
            "INSERT INTO item (__pk0, __pk1, p) VALUES (?, '', ?) \
             ON CONFLICT (__pk0, __pk1) DO UPDATE SET p = excluded.p",
        )?;
        let find = floor.prepare("SELECT p FROM item WHERE __pk0 = ? AND __pk1 = ''")?;
        Ok(Self { floor, put, find })
    }

    /// Inserts or replaces values in one transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn put<'k>(
        &mut self,
        items: impl Iterator<Item = (&'k str, i64)>,
        encode: impl Fn(&mut Vec<u8>, &str, i64),
    ) -> Result<()> {
        self.floor.run(self.floor.begin_immediate)?;
        let mut payload = Vec::new();
        for (key, value) in items {
            encode(&mut payload, key, value);
            // SAFETY: The statement is reset. Key and payload live until it has run; `unbind`
            // releases the last ones.
            unsafe {
                bind_text(self.put, 1, key);
                bind_blob(self.put, 2, &payload);
            }
            self.floor.step_once(self.put)?;
        }
        self.floor.unbind(self.put);
        self.floor.run(self.floor.commit)
    }

    /// Reads the value of a key. Returns the result of `read` for the value's bytes.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn get<R>(&mut self, key: &str, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        // SAFETY: The key lives until the statement is reset, and the statement does not read it
        // after that before another key is bound.
        unsafe { bind_text(self.find, 1, key) };
        // SAFETY: The statement is live and the connection used by this value alone.
        let found = match unsafe { sqlite::sqlite3_step(self.find) } {
            // SAFETY: The statement is on a row of a blob.
            sqlite::SQLITE_ROW => Some(read(unsafe { column_blob(self.find, 0) })),
            sqlite::SQLITE_DONE => None,
            code => return self.floor.expect(code, sqlite::SQLITE_DONE).map(|()| None),
        };
        // SAFETY: The statement is live.
        let code = unsafe { sqlite::sqlite3_reset(self.find) };
        self.floor.expect(code, sqlite::SQLITE_OK)?;
        Ok(found)
    }
}

impl Drop for KeyedFloor {
    fn drop(&mut self) {
        // SAFETY: Both are live, and not used again; the connection is closed after this.
        unsafe {
            sqlite::sqlite3_finalize(self.put);
            sqlite::sqlite3_finalize(self.find);
        }
    }
}
