//! The marks of objects that were forgotten.

use std::collections::BTreeMap;
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

/// The key of hashes.
pub(crate) type MarkKey = [u8; blake3::KEY_LEN];

/// A mark: a hash of the table and the key of an object.
pub(crate) type Mark = [u8; blake3::OUT_LEN];

/// The time of a mark, in milliseconds since 1970.
type Time = u64;

/// Marks with their times, by the keys of their hashes: a random one of the file, and those of
/// files from which marks were received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(BTreeMap<MarkKey, BTreeMap<Mark, Time>>);

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
                let split = row.bytes.split_first_chunk();
                let time = split.map(|(time, _)| u64::from_le_bytes(*time));
                let key = match split {
                    Some((_, [])) => own,
                    Some((_, key)) => key.try_into().ok(),
                    None => None,
                };
                match (key, mark, time) {
                    (Some(key), Some(mark), Some(time)) => marks.add(key, mark, time),
                    _ => is_damaged = true,
                }
            }
            ControlFlow::Continue(())
        })?;
        match is_damaged {
            true => Err(damaged()),
            false => Ok(marks),
        }
    }

    /// Adds a mark.
    pub(crate) fn add(&mut self, key: MarkKey, mark: Mark, time: Time) {
        self.0.entry(key).or_default().insert(mark, time);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object was forgotten.
    pub(crate) fn has(&self, table: &str, encoded: &[u8]) -> bool {
        self.is_any(table, encoded, |_, _, _| true)
    }

    /// Whether an object has a mark, and none among these earlier ones.
    pub(crate) fn has_since(&self, earlier: &Self, table: &str, encoded: &[u8]) -> bool {
        self.is_any(table, encoded, |key, mark, time| {
            earlier.time(key, mark) != Some(time)
        })
    }

    /// Whether one of the marks is that of an object.
    fn is_any(
        &self,
        table: &str,
        encoded: &[u8],
        is_meant: impl Fn(&MarkKey, &Mark, Time) -> bool,
    ) -> bool {
        self.0.iter().any(|(key, marks)| {
            let mark = mark(key, table, encoded);
            let time = marks.get(&mark);
            time.is_some_and(|time| is_meant(key, &mark, *time))
        })
    }

    fn time(&self, key: &MarkKey, mark: &Mark) -> Option<Time> {
        self.0.get(key)?.get(mark).copied()
    }

    /// These marks without those that others have, too.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let mut left = Self::default();
        for (key, marks) in &self.0 {
            let of_others = others.0.get(key);
            for (mark, time) in marks {
                if of_others.is_none_or(|of_others| !of_others.contains_key(mark)) {
                    left.add(*key, *mark, *time);
                }
            }
        }
        left
    }

    /// The marks by the keys of their hashes.
    pub(crate) fn by_key(&self) -> impl Iterator<Item = (&MarkKey, impl Iterator<Item = &Mark>)> {
        self.0.iter().map(|(key, marks)| (key, marks.keys()))
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
        let before = read(writer, name.as_bytes())?;
        let time = time_after(before.as_deref(), now());
        writer.put_named(NamedTable::Refs, name.as_bytes(), &time.to_le_bytes())
    }

    /// Stores these marks of another file, which this one lacks, with the time of now.
    ///
    /// # Errors
    /// The errors of writing.
    pub(crate) fn take(&self, writer: &mut dyn WriteTransaction) -> Result<()> {
        for (key, marks) in &self.0 {
            let row = [&now().to_le_bytes()[..], key].concat();
            for mark in marks.keys() {
                writer.put_named(NamedTable::Refs, name(mark).as_bytes(), &row)?;
            }
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

/// The time of a mark that takes the place of another one: later than the time of that one, also
/// within a millisecond, so that the object counts as forgotten again.
fn time_after(before: Option<&[u8]>, now: Time) -> Time {
    let before = before.and_then(<[u8]>::first_chunk);
    let next = before.map_or(0, |time| Time::from_le_bytes(*time).saturating_add(1));
    now.max(next)
}

fn now() -> Time {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0, |time| {
        Time::try_from(time.as_millis()).unwrap_or(Time::MAX)
    })
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
    fn mark_that_takes_the_place_of_another_one_is_later() {
        let time = |before: Time, now| time_after(Some(&before.to_le_bytes()), now);
        assert_eq!(time_after(None, 7), 7);
        assert_eq!((time(6, 7), time(7, 7), time(9, 7)), (7, 8, 10));
        assert_eq!(time(Time::MAX, 7), Time::MAX);
        // A mark of another file has the key of its hashes behind the time.
        assert_eq!(time_after(Some(&[7, 0, 0, 0, 0, 0, 0, 0, 1]), 7), 8);
        // A damaged one has no time.
        assert_eq!(time_after(Some(&[9]), 7), 7);
    }

    #[test]
    fn mark_depends_on_the_key_of_the_hashes_the_table_and_the_object() {
        let key = random();
        assert_ne!(key, random());
        let of_object = mark(&key, "item", b"a");
        assert_eq!(of_digits(&name(&of_object)[MARK.len()..]), Some(of_object));
        let marks = |key, time| Marks(BTreeMap::from([(key, BTreeMap::from([(of_object, time)]))]));
        let (one, other, later) = (marks(key, 1), marks(random(), 1), marks(key, 2));
        assert!(one.has("item", b"a") && !other.has("item", b"a"));
        assert!(!one.has_since(&one, "item", b"a") && later.has_since(&one, "item", b"a"));
        assert!(one.has_since(&other, "item", b"a") && !other.has_since(&one, "item", b"a"));
        assert!(one.without(&later).is_empty() && one.without(&other) == one);
        assert!(!one.has("item", b"b") && !one.has("other", b"a") && !one.has("itema", b""));
    }
}
