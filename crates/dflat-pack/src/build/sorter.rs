//! Sorts records that may be larger than memory: sorted runs in a temporary file, then a merge.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use dflat_engine::Result;

use super::merge::Merge;
use super::records::Records;
use super::scratch::Scratch;

/// The number of runs that are merged at once.
const RUNS_MAX: usize = 256;

/// Takes records in any order, and gives them back by their keys.
#[derive(Debug)]
pub(super) struct Sorter {
    scratch: Scratch,
    /// The bytes that it keeps in memory.
    limit: usize,
    records: Records,
    file: Option<Arc<File>>,
    /// The bytes of each run in the file.
    runs: Vec<Range<u64>>,
}

impl Sorter {
    pub(super) fn new(scratch: Scratch, limit: usize) -> Self {
        Self {
            scratch,
            limit,
            records: Records::default(),
            file: None,
            runs: Vec::new(),
        }
    }

    /// Adds a record. Its key and its value have less than 4 GiB each.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.records.is_empty() && self.records.size_with(key, value) > self.limit {
            self.spill()?;
        }
        self.records.push(key, value);
        Ok(())
    }

    /// The records in the order of their keys; those with equal keys in the order of their arrival,
    /// unless so many were added that runs were merged in between.
    pub(super) fn finish(mut self) -> Result<Merge> {
        self.records.sort();
        Merge::new(self.scratch, self.records, self.file.as_ref(), &self.runs)
    }

    /// Writes the records in memory as a run.
    fn spill(&mut self) -> Result<()> {
        self.records.sort();
        let records = std::mem::take(&mut self.records);
        if self.runs.len() == RUNS_MAX {
            let merge = Merge::new(
                self.scratch.clone(),
                records,
                self.file.take().as_ref(),
                &std::mem::take(&mut self.runs),
            )?;
            return self.write(merge);
        }
        let merge = Merge::new(self.scratch.clone(), records, None, &[])?;
        self.write(merge)
    }

    fn write(&mut self, mut merge: Merge) -> Result<()> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(self.scratch.file()?))),
        };
        let start = self.runs.last().map_or(0, |run| run.end);
        let mut end = start;
        let mut out = BufWriter::with_capacity(256 * 1024, &*file);
        while let Some((key, value)) = merge.next()? {
            let lengths = [key.len() as u32, value.len() as u32].map(u32::to_le_bytes);
            for bytes in [lengths.as_flattened(), key, value] {
                self.scratch.named(out.write_all(bytes))?;
                end += bytes.len() as u64;
            }
        }
        self.scratch.named(out.flush())?;
        self.runs.push(start..end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Sorts records with the given memory, and compares them with a map.
    fn check(count: u64, limit: usize) {
        let directory = tempfile::tempdir().expect("it is made");
        let mut sorter = Sorter::new(Scratch::new(directory.path()), limit);
        let mut model = BTreeMap::new();
        let mut state = count;
        for number in 0..count {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(99);
            let key = format!("{:x}", state >> 20).into_bytes();
            let value = vec![number as u8; (state >> 58) as usize];
            sorter.push(&key, &value).expect("it is taken");
            model.insert(key, value);
        }
        let mut merge = sorter.finish().expect("it is sorted");
        for (key, value) in &model {
            let next = merge.next().expect("it is read");
            assert_eq!(next, Some((key.as_slice(), value.as_slice())));
        }
        assert_eq!(merge.next().expect("it is read"), None);
        assert!(
            std::fs::read_dir(directory.path())
                .expect("it is there")
                .next()
                .is_none()
        );
    }

    #[test]
    fn records_come_by_their_keys() {
        check(0, 1000);
        check(1, 0);
        check(500, 1 << 20);
        check(500, 3000);
    }

    #[test]
    fn more_runs_than_are_merged_at_once_are_merged_in_between() {
        check(3 * RUNS_MAX as u64, 0);
    }

    #[test]
    fn records_with_equal_keys_keep_their_order() {
        let directory = tempfile::tempdir().expect("it is made");
        for limit in [0, 1 << 20] {
            let mut sorter = Sorter::new(Scratch::new(directory.path()), limit);
            for value in [b"a", b"b", b"c"] {
                sorter.push(b"key", value).expect("it is taken");
            }
            let mut merge = sorter.finish().expect("it is sorted");
            for value in [b"a", b"b", b"c"] {
                let next = merge.next().expect("it is read");
                assert_eq!(next, Some((&b"key"[..], &value[..])));
            }
        }
    }
}
