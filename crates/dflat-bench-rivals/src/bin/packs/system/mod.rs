//! The systems that take part.

mod bifurcan;
mod lmdb;
mod pack;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocks;
mod sqlite;

use std::path::Path;

use crate::Result;
use crate::data::Data;
pub(crate) use pack::{Files, opened, over};

/// A store with all objects, open for reading.
pub(crate) trait System {
    /// The sum over the values of some keys.
    fn get(&mut self, keys: &[u64]) -> Result<Sum>;

    /// The same, if the system looks several keys up at once.
    fn get_many(&mut self, _keys: &[u64]) -> Result<Option<Sum>> {
        Ok(None)
    }

    /// The sum over all values, in the order of the keys.
    fn scan(&mut self) -> Result<Sum>;
}

/// The number of values that were found, and the sum of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) found: u64,
    pub(crate) bytes: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, sum: u64) {
        self.found += 1;
        self.bytes = self.bytes.wrapping_add(sum);
    }
}

/// Builds a store of all objects in a folder.
pub(crate) type Build = fn(&Path, &Data) -> Result<()>;

/// Opens a store in the folder where it was built.
pub(crate) type Open = fn(&Path) -> Result<Box<dyn System>>;

/// A system by name.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The folder of its files. Several systems may read the same files.
    pub(crate) folder: &'static str,
    pub(crate) build: Build,
    pub(crate) open: Open,
    /// How it is used.
    pub(crate) note: &'static str,
}

/// All systems.
pub(crate) fn all() -> Vec<Entry> {
    let mut all = pack::entries();
    all.extend(lmdb::entries());
    all.extend(redb::entries());
    all.extend(sqlite::entries());
    #[cfg(feature = "rocksdb")]
    all.extend(rocks::entries());
    all.extend(bifurcan::entries());
    all
}
