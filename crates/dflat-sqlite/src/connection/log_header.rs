//! Reads the header of a write-ahead log without SQLite.
//!
//! Source: "The WAL File Format" of SQLite's documentation.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The size of the header.
const HEADER: usize = 32;
/// The number of bytes that the checksum covers.
const COVERED: usize = 24;

/// Whether a log has a valid header and something behind it: SQLite reads no other log.
pub(crate) fn is_begun(log: &Path) -> bool {
    // One byte more: without it there is no frame, and SQLite does not read the header either.
    head::<{ HEADER + 1 }>(log).is_some_and(|head| is_header(&head))
}

/// The first bytes of a file, if it is long enough.
pub(crate) fn head<const N: usize>(path: &Path) -> Option<[u8; N]> {
    let mut head = [0; N];
    fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
    Some(head)
}

fn is_header(head: &[u8]) -> bool {
    const MAGIC: u32 = 0x377f_0682;
    let (words, _) = head.as_chunks::<4>();
    let big = |position: usize| words.get(position).copied().map(u32::from_be_bytes);
    let Some(magic) = big(0).filter(|magic| magic & !1 == MAGIC) else {
        return false;
    };
    // The magic number's last bit says in which order the words are summed up.
    let word = if magic & 1 == 1 {
        u32::from_be_bytes
    } else {
        u32::from_le_bytes
    };
    let (pairs, _) = words[..COVERED / 4].as_chunks::<2>();
    let (first, second) = pairs
        .iter()
        .fold((0_u32, 0_u32), |(first, second), [a, b]| {
            let first = first.wrapping_add(word(*a)).wrapping_add(second);
            let second = second.wrapping_add(word(*b)).wrapping_add(first);
            (first, second)
        });
    (big(6), big(7)) == (Some(first), Some(second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::{Access, Connection};

    #[test]
    fn log_is_begun_once_it_has_a_header_and_a_frame() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        fs::write(&path, []).unwrap();
        let mut connection = Connection::open(&path, Access::ReadWrite, None, None).unwrap();
        for sql in ["PRAGMA journal_mode = WAL", "CREATE TABLE t (a)"] {
            connection.execute(sql).unwrap();
        }
        let log = directory.path().join("a.db-wal");
        assert!(is_begun(&log));
        let bytes = fs::read(&log).unwrap();
        let begun = |bytes: &[u8]| {
            let path = directory.path().join("log");
            fs::write(&path, bytes).unwrap();
            is_begun(&path)
        };
        assert!(begun(&bytes[..HEADER + 1]));
        assert!(!begun(&bytes[..HEADER]));
        assert!(!begun(&[]));
        for position in 0..HEADER {
            let mut damaged = bytes[..HEADER + 1].to_vec();
            damaged[position] ^= 0x40;
            assert!(!begun(&damaged), "{position}");
        }
        assert!(!is_begun(&directory.path().join("nothing")));
    }
}
