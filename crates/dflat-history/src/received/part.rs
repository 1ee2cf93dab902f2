//! A part of the changes of a commit, as bytes.

use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Input, put_bytes};
use crate::node::KEY_BYTES_MAX;

/// A part ends with the change that makes it longer than this.
const PART_BYTES: usize = 256 << 10;

const VERSION: u8 = 1;
const TABLE: u8 = 1;
const DELETED: u8 = 2;
const PAYLOAD: u8 = 3;

/// Writes the bytes of a part. `docs/history-format.md` has them.
#[derive(Clone, Debug)]
pub struct PartWriter {
    bytes: Vec<u8>,
    table: Option<String>,
}

impl Default for PartWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl PartWriter {
    /// A part without changes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bytes: vec![VERSION, 0],
            table: None,
        }
    }

    /// Appends the change of an object: its payload, or none if it was deleted. Tables come in the
    /// order of their names, and the objects of a table in the order of their keys, also from one
    /// part to the next.
    pub fn push(&mut self, table: &str, key: &[u8], payload: Option<&[u8]>) {
        if self.table.as_deref() != Some(table) {
            self.table = Some(table.to_owned());
            self.bytes.push(TABLE);
            put_bytes(table.as_bytes(), &mut self.bytes);
        }
        self.bytes.push(match payload {
            Some(_) => PAYLOAD,
            None => DELETED,
        });
        put_bytes(key, &mut self.bytes);
        if let Some(payload) = payload {
            put_bytes(payload, &mut self.bytes);
        }
    }

    /// Whether the part takes no further change.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.bytes.len() > PART_BYTES
    }

    /// The bytes of the part, which says whether it is the last one of its commit.
    #[must_use]
    pub fn finish(mut self, is_last: bool) -> Vec<u8> {
        if let Some(flag) = self.bytes.get_mut(1) {
            *flag = is_last.into();
        }
        self.bytes.extend(xxh3_64(&self.bytes).to_le_bytes());
        self.bytes
    }
}

/// A part whose bytes were checked.
#[derive(Clone, Copy, Debug)]
pub struct Part<'p> {
    is_last: bool,
    changes: &'p [u8],
}

/// The object that a change is about: its table and its key.
type Place<'p> = (&'p str, &'p [u8]);

impl<'p> Part<'p> {
    /// The part of these bytes, whose changes stand behind a table and key, if there are any before
    /// it. `None` if the bytes are damaged, if the changes are not in order, or if the part is too
    /// long. No memory is allocated.
    #[must_use]
    pub fn read(bytes: &'p [u8], behind: Option<Place<'_>>) -> Option<Self> {
        let (body, checksum) = bytes.split_last_chunk()?;
        if xxh3_64(body) != u64::from_le_bytes(*checksum) {
            return None;
        }
        let mut input = Input(body);
        let (version, is_last) = (input.byte()?, input.byte()?);
        if version != VERSION || is_last > 1 {
            return None;
        }
        let part = Self {
            is_last: is_last == 1,
            changes: input.0,
        };
        let mut last: Option<Place<'_>> = behind;
        let mut changes = part.changes();
        while !changes.input.0.is_empty() {
            let is_too_long = body.len() - changes.input.0.len() > PART_BYTES;
            let (table, key, _) = changes.read()?;
            let is_behind = last.is_none_or(|last| last < (table, key));
            if is_too_long || !is_behind || key.len() > KEY_BYTES_MAX {
                return None;
            }
            last = Some((table, key));
        }
        Some(part)
    }

    /// Whether it is the last part of its commit.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.is_last
    }

    /// The changes in their order: table, key, and payload, or none if the object was deleted.
    pub fn changes(&self) -> Changes<'p> {
        Changes {
            input: Input(self.changes),
            table: "",
        }
    }
}

/// The changes of a [`Part`].
pub struct Changes<'p> {
    input: Input<'p>,
    table: &'p str,
}

/// A change: table, key, and payload, or none if the object was deleted.
pub type Change<'p> = (&'p str, &'p [u8], Option<&'p [u8]>);

impl<'p> Changes<'p> {
    fn read(&mut self) -> Option<Change<'p>> {
        let mut tag = self.input.byte()?;
        if tag == TABLE {
            self.table = str::from_utf8(self.input.bytes()?).ok()?;
            tag = self.input.byte()?;
        }
        if self.table.is_empty() {
            return None;
        }
        let key = self.input.bytes()?;
        match tag {
            DELETED => Some((self.table, key, None)),
            PAYLOAD => Some((self.table, key, Some(self.input.bytes()?))),
            _ => None,
        }
    }
}

impl<'p> Iterator for Changes<'p> {
    type Item = Change<'p>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read()
    }
}

impl std::fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Vec<u8> {
        let mut writer = PartWriter::new();
        writer.push("item", b"a", Some(b"payload"));
        writer.push("item", b"b", None);
        writer.push("other", b"a", Some(b""));
        writer.finish(true)
    }

    #[test]
    fn parts_are_read_as_they_were_written_and_damage_is_found() {
        let bytes = part();
        let part = Part::read(&bytes, None).unwrap();
        assert!(part.is_last());
        let changes: Vec<_> = part.changes().collect();
        assert_eq!(
            changes,
            [
                ("item", &b"a"[..], Some(&b"payload"[..])),
                ("item", b"b", None),
                ("other", b"a", Some(b"")),
            ]
        );
        for length in 0..bytes.len() {
            assert!(Part::read(&bytes[..length], None).is_none(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Part::read(&damaged, None).is_none(), "{at}");
        }
        let empty = PartWriter::new().finish(false);
        let empty = Part::read(&empty, None).unwrap();
        assert!(!empty.is_last() && empty.changes().next().is_none());
    }

    #[test]
    fn changes_out_of_order_are_refused() {
        let bytes = part();
        let read = |behind| Part::read(&bytes, behind).is_some();
        assert!(read(Some(("item", b"Z"))) && read(Some(("alpha", b"z"))));
        assert!(!read(Some(("item", b"a"))) && !read(Some(("other", b""))));
        let written = |changes: &[(&str, &[u8])]| {
            let mut writer = PartWriter::new();
            for (table, key) in changes {
                writer.push(table, key, None);
            }
            Part::read(&writer.finish(true), None).is_some()
        };
        assert!(written(&[("a", b"b"), ("b", b"a")]));
        assert!(!written(&[("a", b"b"), ("a", b"b")]));
        assert!(!written(&[("a", b"b"), ("a", b"a")]));
        assert!(!written(&[("b", b"a"), ("a", b"b")]));
        assert!(!written(&[("a", &[0; KEY_BYTES_MAX + 1])]));
        assert!(!written(&[("", b"a")]));
    }

    #[test]
    fn part_ends_with_the_change_that_makes_it_long() {
        let mut writer = PartWriter::new();
        let mut number = 0_u32;
        while !writer.is_full() {
            writer.push("a", &number.to_be_bytes(), Some(&[7; 1000]));
            number += 1;
        }
        assert!(Part::read(&writer.clone().finish(true), None).is_some());
        writer.push("a", &number.to_be_bytes(), None);
        assert!(Part::read(&writer.finish(true), None).is_none());
        let mut large = PartWriter::new();
        large.push("a", b"a", Some(&vec![7; 4 * PART_BYTES]));
        assert!(Part::read(&large.finish(true), None).is_some());
    }
}
