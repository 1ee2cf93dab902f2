//! The floor of writes to types with indexes: hand-written SQL on the tables that Dflat has made.
#![allow(
    unsafe_code,
    reason = "SQLite's C API, called without a layer between: that is what the floor measures"
)]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::path::Path;

use dflat::Durability;
use dflat::codegen::Encoder;
use dflat_model::IndexDescriptor;
use libsqlite3_sys as sqlite;

use super::{Floor, Owned, bind_blob, bind_text};
use crate::Result;
use crate::workload::{Column, ColumnValue, Indexed};

/// A connection with the statements of a table and of its index tables.
pub struct EntriesFloor<T> {
    floor: Floor,
    indexes: Vec<Index>,
    objects: PhantomData<T>,
}

/// The statements of an index table. Invariant: prepared by the connection, reset between calls,
/// finalized before it closes.
struct Index {
    columns: Vec<Column>,
    has_condition: bool,
    insert: *mut sqlite::sqlite3_stmt,
    update: *mut sqlite::sqlite3_stmt,
    delete: *mut sqlite::sqlite3_stmt,
}

impl<T: Indexed> EntriesFloor<T> {
    /// Opens a file that already has the tables.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn open(path: &Path) -> Result<Self> {
        let table = T::TABLE;
        let floor = Floor::open(path, Durability::Normal, &[&table.name])?;
        let mut this = Self {
            floor,
            indexes: Vec::new(),
            objects: PhantomData,
        };
        for index in table.indexes.iter() {
            let index = this.prepare(&table.name, index)?;
            this.indexes.push(index);
        }
        Ok(this)
    }

    fn prepare(&mut self, main: &str, index: &IndexDescriptor) -> Result<Index> {
        let table = index_table(main, index);
        let names: Vec<String> = index.fields.iter().map(|f| f.storage_key()).collect();
        let column = |name: &str| Column::named(name).ok_or("no column of the workload");
        let columns = index.fields.iter().map(|field| column(&field.name));
        let marks = ", ?".repeat(names.len());
        let (list, set) = (names.join(", "), names.join(" = ?, "));
        Ok(Index {
            columns: columns.collect::<Result<_, _>>()?,
            has_condition: index.condition.is_some(),
            insert: self.floor.prepare(&format!(
                "INSERT INTO {table} (rowid, {list}) VALUES (?{marks})"
            ))?,
            update: self
                .floor
                .prepare(&format!("UPDATE {table} SET {set} = ? WHERE rowid = ?"))?,
            delete: self
                .floor
                .prepare(&format!("DELETE FROM {table} WHERE rowid = ?"))?,
        })
    }

    /// Inserts objects in a transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn insert(&mut self, objects: impl Iterator<Item = T::Data>) -> Result<()> {
        let statement = self.floor.statements(0)?.insert;
        self.floor.run(self.floor.begin_immediate)?;
        for data in objects {
            Encoder::encode_root(&mut self.floor.writer, &data);
            let payload = self.floor.writer.finish()?;
            // SAFETY: The statement is reset. Title and payload live until it has run; `unbind`
            // releases the last ones.
            unsafe {
                bind_text(statement, 1, T::title_of(&data));
                bind_blob(statement, 2, payload);
            }
            self.floor.step_once(statement)?;
            // SAFETY: The connection is open.
            let row_id = unsafe { sqlite::sqlite3_last_insert_rowid(self.floor.db) };
            for index in self.indexes.iter().filter(|index| index.holds::<T>(&data)) {
                // SAFETY: The statement is reset.
                unsafe { sqlite::sqlite3_bind_int64(index.insert, 1, row_id) };
                index.bind::<T>(index.insert, 2, &data);
                self.floor.step_once(index.insert)?;
            }
        }
        self.floor.unbind(statement);
        self.end(|index| index.insert)
    }

    /// Fetches each object by its key, changes every value that its indexes hold and writes the
    /// object, in a transaction.
    ///
    /// # Errors
    /// The errors of SQLite, and an error if an object is missing.
    pub fn update_by_key(
        &mut self,
        titles: &[String],
        change: impl Fn(&mut T::Data),
    ) -> Result<()> {
        let statement = self.floor.statements(0)?.update;
        self.floor.run(self.floor.begin_immediate)?;
        for title in titles {
            let (row_id, mut data) = self
                .floor
                .get::<T>(0, title)?
                .ok_or("an object is missing")?;
            change(&mut data);
            Encoder::encode_root(&mut self.floor.writer, &data);
            let payload = self.floor.writer.finish()?;
            // SAFETY: The statement is reset. The payload lives until it has run; `unbind` releases
            // the last one.
            unsafe {
                bind_blob(statement, 1, payload);
                sqlite::sqlite3_bind_int64(statement, 2, row_id);
            }
            self.floor.step_once(statement)?;
            // `change` leaves the conditions of indexes as they are.
            for index in self.indexes.iter().filter(|index| index.holds::<T>(&data)) {
                let last = index.bind::<T>(index.update, 1, &data);
                // SAFETY: The statement is reset.
                unsafe { sqlite::sqlite3_bind_int64(index.update, last, row_id) };
                self.floor.step_once(index.update)?;
            }
        }
        self.floor.unbind(statement);
        self.end(|index| index.update)
    }

    /// Deletes objects in a transaction.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn delete(&mut self, objects: &[Owned<T>]) -> Result<()> {
        let statement = self.floor.statements(0)?.delete;
        self.floor.run(self.floor.begin_immediate)?;
        for (row_id, data) in objects {
            let indexes = self.indexes.iter();
            let held = indexes.filter(|index| index.holds::<T>(data));
            for statement in held.map(|index| index.delete).chain([statement]) {
                // SAFETY: The statement is reset.
                unsafe { sqlite::sqlite3_bind_int64(statement, 1, *row_id) };
                self.floor.step_once(statement)?;
            }
        }
        self.floor.run(self.floor.commit)
    }

    /// All objects.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn objects(&mut self) -> Result<Vec<Owned<T>>> {
        self.floor.fetch_owned::<T>(0, |_| true)
    }

    /// The number of entries of each index table, in the order of the descriptor's indexes.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn entry_counts(&mut self) -> Result<Vec<i64>> {
        let table = T::TABLE;
        let tables = table
            .indexes
            .iter()
            .map(|index| index_table(&table.name, index));
        tables
            .map(|table| self.number(&format!("SELECT count(*) FROM {table}")))
            .collect()
    }

    /// The number of rows in which the tables differ from those of another file.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn differences(&mut self, other: &Path) -> Result<i64> {
        let path = other.to_str().ok_or("the path is not Unicode")?;
        self.floor.execute(&format!("ATTACH '{path}' AS other"))?;
        let table = T::TABLE;
        let indexes = table
            .indexes
            .iter()
            .map(|index| index_table(&table.name, index));
        let mut sum = 0;
        for table in indexes.chain([table.name.to_string()]) {
            for (one, two) in [("main", "other"), ("other", "main")] {
                sum += self.number(&format!(
                    "SELECT count(*) FROM \
                     (SELECT * FROM {one}.{table} EXCEPT SELECT * FROM {two}.{table})"
                ))?;
            }
        }
        self.floor.execute("DETACH other")?;
        Ok(sum)
    }

    /// Makes a checkpoint and truncates the log to no bytes.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.floor.checkpoint()
    }

    fn number(&mut self, sql: &str) -> Result<i64> {
        let statement = self.floor.prepare(sql)?;
        // SAFETY: The statement is live, is on a row when it is read, and is not used again.
        unsafe {
            let code = sqlite::sqlite3_step(statement);
            let number = sqlite::sqlite3_column_int64(statement, 0);
            sqlite::sqlite3_finalize(statement);
            self.floor.expect(code, sqlite::SQLITE_ROW)?;
            Ok(number)
        }
    }

    /// Releases the values that are bound to the statements of the indexes, and commits.
    fn end(&mut self, statement: impl Fn(&Index) -> *mut sqlite::sqlite3_stmt) -> Result<()> {
        for index in &self.indexes {
            self.floor.unbind(statement(index));
        }
        self.floor.run(self.floor.commit)
    }
}

impl Index {
    /// Whether an object has an entry in the index.
    fn holds<T: Indexed>(&self, data: &T::Data) -> bool {
        !self.has_condition || T::is_open(data)
    }

    /// Binds an object's values from a position on. Returns the position after the last value. The
    /// statement must run or be unbound before `data` is changed.
    fn bind<T: Indexed>(
        &self,
        statement: *mut sqlite::sqlite3_stmt,
        mut position: c_int,
        data: &T::Data,
    ) -> c_int {
        for column in &self.columns {
            // SAFETY: The statement is live and reset; the text lives as the caller promises.
            unsafe {
                match T::value(data, *column) {
                    ColumnValue::Int(number) => {
                        sqlite::sqlite3_bind_int64(statement, position, number);
                    }
                    ColumnValue::Text(text) => bind_text(statement, position, text),
                }
            }
            position += 1;
        }
        position
    }
}

impl<T> Drop for EntriesFloor<T> {
    fn drop(&mut self) {
        for index in &self.indexes {
            for statement in [index.insert, index.update, index.delete] {
                // SAFETY: It is live, and not used again; the connection is closed after this.
                unsafe { sqlite::sqlite3_finalize(statement) };
            }
        }
    }
}

/// The name of an index table.
fn index_table(main: &str, index: &IndexDescriptor) -> String {
    let prefix = if index.is_plain() { "" } else { "dflat__" };
    format!("{prefix}{main}__{}", index.storage_key())
}
