//! Merges sorted runs of records.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use dflat_engine::Result;

use super::records::Records;
use super::scratch::Scratch;
use crate::file::read_exact_at;

/// The bytes of a run that are read at once.
const READ_BYTES: u64 = 32 * 1024;

/// Gives the records of several runs in the order of their keys, and records with equal keys in the
/// order of the runs.
pub(super) struct Merge {
    scratch: Scratch,
    /// The runs in the file; the records in memory come after them.
    runs: Vec<RunReader>,
    records: Records,
    /// The next of the records in memory.
    at: usize,
    heads: BinaryHeap<Head>,
    current: Option<Head>,
}

/// The first record of a run that was not given yet.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    key: Vec<u8>,
    value: Vec<u8>,
    run: usize,
}

impl Ord for Head {
    /// The heap gives its largest member: that with the smallest key.
    fn cmp(&self, other: &Self) -> Ordering {
        let reversed = other.key.cmp(&self.key);
        reversed.then(other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Merge {
    pub(super) fn new(
        scratch: Scratch,
        records: Records,
        file: Option<&Arc<File>>,
        runs: &[Range<u64>],
    ) -> Result<Self> {
        let reader = |file: &Arc<File>, range: &Range<u64>| RunReader {
            file: Arc::clone(file),
            rest: range.clone(),
            buffer: Vec::new(),
            at: 0,
        };
        let runs = file
            .into_iter()
            .flat_map(|file| runs.iter().map(|run| reader(file, run)));
        let mut merge = Self {
            scratch,
            runs: runs.collect(),
            records,
            at: 0,
            heads: BinaryHeap::new(),
            current: None,
        };
        for run in 0..=merge.runs.len() {
            merge.advance(Head {
                run,
                ..Head::default()
            })?;
        }
        Ok(merge)
    }

    /// The next record.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if let Some(head) = self.current.take() {
            self.advance(head)?;
        }
        self.current = self.heads.pop();
        let current = self.current.as_ref();
        Ok(current.map(|head| (head.key.as_slice(), head.value.as_slice())))
    }

    /// Replaces a head by the next record of its run.
    fn advance(&mut self, mut head: Head) -> Result<()> {
        head.key.clear();
        head.value.clear();
        let is_more = match self.runs.get_mut(head.run) {
            Some(run) => self.scratch.named(run.next(&mut head))?,
            None => match self.records.get(self.at) {
                Some((key, value)) => {
                    head.key.extend_from_slice(key);
                    head.value.extend_from_slice(value);
                    self.at += 1;
                    true
                }
                None => false,
            },
        };
        if is_more {
            self.heads.push(head);
        }
        Ok(())
    }
}

/// Reads a run of the temporary file.
struct RunReader {
    file: Arc<File>,
    /// The bytes that are not in the buffer yet.
    rest: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
}

impl RunReader {
    /// Reads the next record into `head`. Returns whether there was one.
    fn next(&mut self, head: &mut Head) -> io::Result<bool> {
        if self.at == self.buffer.len() && self.rest.is_empty() {
            return Ok(false);
        }
        let mut lengths = [0; 8];
        lengths.copy_from_slice(self.bytes(8)?);
        let lengths = u64::from_le_bytes(lengths);
        let (key, value) = (lengths as u32 as usize, (lengths >> 32) as usize);
        let record = self.bytes(key + value)?;
        let (key, value) = record.split_at_checked(key).unwrap_or_default();
        head.key.extend_from_slice(key);
        head.value.extend_from_slice(value);
        Ok(true)
    }

    fn bytes(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.at < len {
            self.buffer.drain(..self.at);
            self.at = 0;
            let missing = (len - self.buffer.len()) as u64;
            let more = missing.max(READ_BYTES).min(self.rest.end - self.rest.start);
            let filled = self.buffer.len();
            self.buffer.resize(filled + more as usize, 0);
            let place = self.buffer.get_mut(filled..).unwrap_or_default();
            read_exact_at(&self.file, self.rest.start, place)?;
            self.rest.start += more;
        }
        let start = self.at;
        self.at += len;
        self.buffer
            .get(start..self.at)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}
