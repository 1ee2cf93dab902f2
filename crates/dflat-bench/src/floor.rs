//! The floor: the work of the scenarios, done with as few calls of SQLite as possible.
//!
//! The floor uses the same tables, settings, bytes and codec as Dflat. Statements are prepared
//! once, texts and blobs are bound without copying, and returned objects are decoded to owned
//! values.
#![allow(
    unsafe_code,
    reason = "SQLite's C API, called without a layer between: that is what the floor measures"
)]

mod counter;
mod entries;
mod indexed;
mod keyed;
mod values;

use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::ptr;

use dflat::codegen::{Encoder, Message, TableReader};
use dflat::{Durability, Object};
use dflat_engine::object::{TableView, Writer};
use libsqlite3_sys as sqlite;

use crate::Result;
use crate::workload::Doc;
pub use entries::EntriesFloor;
pub use indexed::{IndexedFloor, IndexedQuery};
pub use keyed::KeyedFloor;
use values::{bind_blob, bind_text, column_blob};

/// A connection with the statements of some tables.
pub struct Floor {
    // Invariant: the connection is open and used by this value alone, which can't be sent or
    // shared.
    db: *mut sqlite::sqlite3,
    begin: *mut sqlite::sqlite3_stmt,
    begin_immediate: *mut sqlite::sqlite3_stmt,
    commit: *mut sqlite::sqlite3_stmt,
    tables: Vec<Statements>,
    writer: Writer,
}

/// The statements of a table. Invariant: prepared by the connection, and reset between calls.
#[derive(Clone, Copy)]
struct Statements {
    insert: *mut sqlite::sqlite3_stmt,
    update: *mut sqlite::sqlite3_stmt,
    delete: *mut sqlite::sqlite3_stmt,
    scan: *mut sqlite::sqlite3_stmt,
    find: *mut sqlite::sqlite3_stmt,
}

/// An object of the floor: its row id and its values.
pub type Owned<T> = (i64, <T as Object>::Data);

/// All payloads of a table in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arena {
    /// The payloads, one after the other.
    pub bytes: Vec<u8>,
    /// The row id, the start and the end of each payload.
    pub places: Vec<(i64, usize, usize)>,
}

impl Floor {
    /// Opens or creates a file, with the tables of these names, which are created if they are
    /// missing.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn open(path: &Path, durability: Durability, tables: &[&str]) -> Result<Self> {
        let mut floor = Self::open_to_read(path)?;
        let synchronous = match durability {
            Durability::Full => {
                "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"
            }
            Durability::Normal => "PRAGMA synchronous = NORMAL",
        };
        floor.execute("PRAGMA temp_store = MEMORY")?;
        floor.execute(synchronous)?;
        floor.execute("PRAGMA auto_vacuum = INCREMENTAL")?;
        floor.execute("PRAGMA journal_mode = WAL")?;
        floor.execute("PRAGMA secure_delete = FAST")?;
        floor.execute("PRAGMA journal_size_limit = 16777216")?;
        floor.begin = floor.prepare("BEGIN")?;
        floor.begin_immediate = floor.prepare("BEGIN IMMEDIATE")?;
        floor.commit = floor.prepare("COMMIT")?;
        for name in tables {
            floor.execute(&format!(
                "CREATE TABLE IF NOT EXISTS {name} \
                 (rowid INTEGER PRIMARY KEY AUTOINCREMENT, __pk0 TEXT, p BLOB, UNIQUE(__pk0))"
            ))?;
            let statements = Statements {
                insert: floor.prepare(&format!("INSERT INTO {name} (__pk0, p) VALUES (?, ?)"))?,
                update: floor.prepare(&format!("UPDATE {name} SET p = ? WHERE rowid = ?"))?,
                delete: floor.prepare(&format!("DELETE FROM {name} WHERE rowid = ?"))?,
                scan: floor.prepare(&format!("SELECT rowid, p FROM {name} ORDER BY rowid"))?,
                find: floor.prepare(&format!("SELECT rowid, p FROM {name} WHERE __pk0 = ?"))?,
            };
            floor.tables.push(statements);
        }
        Ok(floor)
    }

    /// Opens a file. Makes no setting that only writing needs, and prepares no statement.
    fn open_to_read(path: &Path) -> Result<Self> {
        Ok(Self {
            db: open(path)?,
            begin: ptr::null_mut(),
            begin_immediate: ptr::null_mut(),
            commit: ptr::null_mut(),
            tables: Vec::new(),
            writer: Writer::new(),
        })
    }

    /// Runs SQL and ignores the rows of its result.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        let sql = CString::new(sql)?;
        // SAFETY: The connection is open, the text is a C string; no callback or message is
        // requested.
        let code = unsafe {
            sqlite::sqlite3_exec(
                self.db,
                sql.as_ptr(),
                None,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        self.expect(code, sqlite::SQLITE_OK)
    }

    /// Makes a checkpoint and truncates the log to no bytes.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// The number that changes with each commit of another connection.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn data_version(&mut self) -> Result<i64> {
        let statement = self.prepare("PRAGMA data_version")?;
        // SAFETY: The statement is live, returns one row of a number, and is not used again.
        let (code, version) = unsafe {
            let code = sqlite::sqlite3_step(statement);
            let version = sqlite::sqlite3_column_int64(statement, 0);
            sqlite::sqlite3_finalize(statement);
            (code, version)
        };
        self.expect(code, sqlite::SQLITE_ROW).map(|()| version)
    }

    /// Starts a transaction that reads.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn begin(&mut self) -> Result<()> {
        self.run(self.begin)
    }

    /// Commits a transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn commit(&mut self) -> Result<()> {
        self.run(self.commit)
    }

    /// Inserts objects in a transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn insert<T: Doc>(
        &mut self,
        table: usize,
        objects: impl Iterator<Item = T::Data>,
    ) -> Result<()> {
        let statement = self.statements(table)?.insert;
        self.run(self.begin_immediate)?;
        for data in objects {
            Encoder::encode_root(&mut self.writer, &data);
            let payload = self.writer.finish()?;
            // SAFETY: The bound values live until the next turn binds others or `unbind` releases
            // them.
            unsafe {
                bind_text(statement, 1, T::title_of(&data));
                bind_blob(statement, 2, payload);
            }
            self.step_once(statement)?;
        }
        self.unbind(statement);
        self.run(self.commit)
    }

    /// Fetches all objects, and changes and writes each of them, in one transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn update_all<T: Doc>(
        &mut self,
        table: usize,
        change: impl Fn(&mut T::Data),
    ) -> Result<()> {
        self.begin_update_all::<T>(table, change)?;
        self.commit()
    }

    /// As [`Self::update_all`], without the commit.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn begin_update_all<T: Doc>(
        &mut self,
        table: usize,
        change: impl Fn(&mut T::Data),
    ) -> Result<()> {
        let statement = self.statements(table)?.update;
        self.run(self.begin_immediate)?;
        let mut objects = self.fetch_owned::<T>(table, |_| true)?;
        for (row_id, data) in &mut objects {
            change(data);
            self.write::<T>(statement, *row_id, data)?;
        }
        self.unbind(statement);
        Ok(())
    }

    /// Changes and writes each object in a separate transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn update_each<T: Doc>(
        &mut self,
        table: usize,
        objects: &mut [Owned<T>],
        change: impl Fn(&mut T::Data),
    ) -> Result<()> {
        let statement = self.statements(table)?.update;
        for (row_id, data) in objects {
            self.run(self.begin_immediate)?;
            change(data);
            self.write::<T>(statement, *row_id, data)?;
            self.run(self.commit)?;
        }
        self.unbind(statement);
        Ok(())
    }

    fn write<T: Doc>(
        &mut self,
        statement: *mut sqlite::sqlite3_stmt,
        row_id: i64,
        data: &T::Data,
    ) -> Result<()> {
        Encoder::encode_root(&mut self.writer, data);
        let payload = self.writer.finish()?;
        // SAFETY: The statement is reset. The payload stays where it is until the next one is made,
        // before which no statement runs; `unbind` releases the last one.
        unsafe {
            bind_blob(statement, 1, payload);
            sqlite::sqlite3_bind_int64(statement, 2, row_id);
        }
        self.step_once(statement)
    }

    /// Deletes rows in a transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn delete(&mut self, table: usize, row_ids: &[i64]) -> Result<()> {
        let statement = self.statements(table)?.delete;
        self.run(self.begin_immediate)?;
        for row_id in row_ids {
            // SAFETY: The statement is reset.
            unsafe { sqlite::sqlite3_bind_int64(statement, 1, *row_id) };
            self.step_once(statement)?;
        }
        self.run(self.commit)
    }

    /// Steps through a table and decodes the objects for which `qualifies` returns true.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn fetch_owned<T: Object>(
        &mut self,
        table: usize,
        qualifies: impl Fn(&TableView<'_>) -> bool,
    ) -> Result<Vec<Owned<T>>> {
        let mut objects = Vec::new();
        self.scan(table, |row_id, payload| {
            let root = TableView::root(payload).unwrap_or_default();
            if qualifies(&root) {
                let view = T::Data::view(TableReader::new(root));
                objects.push((row_id, T::Data::decode(view)));
            }
        })?;
        Ok(objects)
    }

    /// Steps through a table and copies all payloads.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn fetch_arena(&mut self, table: usize) -> Result<Arena> {
        let mut arena = Arena::default();
        self.scan(table, |row_id, payload| {
            let start = arena.bytes.len();
            arena.bytes.extend_from_slice(payload);
            arena.places.push((row_id, start, arena.bytes.len()));
        })?;
        Ok(arena)
    }

    /// Steps through a table.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn scan(&mut self, table: usize, mut visit: impl FnMut(i64, &[u8])) -> Result<()> {
        let statement = self.statements(table)?.scan;
        loop {
            // SAFETY: The statement is live and the connection used by this value alone.
            match unsafe { sqlite::sqlite3_step(statement) } {
                // SAFETY: The statement is on a row of a row id and a blob.
                sqlite::SQLITE_ROW => unsafe {
                    let row_id = sqlite::sqlite3_column_int64(statement, 0);
                    visit(row_id, column_blob(statement, 1));
                },
                sqlite::SQLITE_DONE => break,
                code => return self.expect(code, sqlite::SQLITE_DONE),
            }
        }
        // SAFETY: The statement is live.
        self.expect(
            unsafe { sqlite::sqlite3_reset(statement) },
            sqlite::SQLITE_OK,
        )
    }

    /// Fetches the object with a key.
    ///
    /// # Errors
    /// The errors of SQLite.
    #[inline]
    pub fn get<T: Object>(&mut self, table: usize, title: &str) -> Result<Option<Owned<T>>> {
        let statement = self.statements(table)?.find;
        // SAFETY: The title lives until the statement is reset, and the statement does not read it
        // after that before another title is bound.
        unsafe { bind_text(statement, 1, title) };
        // SAFETY: The statement is live and the connection used by this value alone.
        let found = match unsafe { sqlite::sqlite3_step(statement) } {
            // SAFETY: The statement is on a row of a row id and a blob.
            sqlite::SQLITE_ROW => unsafe {
                let row_id = sqlite::sqlite3_column_int64(statement, 0);
                let root = TableView::root(column_blob(statement, 1)).unwrap_or_default();
                let view = T::Data::view(TableReader::new(root));
                Some((row_id, T::Data::decode(view)))
            },
            sqlite::SQLITE_DONE => None,
            code => return self.expect(code, sqlite::SQLITE_DONE).map(|()| None),
        };
        // SAFETY: The statement is live.
        self.expect(
            unsafe { sqlite::sqlite3_reset(statement) },
            sqlite::SQLITE_OK,
        )?;
        Ok(found)
    }

    fn statements(&self, table: usize) -> Result<Statements> {
        self.tables
            .get(table)
            .copied()
            .ok_or_else(|| "no such table".into())
    }

    fn prepare(&mut self, sql: &str) -> Result<*mut sqlite::sqlite3_stmt> {
        let sql = CString::new(sql)?;
        let mut statement = ptr::null_mut();
        // SAFETY: The connection is open, the text is a C string, `statement` is a place for the
        // result.
        let code = unsafe {
            sqlite::sqlite3_prepare_v3(
                self.db,
                sql.as_ptr(),
                -1,
                sqlite::SQLITE_PREPARE_PERSISTENT,
                &raw mut statement,
                ptr::null_mut(),
            )
        };
        self.expect(code, sqlite::SQLITE_OK)?;
        Ok(statement)
    }

    /// Runs a statement without parameters.
    fn run(&mut self, statement: *mut sqlite::sqlite3_stmt) -> Result<()> {
        self.step_once(statement)
    }

    /// Runs a statement that returns no row.
    #[inline]
    fn step_once(&self, statement: *mut sqlite::sqlite3_stmt) -> Result<()> {
        // SAFETY: The statement is live and the connection used by this value alone.
        let code = unsafe {
            let code = sqlite::sqlite3_step(statement);
            sqlite::sqlite3_reset(statement);
            code
        };
        self.expect(code, sqlite::SQLITE_DONE)
    }

    /// Releases the bound values.
    fn unbind(&self, statement: *mut sqlite::sqlite3_stmt) {
        // SAFETY: The statement is live and reset.
        unsafe { sqlite::sqlite3_clear_bindings(statement) };
    }

    #[inline]
    fn expect(&self, code: c_int, wanted: c_int) -> Result<()> {
        if code == wanted {
            return Ok(());
        }
        // SAFETY: The connection is open; its message is a C string until the next call.
        let message = unsafe { CStr::from_ptr(sqlite::sqlite3_errmsg(self.db)) };
        Err(format!("SQLite code {code}: {}", message.to_string_lossy()).into())
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        let controls = [self.begin, self.begin_immediate, self.commit];
        let tables = self.tables.iter();
        let statements = tables.flat_map(|t| [t.insert, t.update, t.delete, t.scan, t.find]);
        // SAFETY: Each statement is NULL, which is ignored, or live, and is not used again; then
        // the connection has none left.
        unsafe {
            for statement in statements.chain(controls) {
                sqlite::sqlite3_finalize(statement);
            }
            sqlite::sqlite3_close(self.db);
        }
    }
}

fn open(path: &Path) -> Result<*mut sqlite::sqlite3> {
    let path = CString::new(path.to_str().ok_or("the path is not Unicode")?)?;
    let flags = sqlite::SQLITE_OPEN_READWRITE
        | sqlite::SQLITE_OPEN_CREATE
        | sqlite::SQLITE_OPEN_NOMUTEX
        | sqlite::SQLITE_OPEN_EXRESCODE;
    let mut db = ptr::null_mut();
    // SAFETY: The path is a C string, `db` a place for the result, and no VFS is named.
    let code = unsafe { sqlite::sqlite3_open_v2(path.as_ptr(), &raw mut db, flags, ptr::null()) };
    if code != sqlite::SQLITE_OK {
        // SAFETY: SQLite ignores NULL; otherwise the connection is not used again.
        unsafe { sqlite::sqlite3_close(db) };
        return Err(format!("SQLite code {code}: the file can't be opened").into());
    }
    let switches = [
        (sqlite::SQLITE_DBCONFIG_DEFENSIVE, 1),
        (sqlite::SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (sqlite::SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (sqlite::SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (sqlite::SQLITE_DBCONFIG_ENABLE_FKEY, 0),
        (sqlite::SQLITE_DBCONFIG_DQS_DML, 0),
        (sqlite::SQLITE_DBCONFIG_ENABLE_QPSG, 1),
    ];
    for (switch, on) in switches {
        // SAFETY: Each of these takes an `int` and a pointer to an `int` or NULL.
        unsafe { sqlite::sqlite3_db_config(db, switch, on as c_int, ptr::null_mut::<c_int>()) };
    }
    // SAFETY: The connection is open.
    unsafe { sqlite::sqlite3_busy_timeout(db, 30_000) };
    Ok(db)
}
