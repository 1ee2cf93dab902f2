//! Objects as bytes, for stores that know nothing else. `postcard` is compact and fast, and lets a
//! read borrow the strings of an object from the store.

use crate::Result;
use crate::record::{Digest, Record, View};

/// The bytes of an object.
pub(super) fn encode(record: &Record) -> Result<Vec<u8>> {
    Ok(postcard::to_stdvec(record)?)
}

/// The object, owned.
pub(super) fn decode(bytes: &[u8]) -> Result<Record> {
    Ok(postcard::from_bytes(bytes)?)
}

/// The sum over one object, which is not copied.
pub(super) fn digest(bytes: &[u8]) -> Result<Digest> {
    let mut digest = Digest::default();
    digest.add_view(&postcard::from_bytes::<View<'_>>(bytes)?);
    Ok(digest)
}

/// A rank as bytes that are in the same order. No rank is negative.
pub(super) fn rank_bytes(rank: i32) -> [u8; 4] {
    rank.to_be_bytes()
}

/// A value and the key of its object: the key of an index that holds several objects of a value.
pub(super) fn entry(value: &[u8], key: &str) -> Vec<u8> {
    // No value contains this byte but numbers, which all have the same length.
    [value, &[0], key.as_bytes()].concat()
}

/// The key of the object in an entry whose value has so many bytes.
pub(super) fn key_of(entry: &[u8], value: usize) -> Result<&str> {
    let key = entry.get(value + 1..).ok_or("an entry is too short")?;
    Ok(std::str::from_utf8(key)?)
}
