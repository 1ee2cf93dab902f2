//! SQLite through rusqlite, with the object as FlatBuffers bytes, and a column for each indexed
//! value. The bytes and their verification are those of Dflat; the connection has the settings of
//! `sqlite_rows`.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use dflat::Payload;
use rusqlite::{Connection, OptionalExtension, Params, TransactionBehavior, params};

use super::ours::{Kept, OfType, of_shape};
use super::{Held, Session, Store, connect, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let path = folder.join("blobs.db");
    let first = connect(&path)?;
    for table in 0..shape.tables() {
        let columns = match shape.indexes() {
            0 => "",
            1 => ", rank INTEGER NOT NULL",
            _ => ", rank INTEGER NOT NULL, tag TEXT NOT NULL, code INTEGER NOT NULL",
        };
        first.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS record{table} (id INTEGER PRIMARY KEY, title TEXT NOT NULL \
             UNIQUE{columns}, p BLOB NOT NULL);"
        ))?;
    }
    if shape.indexes() > 0 {
        first.execute_batch("CREATE INDEX IF NOT EXISTS ranks ON record0 (rank);")?;
    }
    if shape.indexes() > 1 {
        first.execute_batch(
            "CREATE INDEX IF NOT EXISTS tags ON record0 (tag);
             CREATE UNIQUE INDEX IF NOT EXISTS codes ON record0 (code);",
        )?;
    }
    Ok(Box::new(Blobs {
        path,
        shape,
        _first: std::sync::Mutex::new(first),
    }))
}

struct Blobs {
    path: PathBuf,
    shape: Shape,
    // Open as long as the store is, as a pool of connections would be.
    _first: std::sync::Mutex<Connection>,
}

impl Store for Blobs {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let connection = connect(&self.path)?;
        Ok(of_shape(
            self.shape,
            table,
            Make {
                connection,
                table,
                shape: self.shape,
            },
        ))
    }
}

struct Make {
    connection: Connection,
    table: usize,
    shape: Shape,
}

impl OfType<'static> for Make {
    fn session<T: Kept<Data: Payload>>(self) -> Box<dyn Session> {
        let Self {
            connection,
            table,
            shape,
        } = self;
        Box::new(Opened::<T> {
            connection,
            table,
            shape,
            kind: PhantomData,
        })
    }
}

struct Opened<T> {
    connection: Connection,
    table: usize,
    shape: Shape,
    kind: PhantomData<T>,
}

/// Verified objects, each with its own bytes.
struct Verified<T>(Vec<T>);

impl<T: Kept> Held for Verified<T> {
    fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        self.0.iter().for_each(|object| object.add_to(&mut digest));
        digest
    }
}

impl<T: Kept<Data: Payload>> Opened<T> {
    fn select(&self, condition: &str, parameters: impl Params) -> Result<Vec<T>> {
        let sql = format!("SELECT p FROM record{} {condition}", self.table);
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query(parameters)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(T::from_bytes(row.get_ref(0)?.as_blob()?)?);
        }
        Ok(found)
    }

    /// Writes changed objects. The columns of indexed values follow the bytes.
    fn update(&mut self, key: Option<&str>, change: Change) -> Result<()> {
        let (table, indexes) = (self.table, self.shape.indexes());
        let tx = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let condition = if key.is_some() { "WHERE title = ?" } else { "" };
            let sql = format!("SELECT id, p FROM record{table} {condition}");
            let mut select = tx.prepare_cached(&sql)?;
            let mut rows = match key {
                Some(key) => select.query([key])?,
                None => select.query([])?,
            };
            let mut found: Vec<(i64, T)> = Vec::new();
            while let Some(row) = rows.next()? {
                found.push((row.get(0)?, T::from_bytes(row.get_ref(1)?.as_blob()?)?));
            }
            if let (Some(key), true) = (key, found.is_empty()) {
                return Err(missing(key).into());
            }
            let columns = match indexes {
                0 => "p = ?1",
                1 => "p = ?1, rank = ?3",
                _ => "p = ?1, rank = ?3, tag = ?4, code = ?5",
            };
            let sql = format!("UPDATE record{table} SET {columns} WHERE id = ?2");
            let mut update = tx.prepare_cached(&sql)?;
            for (id, object) in found {
                let mut data = object.to_data();
                T::change_data(&mut data, change);
                let (rank, tag, code) = T::indexed(&data);
                let bytes = data.to_bytes()?;
                match indexes {
                    0 => update.execute(params![bytes, id])?,
                    1 => update.execute(params![bytes, id, rank])?,
                    _ => update.execute(params![bytes, id, rank, tag, code])?,
                };
            }
        }
        Ok(tx.commit()?)
    }
}

impl<T: Kept<Data: Payload>> Session for Opened<T> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        let (table, indexes) = (self.table, self.shape.indexes());
        let tx = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let sql = match indexes {
                0 => format!("INSERT INTO record{table} (title, p) VALUES (?, ?)"),
                1 => format!("INSERT INTO record{table} (title, p, rank) VALUES (?, ?, ?)"),
                _ => format!(
                    "INSERT INTO record{table} (title, p, rank, tag, code) VALUES (?, ?, ?, ?, ?)"
                ),
            };
            let mut insert = tx.prepare_cached(&sql)?;
            for record in records {
                let bytes = T::data(record).to_bytes()?;
                let Record {
                    title,
                    rank,
                    tag,
                    code,
                    ..
                } = record;
                match indexes {
                    0 => insert.execute(params![title, bytes])?,
                    1 => insert.execute(params![title, bytes, rank])?,
                    _ => insert.execute(params![title, bytes, rank, tag, code])?,
                };
            }
        }
        Ok(tx.commit()?)
    }

    /// The priority is inside the bytes, so all of them are read.
    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        let mut found = self.select("", [])?;
        found.retain(|object| object.priority_value() < below);
        Ok(Box::new(Verified(found)))
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let found = self.select("WHERE rank >= ? AND rank < ?", [ranks.start, ranks.end])?;
        Ok(Box::new(Verified(found)))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        Ok(Box::new(Verified(self.select("", [])?)))
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        let sql = format!("SELECT p FROM record{} WHERE title = ?", self.table);
        let mut select = self.connection.prepare_cached(&sql)?;
        let object = select.query_row([key], |row| Ok(T::from_bytes(row.get_ref(0)?.as_blob()?)));
        let mut digest = Digest::default();
        if let Some(object) = object.optional()? {
            object?.add_to(&mut digest);
        }
        Ok(digest)
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
