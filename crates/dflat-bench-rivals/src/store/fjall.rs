//! fjall.
//!
//! As its documentation says: one database for the program, a keyspace for each kind of object and
//! for each index, and a transactional database where keyspaces must agree. Writers take turns;
//! readers take no lock.

use std::ops::Range;
use std::path::Path;

use fjall::{
    KeyspaceCreateOptions, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace,
    SingleWriterWriteTx,
};

use super::bytes::{decode, digest, encode, entry, key_of, rank_bytes};
use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let database = SingleWriterTxDatabase::builder(folder.join("fjall")).open()?;
    let keyspace = |name: &str| database.keyspace(name, KeyspaceCreateOptions::default);
    let objects = (0..shape.tables()).map(|table| keyspace(&format!("record{table}")));
    let objects = objects.collect::<Result<Vec<_>, _>>()?;
    let [ranks, tags, codes] = [keyspace("ranks")?, keyspace("tags")?, keyspace("codes")?];
    Ok(Box::new(Fjall {
        objects,
        indexes: (ranks, tags, codes),
        count: shape.indexes(),
        database,
    }))
}

struct Fjall {
    objects: Vec<SingleWriterTxKeyspace>,
    indexes: (
        SingleWriterTxKeyspace,
        SingleWriterTxKeyspace,
        SingleWriterTxKeyspace,
    ),
    /// The number of indexes that the objects have.
    count: usize,
    database: SingleWriterTxDatabase,
}

struct Opened<'s> {
    store: &'s Fjall,
    objects: &'s SingleWriterTxKeyspace,
}

impl Store for Fjall {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let objects = self.objects.get(table).ok_or("there is no such table")?;
        Ok(Box::new(Opened {
            store: self,
            objects,
        }))
    }
}

impl Opened<'_> {
    fn write(&self, work: impl FnOnce(&mut SingleWriterWriteTx<'_>) -> Result<()>) -> Result<()> {
        let mut tx = self.store.database.write_tx();
        work(&mut tx)?;
        Ok(tx.commit()?)
    }

    /// Writes the new state of an object, with its old one if there is one.
    fn put(
        &self,
        tx: &mut SingleWriterWriteTx<'_>,
        old: Option<&Record>,
        new: &Record,
    ) -> Result<()> {
        tx.insert(self.objects, new.title.as_str(), encode(new)?);
        if let Some(old) = old {
            self.remove_entries(tx, old);
        }
        let (ranks, tags, codes) = &self.store.indexes;
        if self.store.count > 0 {
            tx.insert(ranks, entry(&rank_bytes(new.rank), &new.title), "");
        }
        if self.store.count > 1 {
            tx.insert(tags, entry(new.tag.as_bytes(), &new.title), "");
            if tx.contains_key(codes, new.code.to_be_bytes())? {
                return Err(format!("two objects have the code {}", new.code).into());
            }
            tx.insert(codes, new.code.to_be_bytes(), new.title.as_str());
        }
        Ok(())
    }

    fn remove_entries(&self, tx: &mut SingleWriterWriteTx<'_>, old: &Record) {
        let (ranks, tags, codes) = &self.store.indexes;
        if self.store.count > 0 {
            tx.remove(ranks, entry(&rank_bytes(old.rank), &old.title));
        }
        if self.store.count > 1 {
            tx.remove(tags, entry(old.tag.as_bytes(), &old.title));
            tx.remove(codes, old.code.to_be_bytes());
        }
    }

    fn change(&self, tx: &mut SingleWriterWriteTx<'_>, old: &Record, change: Change) -> Result<()> {
        let mut new = old.clone();
        change.apply(&mut new);
        self.put(tx, Some(old), &new)
    }

    fn held(&self, is_wanted: impl Fn(&Record) -> bool) -> Result<Box<dyn Held>> {
        let snapshot = self.store.database.read_tx();
        let mut found = Vec::new();
        for item in snapshot.iter(self.objects) {
            let record = decode(&item.value()?)?;
            if is_wanted(&record) {
                found.push(record);
            }
        }
        Ok(Box::new(found))
    }
}

impl Session for Opened<'_> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.write(|tx| {
            records
                .iter()
                .try_for_each(|record| self.put(tx, None, record))
        })
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        self.held(|record| record.priority < below)
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let snapshot = self.store.database.read_tx();
        let bounds = rank_bytes(ranks.start)..rank_bytes(ranks.end);
        let mut found = Vec::new();
        for item in snapshot.range(&self.store.indexes.0, bounds) {
            let entry = item.key()?;
            let key = key_of(&entry, 4)?;
            let object = snapshot
                .get(self.objects, key)?
                .ok_or_else(|| missing(key))?;
            found.push(decode(&object)?);
        }
        Ok(Box::new(found))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        self.held(|_| true)
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        let object = self.objects.get(key)?;
        object.map_or_else(|| Ok(Digest::default()), |object| digest(&object))
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        self.write(|tx| {
            let all = tx.iter(self.objects).map(|item| decode(&item.value()?));
            let all = all.collect::<Result<Vec<_>>>()?;
            all.iter().try_for_each(|old| self.change(tx, old, change))
        })
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        self.write(|tx| {
            let object = tx.get(self.objects, key)?.ok_or_else(|| missing(key))?;
            self.change(tx, &decode(&object)?, change)
        })
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        self.write(|tx| {
            for key in keys {
                if self.store.count > 0 {
                    let object = tx.get(self.objects, key)?.ok_or_else(|| missing(key))?;
                    self.remove_entries(tx, &decode(&object)?);
                }
                tx.remove(self.objects, key.as_str());
            }
            Ok(())
        })
    }
}
