//! RocksDB: its defaults, tuned for look-ups, and tuned with a memory map.

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DataBlockIndexType, IteratorMode, Options,
    WriteBatch,
};

use super::{Entry, Sum, System};
use crate::Result;
use crate::data::{Data, sum};

pub(super) fn entries() -> [Entry; 3] {
    [
        Entry {
            name: "RocksDB",
            folder: "rocksdb",
            build: |folder, data| build(folder, data, &Options::default()),
            open: |folder| open(folder, &Options::default(), true),
            note: "its default options, compacted",
        },
        Entry {
            name: "RocksDB, tuned",
            folder: "rocksdb-tuned",
            build: |folder, data| build(folder, data, &tuned(false)),
            open: |folder| open(folder, &tuned(false), true),
            note: "a cache of 3 GiB, a bloom filter, hash indexes in blocks, no compression",
        },
        Entry {
            name: "RocksDB, mapped",
            folder: "rocksdb-tuned",
            build: |folder, data| build(folder, data, &tuned(false)),
            open: |folder| open(folder, &tuned(true), false),
            note: "the same files in memory maps, without checksums",
        },
    ]
}

const CACHE_BYTES: usize = 3 << 30;
const BATCH: usize = 10_000;

fn tuned(is_mapped: bool) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    blocks.set_bloom_filter(10.0, false);
    blocks.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    blocks.set_data_block_hash_ratio(0.75);
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::None);
    options.set_allow_mmap_reads(is_mapped);
    options
}

fn build(folder: &Path, data: &Data, options: &Options) -> Result<()> {
    let mut options = options.clone();
    options.create_if_missing(true);
    let db = DB::open(&options, folder)?;
    for keys in data.keys.chunks(BATCH) {
        let mut batch = WriteBatch::default();
        for key in keys {
            batch.put(key.to_be_bytes(), data.value(*key));
        }
        db.write(batch)?;
    }
    db.flush()?;
    db.compact_range::<&[u8], &[u8]>(None, None);
    Ok(())
}

struct Rocks {
    db: DB,
    read: rocksdb::ReadOptions,
}

fn open(folder: &Path, options: &Options, checks: bool) -> Result<Box<dyn System>> {
    let mut read = rocksdb::ReadOptions::default();
    read.set_verify_checksums(checks);
    let db = DB::open_for_read_only(options, folder, false)?;
    Ok(Box::new(Rocks { db, read }))
}

impl System for Rocks {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let mut all = Sum::default();
        for key in keys {
            if let Some(value) = self.db.get_pinned_opt(key.to_be_bytes(), &self.read)? {
                all.add(sum(&value));
            }
        }
        Ok(all)
    }

    fn scan(&mut self) -> Result<Sum> {
        let mut all = Sum::default();
        for entry in self.db.iterator(IteratorMode::Start) {
            all.add(sum(&entry?.1));
        }
        Ok(all)
    }
}
