//! LMDB through heed.
//!
//! As its documentation says: one environment for the program, a named database for each kind of
//! object, `DUP_SORT` for an index whose values repeat, and a read transaction for each read that
//! stands alone. A value is borrowed from the memory map where nothing is kept.

#![allow(
    unsafe_code,
    reason = "heed marks the opening of an environment as unsafe"
)]

use std::ops::Range;
use std::path::Path;

use heed::byteorder::BigEndian;
use heed::types::{Bytes, I32, I64, Str};
use heed::{
    CommitOrAbort, Database, DatabaseFlags, Env, EnvFlags, EnvOpenOptions, PutFlags, RwTxn,
};

use super::bytes::{decode, digest, encode};
use super::{Held, Session, Store, missing};
use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

/// The address space of the map; the file grows as needed.
const MAP_BYTES: usize = 16 << 30;

pub(super) fn open(folder: &Path, shape: Shape) -> Result<Box<dyn Store>> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_dbs(8);
    // SAFETY: No other process has the environment open, and this one opens it once at a time.
    // Without syncs a loss of power can damage the file, as the page of results says.
    let env = unsafe { options.flags(EnvFlags::NO_SYNC).open(folder)? };
    Ok(Box::new(Heed {
        env,
        indexes: shape.indexes(),
    }))
}

struct Heed {
    env: Env,
    indexes: usize,
}

type Objects<'e> = Database<'e, Str, Bytes>;
type Ranks<'e> = Database<'e, I32<BigEndian>, Str>;
type Tags<'e> = Database<'e, Str, Str>;
type Codes<'e> = Database<'e, I64<BigEndian>, Str>;

struct Opened<'e> {
    store: &'e Heed,
    objects: Objects<'e>,
    indexes: (Ranks<'e>, Tags<'e>, Codes<'e>),
}

impl Store for Heed {
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>> {
        let name = format!("record{table}");
        let opened =
            self.env
                .create_databases_and_commit(self.env.write_txn()?, |opener, tx| {
                    let objects = opener.create_database(tx, Some(&name))?;
                    let mut ranks = opener.database_options().types();
                    ranks.name("ranks").flags(DatabaseFlags::DUP_SORT);
                    let mut tags = opener.database_options().types();
                    tags.name("tags").flags(DatabaseFlags::DUP_SORT);
                    let codes = opener.create_database(tx, Some("codes"))?;
                    let all = (objects, ranks.create(tx)?, tags.create(tx)?, codes);
                    Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(all))
                })?;
        let (objects, ranks, tags, codes) = opened.unwrap_commit();
        Ok(Box::new(Opened {
            store: self,
            objects,
            indexes: (ranks, tags, codes),
        }))
    }
}

impl Opened<'_> {
    fn write(&self, work: impl FnOnce(&mut RwTxn<'_>) -> Result<()>) -> Result<()> {
        let mut tx = self.store.env.write_txn()?;
        work(&mut tx)?;
        Ok(tx.commit()?)
    }

    /// Writes the new state of an object, with its old one if there is one.
    fn put(&self, tx: &mut RwTxn<'_>, old: Option<&Record>, new: &Record) -> Result<()> {
        self.objects.put(tx, &new.title, &encode(new)?)?;
        let (ranks, tags, codes) = &self.indexes;
        if self.store.indexes > 0 {
            if let Some(old) = old.filter(|old| old.rank != new.rank) {
                ranks.delete_one_duplicate(tx, &old.rank, &old.title)?;
            }
            ranks.put(tx, &new.rank, &new.title)?;
        }
        if self.store.indexes > 1 {
            if let Some(old) = old {
                tags.delete_one_duplicate(tx, &old.tag, &old.title)?;
                codes.delete(tx, &old.code)?;
            }
            tags.put(tx, &new.tag, &new.title)?;
            codes.put_with_flags(tx, PutFlags::NO_OVERWRITE, &new.code, &new.title)?;
        }
        Ok(())
    }

    fn change(&self, tx: &mut RwTxn<'_>, old: &Record, change: Change) -> Result<()> {
        let mut new = old.clone();
        change.apply(&mut new);
        self.put(tx, Some(old), &new)
    }

    fn held(&self, is_wanted: impl Fn(&Record) -> bool) -> Result<Box<dyn Held>> {
        let tx = self.store.env.read_txn()?;
        let mut found = Vec::new();
        for item in self.objects.iter(&tx)? {
            let record = decode(item?.1)?;
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
        let tx = self.store.env.read_txn()?;
        let mut found = Vec::new();
        for entry in self.indexes.0.range(&tx, &ranks)? {
            let key = entry?.1;
            let object = self.objects.get(&tx, key)?.ok_or_else(|| missing(key))?;
            found.push(decode(object)?);
        }
        Ok(Box::new(found))
    }

    fn fetch_all(&mut self) -> Result<Box<dyn Held>> {
        self.held(|_| true)
    }

    fn get(&mut self, key: &str) -> Result<Digest> {
        let tx = self.store.env.read_txn()?;
        let object = self.objects.get(&tx, key)?;
        object.map_or_else(|| Ok(Digest::default()), digest)
    }

    fn update_all(&mut self, change: Change) -> Result<()> {
        self.write(|tx| {
            let all = self.objects.iter(tx)?.map(|item| decode(item?.1));
            let all = all.collect::<Result<Vec<_>>>()?;
            all.iter().try_for_each(|old| self.change(tx, old, change))
        })
    }

    fn update_one(&mut self, key: &str, change: Change) -> Result<()> {
        self.write(|tx| {
            let old = decode(self.objects.get(tx, key)?.ok_or_else(|| missing(key))?)?;
            self.change(tx, &old, change)
        })
    }

    fn delete(&mut self, keys: &[String]) -> Result<()> {
        self.write(|tx| {
            for key in keys {
                let object = self.objects.get(tx, key)?.ok_or_else(|| missing(key))?;
                let old = (self.store.indexes > 0)
                    .then(|| decode(object))
                    .transpose()?;
                self.objects.delete(tx, key)?;
                let Some(old) = old else { continue };
                self.indexes.0.delete_one_duplicate(tx, &old.rank, key)?;
                if self.store.indexes > 1 {
                    self.indexes.1.delete_one_duplicate(tx, &old.tag, key)?;
                    self.indexes.2.delete(tx, &old.code)?;
                }
            }
            Ok(())
        })
    }
}
