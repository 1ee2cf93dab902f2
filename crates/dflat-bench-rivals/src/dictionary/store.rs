//! The places where settings can be kept, each used as its documentation says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dflat::{Dictionary, Workspace};
use redb::{Database, Durability, ReadableDatabase, TableDefinition};
use rusqlite::{Connection, OptionalExtension, params};

use super::value::Kind;
use crate::Result;

/// Where settings are kept.
pub trait Store: Sync {
    /// Writes values: all are in the file when this returns.
    fn put(&self, items: &mut dyn Iterator<Item = (&str, i64)>) -> Result<()>;

    /// Reads a value.
    fn get(&self, key: &str) -> Result<Option<i64>>;
}

/// How a store is opened in a folder, where it may have been before, for values of a kind.
pub type Open = fn(&Path, Kind) -> Result<Box<dyn Store>>;

/// The stores by name.
pub const STORES: [(&str, Open); 5] = [
    ("Dflat", Ours::open),
    ("SQLite", Sqlite::open),
    ("redb", Redb::open),
    ("redb, no sync", Redb::open_unsynced),
    ("JSON file", Json::open),
];

struct Ours {
    // Order: the handle goes before the workspace.
    dictionary: Dictionary,
    _workspace: Workspace,
    kind: Kind,
}

impl Ours {
    fn open(folder: &Path, kind: Kind) -> Result<Box<dyn Store>> {
        let workspace = Workspace::open(folder.join("dflat.db"))?;
        Ok(Box::new(Self {
            dictionary: workspace.dictionary(),
            _workspace: workspace,
            kind,
        }))
    }
}

impl Store for Ours {
    fn put(&self, items: &mut dyn Iterator<Item = (&str, i64)>) -> Result<()> {
        for (key, value) in items {
            self.kind.set(&self.dictionary, key, value)?;
        }
        Ok(self.dictionary.synchronize()?)
    }

    fn get(&self, key: &str) -> Result<Option<i64>> {
        self.kind.get(&self.dictionary, key)
    }
}

/// Upserts, in one transaction if there are several, with the settings that Dflat has.
struct Sqlite(Mutex<Connection>, Kind);

impl Sqlite {
    fn open(folder: &Path, kind: Kind) -> Result<Box<dyn Store>> {
        let connection = Connection::open(folder.join("sqlite.db"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             CREATE TABLE IF NOT EXISTS item (key TEXT PRIMARY KEY, value) WITHOUT ROWID;",
        )?;
        Ok(Box::new(Self(Mutex::new(connection), kind)))
    }
}

impl Store for Sqlite {
    fn put(&self, items: &mut dyn Iterator<Item = (&str, i64)>) -> Result<()> {
        let mut connection = lock(&self.0);
        let transaction = connection.transaction()?;
        for (key, value) in items {
            let mut put = transaction.prepare_cached(
                "INSERT INTO item VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            )?;
            put.execute(params![key, self.1.encode(value)?])?;
        }
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &str) -> Result<Option<i64>> {
        let connection = lock(&self.0);
        let mut get = connection.prepare_cached("SELECT value FROM item WHERE key = ?")?;
        let bytes: Option<Vec<u8>> = get.query_row([key], |row| row.get(0)).optional()?;
        bytes.map(|bytes| self.1.decode(&bytes)).transpose()
    }
}

const TABLE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("item");

/// A write transaction for all items, a read transaction for each read.
struct Redb {
    database: Database,
    durability: Durability,
    kind: Kind,
}

impl Redb {
    fn open(folder: &Path, kind: Kind) -> Result<Box<dyn Store>> {
        Self::with(folder, kind, Durability::Immediate)
    }

    fn open_unsynced(folder: &Path, kind: Kind) -> Result<Box<dyn Store>> {
        Self::with(folder, kind, Durability::None)
    }

    fn with(folder: &Path, kind: Kind, durability: Durability) -> Result<Box<dyn Store>> {
        let name = format!("{durability:?}.redb");
        let database = Database::create(folder.join(name))?;
        Ok(Box::new(Self {
            database,
            durability,
            kind,
        }))
    }
}

impl Store for Redb {
    fn put(&self, items: &mut dyn Iterator<Item = (&str, i64)>) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        let mut table = transaction.open_table(TABLE)?;
        for (key, value) in items {
            table.insert(key, self.kind.encode(value)?.as_slice())?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &str) -> Result<Option<i64>> {
        let transaction = self.database.begin_read()?;
        let found = transaction.open_table(TABLE)?.get(key)?;
        found
            .map(|found| self.kind.decode(found.value()))
            .transpose()
    }
}

/// A map in memory, and a file that is written anew for each change.
struct Json {
    map: Mutex<BTreeMap<String, serde_json::Value>>,
    path: PathBuf,
    kind: Kind,
}

impl Json {
    fn open(folder: &Path, kind: Kind) -> Result<Box<dyn Store>> {
        let path = folder.join("settings.json");
        let map = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => BTreeMap::new(),
        };
        Ok(Box::new(Self {
            map: Mutex::new(map),
            path,
            kind,
        }))
    }
}

impl Store for Json {
    fn put(&self, items: &mut dyn Iterator<Item = (&str, i64)>) -> Result<()> {
        let mut map = lock(&self.map);
        for (key, value) in items {
            map.insert(key.to_owned(), self.kind.to_json(value)?);
        }
        // Beside and then in its place, so that a crash leaves the old one.
        let beside = self.path.with_extension("new");
        fs::write(&beside, serde_json::to_vec(&*map)?)?;
        Ok(fs::rename(&beside, &self.path)?)
    }

    fn get(&self, key: &str) -> Result<Option<i64>> {
        let map = lock(&self.map);
        map.get(key)
            .map(|value| self.kind.number_in(value))
            .transpose()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
