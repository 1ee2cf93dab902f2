//! The stores, behind one interface. Each is used as its own documentation recommends.

mod bytes;
mod diesel;
mod fjall;
mod heed;
mod json;
mod native_db;
mod ours;
mod redb;
mod sled;
mod sqlite_blobs;
mod sqlite_rows;

use std::ops::Range;
use std::path::Path;

use crate::Result;
use crate::record::{Change, Digest, Record, Shape};

pub use native_db::watched;
pub use ours::{Kept, Ranked};
pub use sqlite_rows::{connect, create_tables, fill};

/// A store in a folder, with all tables of a shape.
pub trait Store: Send + Sync {
    /// The session of a thread, on one of the tables.
    ///
    /// # Errors
    /// The errors of the store.
    fn session(&self, table: usize) -> Result<Box<dyn Session + '_>>;

    /// Makes the tables of a store that makes them with the first object; others have them.
    ///
    /// # Errors
    /// The errors of the store.
    fn prepare(&self) -> Result<()> {
        Ok(())
    }
}

/// The operations, of one thread. Every method that writes is one transaction, unless it says
/// otherwise.
pub trait Session {
    /// Inserts objects.
    ///
    /// # Errors
    /// The errors of the store; those of all other methods are the same.
    fn insert(&mut self, records: &[Record]) -> Result<()>;

    /// The objects whose priority is below a number, found without an index.
    fn scan(&mut self, below: i32) -> Result<Box<dyn Held>>;

    /// The objects whose rank is in a range, found by an index.
    fn by_rank(&mut self, ranks: Range<i32>) -> Result<Box<dyn Held>>;

    /// All objects.
    fn fetch_all(&mut self) -> Result<Box<dyn Held>>;

    /// Reads an object, and keeps nothing. An object that is absent counts as none.
    fn get(&mut self, key: &str) -> Result<Digest>;

    /// Changes every object, by the values that it has.
    fn update_all(&mut self, change: Change) -> Result<()>;

    /// Changes an object, by the values that it has. The change is committed on return.
    fn update_one(&mut self, key: &str, change: Change) -> Result<()>;

    /// Changes objects, in a transaction for each. All are committed on return.
    fn update_each(&mut self, keys: &[String], change: Change) -> Result<()> {
        keys.iter().try_for_each(|key| self.update_one(key, change))
    }

    /// Deletes objects.
    fn delete(&mut self, keys: &[String]) -> Result<()>;
}

/// Objects that a program has fetched, and can keep after the read has ended.
pub trait Held {
    /// The sum over them.
    fn digest(&self) -> Digest;
}

impl Held for Vec<Record> {
    fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// A store by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// How it is used.
    pub usage: &'static str,
    /// When its commits reach the disk.
    pub durability: &'static str,
    /// The crates whose versions belong to a figure.
    pub crates: &'static [&'static str],
    /// The licence of the crate, and of the C library in it.
    pub licence: &'static str,
    /// Opens it in a folder, where it may have been before.
    pub open: fn(&Path, Shape) -> Result<Box<dyn Store>>,
}

const NORMAL: &str = "synchronous=NORMAL: a sync at checkpoints. After a loss of power the newest \
                      commits can be missing; the file is whole.";

/// The stores.
pub const STORES: [Entry; 10] = [
    Entry {
        name: "Dflat",
        usage: "generated types; each index as a table",
        durability: NORMAL,
        crates: &["dflat", "libsqlite3-sys"],
        licence: "MIT or Apache-2.0",
        open: ours::open,
    },
    Entry {
        name: "rusqlite",
        usage: "rows and columns, cached statements",
        durability: NORMAL,
        crates: &["rusqlite", "libsqlite3-sys"],
        licence: "MIT",
        open: sqlite_rows::open,
    },
    Entry {
        name: "rusqlite, blobs",
        usage: "a column of FlatBuffers bytes, and a column for each indexed value",
        durability: NORMAL,
        crates: &["rusqlite", "libsqlite3-sys"],
        licence: "MIT",
        open: sqlite_blobs::open,
    },
    Entry {
        name: "diesel",
        usage: "rows and columns, typed queries",
        durability: NORMAL,
        crates: &["diesel", "libsqlite3-sys"],
        licence: "MIT or Apache-2.0",
        open: diesel::open,
    },
    Entry {
        name: "redb",
        usage: "postcard bytes; each index as a table",
        durability: "Durability::None: no commit is synced. After a loss of power the file is as \
                     after the last commit with Immediate.",
        crates: &["redb", "postcard"],
        licence: "MIT or Apache-2.0",
        open: redb::open,
    },
    Entry {
        name: "native_db",
        usage: "its derive macros",
        durability: "every commit is synced; it has no other setting",
        crates: &["native_db", "native_model"],
        licence: "MIT",
        open: native_db::open,
    },
    Entry {
        name: "heed (LMDB)",
        usage: "postcard bytes; each index as a table",
        durability: "NO_SYNC: nothing is synced. A loss of power can damage the file, which is \
                     less than the others promise.",
        crates: &["heed", "lmdb-master-sys", "postcard"],
        licence: "MIT; LMDB: OpenLDAP Public License",
        open: heed::open,
    },
    Entry {
        name: "fjall",
        usage: "postcard bytes; each index as a keyspace",
        durability: "its default: the journal is written, and not synced",
        crates: &["fjall", "postcard"],
        licence: "MIT or Apache-2.0",
        open: fjall::open,
    },
    Entry {
        name: "sled",
        usage: "postcard bytes; each index as a tree",
        durability: "its default: a sync every half a second, in the background",
        crates: &["sled", "postcard"],
        licence: "MIT or Apache-2.0",
        open: sled::open,
    },
    Entry {
        name: "JSON file",
        usage: "a map in memory; each change writes the whole file",
        durability: "not synced; the new file takes the place of the old one",
        crates: &["serde_json"],
        licence: "MIT or Apache-2.0",
        open: json::open,
    },
];

/// The error for an object that is not stored.
fn missing(key: &str) -> String {
    format!("{key} is not stored")
}
