//! redb: one read transaction for all reads, and values lent from its pages.

use std::path::Path;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition};

use super::{Entry, Sum, System};
use crate::Result;
use crate::data::{Data, sum};

pub(super) fn entries() -> [Entry; 1] {
    [Entry {
        name: "redb",
        folder: "redb",
        build,
        open,
        note: "one read transaction, a cache of 3 GiB",
    }]
}

const VALUES: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("values");
const CACHE_BYTES: usize = 3 << 30;
const BATCH: usize = 10_000;

fn database(folder: &Path) -> Result<Database> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    Ok(builder.create(folder.join("values.redb"))?)
}

fn build(folder: &Path, data: &Data) -> Result<()> {
    let database = database(folder)?;
    let last = data.keys.len().saturating_sub(1) / BATCH;
    for (number, keys) in data.keys.chunks(BATCH).enumerate() {
        let mut tx = database.begin_write()?;
        if number != last {
            tx.set_durability(Durability::None)?;
        }
        let mut values = tx.open_table(VALUES)?;
        for key in keys {
            values.insert(key, data.value(*key).as_slice())?;
        }
        drop(values);
        tx.commit()?;
    }
    Ok(())
}

struct Redb {
    values: ReadOnlyTable<u64, &'static [u8]>,
    _database: Database,
}

fn open(folder: &Path) -> Result<Box<dyn System>> {
    let database = database(folder)?;
    let values = database.begin_read()?.open_table(VALUES)?;
    Ok(Box::new(Redb {
        values,
        _database: database,
    }))
}

impl System for Redb {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let mut all = Sum::default();
        for key in keys {
            if let Some(value) = self.values.get(key)? {
                all.add(sum(value.value()));
            }
        }
        Ok(all)
    }

    fn scan(&mut self) -> Result<Sum> {
        let mut all = Sum::default();
        for entry in self.values.range::<u64>(..)? {
            all.add(sum(entry?.1.value()));
        }
        Ok(all)
    }
}
