//! redb.
//!
//! As its documentation says: one table for each kind of object, a multimap table for an index
//! whose values repeat, a write transaction for each atomic change, and a read transaction for
//! each read that stands alone. The values are borrowed from its pages where nothing is kept.

use std::ops::Range;
use std::path::Path;

use redb::{
    Database, Durability, MultimapTableDefinition, ReadableDatabase, ReadableTable,
    TableDefinition, WriteTransaction,
};

use super::bytes::{decode, digest, encode};
use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

type Objects<'t> = TableDefinition<'t, &'static str, &'static [u8]>;

const TABLES: [Objects<'static>; 4] = [
    TableDefinition::new("record0"),
    TableDefinition::new("record1"),
    TableDefinition::new("record2"),
    TableDefinition::new("record3"),
];
const RANKS: MultimapTableDefinition<'_, i32, &str> = MultimapTableDefinition::new("ranks");
const TAGS: MultimapTableDefinition<'_, &str, &str> = MultimapTableDefinition::new("tags");
const CODES: TableDefinition<'_, i64, &str> = TableDefinition::new("codes");

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let database = Database::create(folder.join("objects.redb"))?;
    let tx = database.begin_write()?;
    for table in &TABLES[..shape.tables()] {
        tx.open_table(*table)?;
    }
    if shape.indexes() > 0 {
        tx.open_multimap_table(RANKS)?;
    }
    tx.commit()?;
    Ok(Box::new(Redb {
        database,
        indexes: shape.indexes(),
    }))
}

struct Redb {
    database: Database,
    indexes: usize,
}

impl Store for Redb {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let table = *TABLES.get(table).ok_or("there is no such table")?;
        Ok(Box::new(Opened { store: self, table }))
    }
}

struct Opened<'s> {
    store: &'s Redb,
    table: Objects<'static>,
}

impl Opened<'_> {
    /// A transaction whose commit is not synced.
    fn write(&self, work: impl FnOnce(&WriteTransaction) -> Result<()>) -> Result<()> {
        let mut tx = self.store.database.begin_write()?;
        tx.set_durability(Durability::None)?;
        work(&tx)?;
        Ok(tx.commit()?)
    }

    /// Writes new states of objects, with the old ones where there are any.
    fn put(&self, tx: &WriteTransaction, changes: &[(Option<Record>, Record)]) -> Result<()> {
        let mut objects = tx.open_table(self.table)?;
        for (_, new) in changes {
            objects.insert(new.title.as_str(), encode(new)?.as_slice())?;
        }
        if self.store.indexes > 0 {
            let mut ranks = tx.open_multimap_table(RANKS)?;
            for (old, new) in changes {
                if let Some(old) = old.as_ref().filter(|old| old.rank != new.rank) {
                    ranks.remove(old.rank, old.title.as_str())?;
                }
                ranks.insert(new.rank, new.title.as_str())?;
            }
        }
        if self.store.indexes > 1 {
            let mut tags = tx.open_multimap_table(TAGS)?;
            let mut codes = tx.open_table(CODES)?;
            for (old, new) in changes {
                if let Some(old) = old {
                    tags.remove(old.tag.as_str(), old.title.as_str())?;
                    codes.remove(old.code)?;
                }
                tags.insert(new.tag.as_str(), new.title.as_str())?;
                if codes.insert(new.code, new.title.as_str())?.is_some() {
                    return Err(format!("two objects have the code {}", new.code).into());
                }
            }
        }
        Ok(())
    }

    fn held(&self, is_wanted: impl Fn(&Record) -> bool) -> Result<Vec<Record>> {
        let tx = self.store.database.begin_read()?;
        let objects = tx.open_table(self.table)?;
        let mut found = Vec::new();
        for item in objects.iter()? {
            let record = decode(item?.1.value())?;
            if is_wanted(&record) {
                found.push(record);
            }
        }
        Ok(found)
    }
}

impl Session for Opened<'_> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.write(|tx| {
            // In batches, so that an import does not copy all objects.
            for batch in records.chunks(1000) {
                let changes: Vec<_> = batch.iter().map(|record| (None, record.clone())).collect();
                self.put(tx, &changes)?;
            }
            Ok(())
        })
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.held(|record| record.priority < below)?))
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let tx = self.store.database.begin_read()?;
        let (objects, index) = (tx.open_table(self.table)?, tx.open_multimap_table(RANKS)?);
        let mut found = Vec::new();
        for entry in index.range(ranks)? {
            for key in entry?.1 {
                let key = key?;
                let object = objects
                    .get(key.value())?
                    .ok_or_else(|| missing(key.value()))?;
                found.push(decode(object.value())?);
            }
        }
        Ok(Box::new(found))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.held(|_| true)?))
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        let tx = self.store.database.begin_read()?;
        let object = tx.open_table(self.table)?.get(key)?;
        object.map_or_else(|| Ok(Digest::default()), |object| digest(object.value()))
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        self.write(|tx| {
            let objects = tx.open_table(self.table)?;
            let all = objects.iter()?.map(|item| decode(item?.1.value()));
            let changed = |old: Record| {
                let mut new = old.clone();
                change.apply(&mut new);
                (Some(old), new)
            };
            let changes = all
                .map(|record| record.map(changed))
                .collect::<Result<Vec<_>>>()?;
            drop(objects);
            self.put(tx, &changes)
        })
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        self.write(|tx| {
            let objects = tx.open_table(self.table)?;
            let object = objects.get(key)?.ok_or_else(|| missing(key))?;
            let old = decode(object.value())?;
            drop(object);
            drop(objects);
            let mut new = old.clone();
            change.apply(&mut new);
            self.put(tx, &[(Some(old), new)])
        })
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        self.write(|tx| {
            let mut objects = tx.open_table(self.table)?;
            for key in keys {
                let old = objects.remove(key.as_str())?.ok_or_else(|| missing(key))?;
                if self.store.indexes > 0 {
                    let old = decode(old.value())?;
                    tx.open_multimap_table(RANKS)?
                        .remove(old.rank, key.as_str())?;
                    if self.store.indexes > 1 {
                        tx.open_multimap_table(TAGS)?
                            .remove(old.tag.as_str(), key.as_str())?;
                        tx.open_table(CODES)?.remove(old.code)?;
                    }
                }
            }
            Ok(())
        })
    }
}
