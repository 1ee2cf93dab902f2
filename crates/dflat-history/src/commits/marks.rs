//! The marks of objects that were forgotten.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use super::refs::read;
use crate::bytes::put_bytes;

/// The name under which the key of the hashes stands.
const KEY: &[u8] = b"forgotten";
const MARK: &str = "forgotten/";

/// The marks of a file. A mark is a hash of the table and the key of an object, with a random key
/// that only this file has.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    key: [u8; blake3::KEY_LEN],
    /// The names of the marks.
    names: BTreeSet<Vec<u8>>,
}

impl Marks {
    /// The marks of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the key of the hashes is damaged; otherwise the errors of reading.
    pub(crate) fn read(snapshot: &mut dyn Snapshot) -> Result<Self> {
        let Some(key) = key(snapshot)? else {
            return Ok(Self::default());
        };
        let mut names = BTreeSet::new();
        snapshot.all_named(NamedTable::Refs, None, &mut |row| {
            if row.name.starts_with(MARK.as_bytes()) {
                names.insert(row.name.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        Ok(Self { key, names })
    }

    /// Whether an object was forgotten.
    pub(crate) fn has(&self, table: &str, encoded: &[u8]) -> bool {
        !self.names.is_empty()
            && self
                .names
                .contains(name(&self.key, table, encoded).as_bytes())
    }

    /// Marks an object as forgotten now.
    ///
    /// # Errors
    /// As [`read`](Self::read), and the errors of writing.
    pub(crate) fn put(
        writer: &mut dyn WriteTransaction,
        table: &str,
        encoded: &[u8],
    ) -> Result<()> {
        let key = match key(writer)? {
            Some(key) => key,
            None => {
                let key = random();
                writer.put_named(NamedTable::Refs, KEY, &key)?;
                key
            }
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = time.map_or(0, |time| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        });
        let name = name(&key, table, encoded);
        writer.put_named(NamedTable::Refs, name.as_bytes(), &time.to_le_bytes())
    }
}

/// The key of the hashes, if there is one.
fn key(snapshot: &mut dyn Snapshot) -> Result<Option<[u8; blake3::KEY_LEN]>> {
    let bytes = read(snapshot, KEY)?;
    let key = bytes.map(|bytes| {
        bytes.try_into().map_err(|_| {
            let message = "cannot read the marks of forgotten objects: their key is damaged";
            Error::new(ErrorKind::Corrupt, message)
        })
    });
    key.transpose()
}

/// The name of a mark. The hash is 64 hexadecimal digits.
fn name(key: &[u8; blake3::KEY_LEN], table: &str, encoded: &[u8]) -> String {
    let mut bytes = Vec::new();
    put_bytes(table.as_bytes(), &mut bytes);
    bytes.extend(encoded);
    let mut name = MARK.to_owned();
    for byte in blake3::keyed_hash(key, &bytes).as_bytes() {
        // A write into a text does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// A key from the random bits of the operating system.
fn random() -> [u8; blake3::KEY_LEN] {
    let mut bytes = Vec::new();
    for number in 0..blake3::KEY_LEN as u64 {
        bytes.extend(RandomState::new().hash_one(number).to_le_bytes());
    }
    *blake3::hash(&bytes).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_depends_on_the_key_of_the_hashes_the_table_and_the_object() {
        let key = random();
        assert_ne!(key, random());
        let marks = Marks {
            key,
            names: BTreeSet::from([name(&key, "item", b"a").into_bytes()]),
        };
        assert!(marks.has("item", b"a"));
        assert!(!marks.has("item", b"b") && !marks.has("other", b"a") && !marks.has("itema", b""));
        let other = Marks {
            key: random(),
            ..marks
        };
        assert!(!other.has("item", b"a"));
    }
}
