//! sled.
//!
//! As its documentation says: a tree for each kind of object and for each index, a batch for many
//! writes to one tree, and a transaction over the trees where they must agree.

use std::ops::Range;
use std::path::Path;

use sled::transaction::{
    ConflictableTransactionError, ConflictableTransactionResult, TransactionError,
    TransactionalTree,
};
use sled::{Batch, Db, Transactional, Tree};

use super::bytes::{decode, digest, encode, entry, key_of, rank_bytes};
use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let database = sled::open(folder.join("sled"))?;
    let objects = (0..shape.tables()).map(|table| database.open_tree(format!("record{table}")));
    Ok(Box::new(Sled {
        objects: objects.collect::<Result<Vec<_>, _>>()?,
        indexes: [
            database.open_tree("ranks")?,
            database.open_tree("tags")?,
            database.open_tree("codes")?,
        ],
        count: shape.indexes(),
        _database: database,
    }))
}

struct Sled {
    objects: Vec<Tree>,
    indexes: [Tree; 3],
    /// The number of indexes that the objects have.
    count: usize,
    _database: Db,
}

struct Opened<'s> {
    store: &'s Sled,
    objects: &'s Tree,
}

impl Store for Sled {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let objects = self.objects.get(table).ok_or("there is no such table")?;
        Ok(Box::new(Opened {
            store: self,
            objects,
        }))
    }
}

/// The changes of the trees: of the objects, and of the three indexes.
#[derive(Default)]
struct Batches {
    objects: Batch,
    indexes: [Batch; 3],
}

impl Batches {
    /// The new state of an object, with its old one if there is one.
    fn put(&mut self, count: usize, old: Option<&Record>, new: &Record) -> Result<()> {
        self.objects.insert(new.title.as_str(), encode(new)?);
        if let Some(old) = old {
            self.remove_entries(count, old);
        }
        let [ranks, tags, codes] = &mut self.indexes;
        if count > 0 {
            ranks.insert(entry(&rank_bytes(new.rank), &new.title), "");
        }
        if count > 1 {
            tags.insert(entry(new.tag.as_bytes(), &new.title), "");
            codes.insert(&new.code.to_be_bytes(), new.title.as_str());
        }
        Ok(())
    }

    fn remove_entries(&mut self, count: usize, old: &Record) {
        let [ranks, tags, codes] = &mut self.indexes;
        if count > 0 {
            ranks.remove(entry(&rank_bytes(old.rank), &old.title));
        }
        if count > 1 {
            tags.remove(entry(old.tag.as_bytes(), &old.title));
            codes.remove(&old.code.to_be_bytes());
        }
    }
}

fn abort(error: Box<dyn std::error::Error + Send + Sync>) -> ConflictableTransactionError<String> {
    ConflictableTransactionError::Abort(error.to_string())
}

/// Fails if another object has the code of one of these.
fn check_codes(
    codes: &TransactionalTree,
    new: &[Record],
) -> ConflictableTransactionResult<(), String> {
    for record in new {
        let holder = codes.get(record.code.to_be_bytes())?;
        if holder.is_some_and(|holder| holder != record.title.as_bytes()) {
            let error = format!("two objects have the code {}", record.code);
            return Err(ConflictableTransactionError::Abort(error));
        }
    }
    Ok(())
}

impl Opened<'_> {
    /// Applies batches to all trees at once. `new` are the objects whose codes must be unique.
    fn apply(&self, batches: &Batches, new: &[Record]) -> Result<()> {
        if self.store.count == 0 {
            return Ok(self.objects.apply_batch(batches.objects.clone())?);
        }
        let [ranks, tags, codes] = &self.store.indexes;
        (self.objects, ranks, tags, codes)
            .transaction(|(objects, ranks, tags, codes)| {
                if self.store.count > 1 {
                    check_codes(codes, new)?;
                }
                objects.apply_batch(&batches.objects)?;
                ranks.apply_batch(&batches.indexes[0])?;
                tags.apply_batch(&batches.indexes[1])?;
                codes.apply_batch(&batches.indexes[2])?;
                Ok(())
            })
            .map_err(|error: TransactionError<String>| error.to_string().into())
    }

    fn held(&self, is_wanted: impl Fn(&Record) -> bool) -> Result<Vec<Record>> {
        let mut found = Vec::new();
        for item in self.objects {
            let record = decode(&item?.1)?;
            if is_wanted(&record) {
                found.push(record);
            }
        }
        Ok(found)
    }
}

impl Session for Opened<'_> {
    fn insert(&mut self, records: &[Record]) -> Result<()> {
        let mut batches = Batches::default();
        let count = self.store.count;
        records
            .iter()
            .try_for_each(|record| batches.put(count, None, record))?;
        self.apply(&batches, records)
    }

    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.held(|record| record.priority < below)?))
    }

    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>> {
        let bounds = rank_bytes(ranks.start)..rank_bytes(ranks.end);
        let mut found = Vec::new();
        for item in self.store.indexes[0].range(bounds) {
            let entry = item?.0;
            let key = key_of(&entry, 4)?;
            let object = self.objects.get(key)?.ok_or_else(|| missing(key))?;
            found.push(decode(&object)?);
        }
        Ok(Box::new(found))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.held(|_| true)?))
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        let object = self.objects.get(key)?;
        object.map_or_else(|| Ok(Digest::default()), |object| digest(&object))
    }

    /// Nobody else writes meanwhile: sled cannot iterate inside a transaction.
    fn update_all(&mut self, change: Change) -> Result<()> {
        let mut batches = Batches::default();
        let mut new = Vec::new();
        for old in self.held(|_| true)? {
            let mut changed = old.clone();
            change.apply(&mut changed);
            batches.put(self.store.count, Some(&old), &changed)?;
            new.push(changed);
        }
        self.apply(&batches, &new)
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        self.objects
            .transaction(|objects| {
                let object = objects.get(key)?;
                let object = object.ok_or_else(|| abort(missing(key).into()))?;
                let mut record = decode(&object).map_err(abort)?;
                change.apply(&mut record);
                objects.insert(key, encode(&record).map_err(abort)?)?;
                Ok(())
            })
            .map_err(|error: TransactionError<String>| error.to_string().into())
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        let mut batches = Batches::default();
        for key in keys {
            if self.store.count > 0 {
                let object = self.objects.get(key)?.ok_or_else(|| missing(key))?;
                batches.remove_entries(self.store.count, &decode(&object)?);
            }
            batches.objects.remove(key.as_str());
        }
        self.apply(&batches, &[])
    }
}
