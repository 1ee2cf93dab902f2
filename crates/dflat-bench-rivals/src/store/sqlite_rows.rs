//! SQLite through rusqlite, with a column for each field.
//!
//! As the manuals say: WAL with `synchronous=NORMAL`, statements from the cache
//! (`prepare_cached`), a connection for each thread with a busy timeout, and `BEGIN IMMEDIATE` for
//! a transaction that writes. Nested values lie in tables of their own, with foreign keys and an
//! index on each.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{
    Connection, OptionalExtension, Params, Row, Statement, TransactionBehavior, params,
};

use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Content, Digest, Note, Record, Shape};

/// A connection with the settings that every program should have.
///
/// # Errors
/// The errors of SQLite.
pub fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Makes the tables of a shape.
///
/// # Errors
/// The errors of SQLite.
pub fn create_tables(connection: &Connection, shape: Shape) -> Result<()> {
    for table in 0..shape.tables() {
        connection.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS record{table} (id INTEGER PRIMARY KEY, title TEXT NOT NULL \
             UNIQUE, priority INTEGER NOT NULL, rank INTEGER NOT NULL, tag TEXT NOT NULL, code \
             INTEGER NOT NULL, text TEXT NOT NULL);"
        ))?;
    }
    if shape.indexes() > 0 {
        connection.execute_batch("CREATE INDEX IF NOT EXISTS ranks ON record0 (rank);")?;
    }
    if shape.indexes() > 1 {
        connection.execute_batch(
            "CREATE INDEX IF NOT EXISTS tags ON record0 (tag);
             CREATE UNIQUE INDEX IF NOT EXISTS codes ON record0 (code);",
        )?;
    }
    if shape == Shape::Nested {
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS content (record INTEGER NOT NULL REFERENCES record0 (id) \
             ON DELETE CASCADE, position INTEGER NOT NULL, is_text INTEGER NOT NULL, text TEXT NOT \
             NULL, PRIMARY KEY (record, position)) WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS note (record INTEGER NOT NULL REFERENCES record0 (id) ON \
             DELETE CASCADE, position INTEGER NOT NULL, author TEXT NOT NULL, stars INTEGER NOT \
             NULL, text TEXT NOT NULL, PRIMARY KEY (record, position)) WITHOUT ROWID;",
        )?;
    }
    Ok(())
}

/// Inserts objects in one transaction.
///
/// # Errors
/// The errors of SQLite.
pub fn fill(connection: &mut Connection, table: usize, records: &[Record]) -> Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut insert = tx.prepare_cached(&format!(
            "INSERT INTO record{table} (title, priority, rank, tag, code, text) VALUES (?, ?, ?, \
             ?, ?, ?)"
        ))?;
        for record in records {
            let Record {
                title,
                priority,
                rank,
                tag,
                code,
                text,
                ..
            } = record;
            insert.execute(params![title, priority, rank, tag, code, text])?;
            if let Some(content) = &record.content {
                insert_inside(&tx, content, &record.notes)?;
            }
        }
    }
    Ok(tx.commit()?)
}

/// Inserts what is nested in the last object.
fn insert_inside(connection: &Connection, content: &Content, notes: &[Note]) -> Result<()> {
    let record = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached("INSERT INTO content VALUES (?, ?, ?, ?)")?;
    match content {
        Content::Text(text) => drop(insert.execute(params![record, 0, true, text])?),
        Content::Images(images) => {
            for (position, image) in images.iter().enumerate() {
                insert.execute(params![record, i64::try_from(position)?, false, image])?;
            }
        }
    }
    let mut insert = connection.prepare_cached("INSERT INTO note VALUES (?, ?, ?, ?, ?)")?;
    for (
        position,
        Note {
            author,
            stars,
            text,
        },
    ) in notes.iter().enumerate()
    {
        insert.execute(params![
            record,
            i64::try_from(position)?,
            author,
            stars,
            text
        ])?;
    }
    Ok(())
}

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let path = folder.join("rows.db");
    let first = connect(&path)?;
    create_tables(&first, shape)?;
    Ok(Box::new(Rows {
        path,
        shape,
        _first: std::sync::Mutex::new(first),
    }))
}

struct Rows {
    path: PathBuf,
    shape: Shape,
    // Open as long as the store is, as a pool of connections would be.
    _first: std::sync::Mutex<Connection>,
}

impl Store for Rows {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let connection = connect(&self.path)?;
        Ok(Box::new(Opened {
            connection,
            table,
            shape: self.shape,
        }))
    }
}

struct Opened {
    connection: Connection,
    table: usize,
    shape: Shape,
}

/// The columns of a record, whose row id is the first.
const COLUMNS: &str = "id, title, priority, rank, tag, code, text";

fn record_of(row: &Row<'_>) -> rusqlite::Result<(i64, Record)> {
    let record = Record {
        title: row.get(1)?,
        priority: row.get(2)?,
        rank: row.get(3)?,
        tag: row.get(4)?,
        code: row.get(5)?,
        text: row.get(6)?,
        content: None,
        notes: Vec::new(),
    };
    Ok((row.get(0)?, record))
}

impl Opened {
    fn select(&self, condition: &str, parameters: impl Params) -> Result<Vec<Record>> {
        let table = self.table;
        let sql = format!("SELECT {COLUMNS} FROM record{table} {condition}");
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut found = Vec::new();
        for row in select.query_map(parameters, record_of)? {
            let (id, mut record) = row?;
            if self.shape == Shape::Nested {
                self.complete(id, &mut record)?;
            }
            found.push(record);
        }
        Ok(found)
    }

    /// Reads what is nested in an object.
    fn complete(&self, id: i64, record: &mut Record) -> Result<()> {
        let sql = "SELECT is_text, text FROM content WHERE record = ? ORDER BY position";
        let mut contents = self.connection.prepare_cached(sql)?;
        let mut images = Vec::new();
        let mut rows = contents.query([id])?;
        while let Some(row) = rows.next()? {
            if row.get(0)? {
                record.content = Some(Content::Text(row.get(1)?));
            } else {
                images.push(row.get(1)?);
            }
        }
        if record.content.is_none() {
            record.content = Some(Content::Images(images));
        }
        let sql = "SELECT author, stars, text FROM note WHERE record = ? ORDER BY position";
        let mut notes = self.connection.prepare_cached(sql)?;
        let note = |row: &Row<'_>| {
            let (author, stars, text) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Note {
                author,
                stars,
                text,
            })
        };
        record.notes = notes
            .query_map([id], note)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(())
    }

    fn update(&mut self, keys: Option<&str>, change: Change) -> Result<()> {
        let table = self.table;
        let tx = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let condition = if keys.is_some() {
                "WHERE title = ?"
            } else {
                ""
            };
            // Only the columns from which the program computes the new values.
            let mut select = tx.prepare_cached(&format!(
                "SELECT id, priority, rank, tag, code FROM record{table} {condition}"
            ))?;
            let values = |row: &Row<'_>| {
                let numbers: (i64, i32, i32) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let rest: (String, i64) = (row.get(3)?, row.get(4)?);
                Ok((numbers, rest))
            };
            let found = match keys {
                Some(key) => select.query_map([key], values)?.collect(),
                None => select
                    .query_map([], values)?
                    .collect::<rusqlite::Result<Vec<_>>>(),
            }?;
            let is_one = keys.is_some();
            if is_one && found.is_empty() {
                return Err(missing(keys.unwrap_or_default()).into());
            }
            let columns = match change {
                Change::Priority => "priority = ?",
                Change::Indexed { all: false, .. } => "rank = ?",
                Change::Indexed { all: true, .. } => "rank = ?, tag = ?, code = ?",
            };
            let sql = format!("UPDATE record{table} SET {columns} WHERE id = ?");
            let mut update = tx.prepare_cached(&sql)?;
            for ((id, priority, rank), (tag, code)) in found {
                write(
                    &mut update,
                    change,
                    (id, change.priority(priority)),
                    (change.rank(rank), (change.tag(&tag), change.code(code))),
                )?;
            }
        }
        Ok(tx.commit()?)
    }
}

/// Writes the new values of the columns that a change has.
fn write(
    update: &mut Statement<'_>,
    change: Change,
    (id, priority): (i64, i32),
    (rank, others): (i32, (String, i64)),
) -> rusqlite::Result<usize> {
    match change {
        Change::Priority => update.execute(params![priority, id]),
        Change::Indexed { all: false, .. } => update.execute(params![rank, id]),
        Change::Indexed { .. } => update.execute(params![rank, others.0, others.1, id]),
    }
}

impl Session for Opened {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        fill(&mut self.connection, self.table, records)
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.select("WHERE priority < ?", [below])?))
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let found = self.select("WHERE rank >= ? AND rank < ?", [ranks.start, ranks.end])?;
        Ok(Box::new(found))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.select("", [])?))
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        if self.shape == Shape::Nested {
            return Ok(Digest::of(&self.select("WHERE title = ?", [key])?));
        }
        let table = self.table;
        let sql = format!("SELECT {COLUMNS} FROM record{table} WHERE title = ?");
        let mut select = self.connection.prepare_cached(&sql)?;
        // The texts are read where SQLite has them, and not copied.
        let digest = |row: &Row<'_>| {
            let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
            let mut digest = Digest::default();
            let numbers = [row.get(2)?, row.get(3)?, row.get(5)?];
            digest.add(text(1)?, numbers, [text(4)?, text(6)?]);
            Ok(digest)
        };
        Ok(select
            .query_row([key], digest)
            .optional()?
            .unwrap_or_default())
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        self.update(None, change)
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        self.update(Some(key), change)
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        let table = self.table;
        let tx = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let sql = format!("DELETE FROM record{table} WHERE title = ?");
            let mut delete = tx.prepare_cached(&sql)?;
            for key in keys {
                delete.execute([key])?;
            }
        }
        Ok(tx.commit()?)
    }
}
