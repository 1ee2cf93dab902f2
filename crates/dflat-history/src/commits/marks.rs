//! The marks of objects that were forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use super::refs::read;
use crate::bytes::put_bytes;
use crate::chunk::Address;

/// The name under which the key of the hashes stands.
const KEY: &[u8] = b"forgotten";
const MARK: &str = "forgotten/";

/// The bytes of the time of a mark.
const TIME_BYTES: usize = 8;

/// The key of hashes.
pub(crate) type MarkKey = [u8; blake3::KEY_LEN];

/// A mark: a hash of the table and the key of an object.
pub(crate) type Mark = [u8; blake3::OUT_LEN];

/// The marks of a file, by the keys of their hashes: a random one of this file, and those of files
/// from which marks were received.
#[derive(Debug, Default)]
pub(crate) struct Marks(BTreeMap<MarkKey, BTreeSet<Mark>>);

impl Marks {
    /// The marks of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if a mark or the key of the hashes is damaged; otherwise the errors
    /// of reading.
    pub(crate) fn read(snapshot: &mut dyn Snapshot) -> Result<Self> {
        let own = key(snapshot)?;
        let (mut marks, mut is_damaged) = (Self::default(), false);
        snapshot.all_named(NamedTable::Refs, None, &mut |row| {
            if let Some(digits) = row.name.strip_prefix(MARK.as_bytes()) {
                let mark = str::from_utf8(digits).ok().and_then(of_digits);
                let key = match row.bytes.split_at_checked(TIME_BYTES) {
                    Some((_, [])) => own,
                    Some((_, key)) => key.try_into().ok(),
                    None => None,
                };
                match key.zip(mark) {
                    Some((key, mark)) => drop(marks.0.entry(key).or_default().insert(mark)),
                    None => is_damaged = true,
                }
            }
            ControlFlow::Continue(())
        })?;
        match is_damaged {
            true => Err(damaged()),
            false => Ok(marks),
        }
    }

    /// Whether an object was forgotten.
    pub(crate) fn has(&self, table: &str, encoded: &[u8]) -> bool {
        let mut keys = self.0.iter();
        keys.any(|(key, marks)| marks.contains(&mark(key, table, encoded)))
    }

    /// The marks by the keys of their hashes.
    pub(crate) fn by_key(&self) -> impl Iterator<Item = (&MarkKey, &BTreeSet<Mark>)> {
        self.0.iter()
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
        let name = name(&mark(&key, table, encoded));
        writer.put_named(NamedTable::Refs, name.as_bytes(), &now())
    }

    /// Stores marks of another file that this one lacks.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub(crate) fn take(
        writer: &mut dyn WriteTransaction,
        key: &MarkKey,
        marks: &[Mark],
    ) -> Result<()> {
        let known = Self::read(writer)?;
        let known = known.0.get(key);
        let is_new = |mark: &&Mark| known.is_none_or(|known| !known.contains(*mark));
        let row = [&now()[..], key].concat();
        for mark in marks.iter().filter(is_new) {
            writer.put_named(NamedTable::Refs, name(mark).as_bytes(), &row)?;
        }
        Ok(())
    }
}

/// The key of the hashes of this file, if there is one.
fn key(snapshot: &mut dyn Snapshot) -> Result<Option<MarkKey>> {
    let bytes = read(snapshot, KEY)?;
    let key = bytes.map(|bytes| bytes.try_into().map_err(|_| damaged()));
    key.transpose()
}

fn damaged() -> Error {
    let message = "cannot read the marks of forgotten objects: their bytes are damaged";
    Error::new(ErrorKind::Corrupt, message)
}

fn mark(key: &MarkKey, table: &str, encoded: &[u8]) -> Mark {
    let mut bytes = Vec::new();
    put_bytes(table.as_bytes(), &mut bytes);
    bytes.extend(encoded);
    *blake3::keyed_hash(key, &bytes).as_bytes()
}

/// The name of a mark: 64 hexadecimal digits.
fn name(mark: &Mark) -> String {
    format!("{MARK}{}", Address::from_bytes(*mark))
}

fn of_digits(digits: &str) -> Option<Mark> {
    blake3::Hash::from_hex(digits)
        .ok()
        .map(|hash| *hash.as_bytes())
}

fn now() -> [u8; TIME_BYTES] {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    });
    time.to_le_bytes()
}

/// A key from the random bits of the operating system.
fn random() -> MarkKey {
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
        let of_object = mark(&key, "item", b"a");
        assert_eq!(of_digits(&name(&of_object)[MARK.len()..]), Some(of_object));
        let marks = |key| Marks(BTreeMap::from([(key, BTreeSet::from([of_object]))]));
        let (one, other) = (marks(key), marks(random()));
        assert!(one.has("item", b"a") && !other.has("item", b"a"));
        assert!(!one.has("item", b"b") && !one.has("other", b"a") && !one.has("itema", b""));
    }
}
