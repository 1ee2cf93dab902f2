//! A run: records in the order of their keys, with the places of all of them in memory.

mod blocks;
mod places;
mod stored;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use dflat_engine::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

use blocks::Blocks;

use crate::codec::{Compression, RATIO_MAX};
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{ALIGN, BLOCK_MAX, BLOCK_RECORDS, Extent, Packed, RunLayout, Section};

/// Records that are read from the file by their places.
#[derive(Debug)]
pub(crate) struct Run {
    file: Arc<PackFile>,
    data: Extent,
    count: u64,
    compression: Compression,
    /// The length of all blocks before compression.
    content_len: u64,
    /// The end of the stored bytes of each block in the data; none if the blocks are stored as they
    /// are.
    stored: Packed,
    /// A bit for each block of a mapped file that was compared with its checksum.
    checked: Vec<AtomicU64>,
    /// Each record begins at a multiple of this in its block.
    align: u64,
    blocks: Blocks,
    /// For each stretch of [`BLOCK_BYTES`] of the blocks of objects, the block with its first byte.
    stretches: Vec<u32>,
    ends: Packed,
    key_ends: Packed,
    keys: Vec<u8>,
}

#[cold]
fn unsupported(file: &PackFile, compression: u8) -> Error {
    let why = Compression::missing(compression);
    let message = format!("cannot read {}: {why}", file.path().display());
    Error::new(ErrorKind::Unsupported, message)
}

/// The bytes of a part that is read as a whole, compared with its checksum.
pub(super) fn section(file: &PackFile, section: Section) -> Result<Vec<u8>> {
    let bytes = file.read_extent(section.extent)?;
    if xxh3_64(&bytes) != section.checksum {
        return Err(damaged(file.path(), "the checksum of a part differs"));
    }
    Ok(bytes)
}

impl Run {
    /// Reads all but the records.
    pub(super) fn load(file: &Arc<PackFile>, layout: &RunLayout, is_aligned: bool) -> Result<Self> {
        let why = || damaged(file.path(), "the parts of a run do not fit together");
        let packed = |part: Section, width: u8, count: u64| {
            Packed::new(section(file, part)?, width, count).ok_or_else(why)
        };
        let compression = Compression::of(layout.compression)
            .ok_or_else(|| unsupported(file, layout.compression))?;
        let is_compressed = compression != Compression::None;
        let stored = match is_compressed {
            true => packed(layout.stored, 8, layout.blocks_count)?,
            false => Packed::new(Vec::new(), 8, 0).ok_or_else(why)?,
        };
        let blocks = Blocks::new(section(file, layout.blocks)?, layout.blocks_count);
        let blocks = blocks.ok_or_else(why)?;
        let checked = match file.mapped() {
            Some(_) => blocks.len().div_ceil(64),
            None => 0,
        };
        let mut run = Self {
            file: Arc::clone(file),
            data: layout.data,
            count: layout.count,
            compression,
            content_len: layout.content_len,
            stored,
            checked: (0..checked).map(|_| AtomicU64::new(0)).collect(),
            align: if is_aligned { ALIGN } else { 1 },
            blocks,
            stretches: Vec::new(),
            ends: packed(layout.ends, layout.ends_width, layout.count)?,
            key_ends: packed(layout.key_ends, layout.key_ends_width, layout.blocks_count)?,
            keys: section(file, layout.keys)?,
        };
        match run.has_sound_stored() && run.has_sound_blocks() && run.has_sound_keys() {
            true => {
                if is_aligned {
                    run.stretches = run.stretches();
                }
                Ok(run)
            }
            false => Err(why()),
        }
    }

    /// Whether the blocks have all bytes and all records, in order.
    fn has_sound_blocks(&self) -> bool {
        let starts = self.blocks.iter().map(|block| (block.offset, block.first));
        let last = (self.content_len, self.count);
        let ends = starts.clone().skip(1).chain([last]);
        let mut before = (0, 0);
        let are_sound = starts.zip(ends).all(|((offset, first), (end, next))| {
            let is_next = (offset, first) == before;
            before = (end, next);
            let records = next.saturating_sub(first);
            is_next && offset < end && (1..=BLOCK_RECORDS as u64).contains(&records)
        });
        are_sound && before == last
    }

    /// Whether the stored bytes of compressed blocks follow each other, and no block is much longer
    /// than its stored bytes, or longer than a block with the largest record.
    fn has_sound_stored(&self) -> bool {
        if self.compression == Compression::None {
            return self.content_len == self.data.len;
        }
        let mut before = 0;
        let are_sound = (0..self.blocks.len()).all(|block| {
            let bytes = self.bytes(&(block..block + 1));
            let end = self.stored.get(block as u64).unwrap_or(0);
            let stored = end.saturating_sub(before);
            let len = bytes.end.saturating_sub(bytes.start);
            before = end;
            stored > 0 && stored <= len && len <= stored.saturating_mul(RATIO_MAX).min(BLOCK_MAX)
        });
        are_sound && before == self.data.len
    }

    /// Whether the first keys of the blocks are in ascending order, and use all bytes.
    fn has_sound_keys(&self) -> bool {
        let mut end = 0;
        let mut before: Option<&[u8]> = None;
        for block in 0..self.blocks.len() {
            let next = self.key_ends.get(block as u64);
            let next = next.and_then(|next| usize::try_from(next).ok());
            let key = next.and_then(|next| self.keys.get(end..next));
            let (Some(next), Some(key)) = (next, key) else {
                return false;
            };
            if before.is_some_and(|before| before >= key) {
                return false;
            }
            (end, before) = (next, Some(key));
        }
        end == self.keys.len()
    }

    pub(crate) const fn len(&self) -> u64 {
        self.count
    }

    pub(super) fn file(&self) -> &PackFile {
        &self.file
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The positions of a block's records; none if there is no such block.
    pub(super) fn positions(&self, block: usize) -> Range<u64> {
        let first = |block: usize| {
            self.blocks
                .get(block)
                .map_or(self.count, |block| block.first)
        };
        first(block)..first(block + 1)
    }

    /// The bytes of some blocks, from the start of the first block. If the blocks are not
    /// compressed, that is the start of the data.
    pub(super) fn bytes(&self, blocks: &Range<usize>) -> Range<u64> {
        let start = |block: usize| {
            self.blocks
                .get(block)
                .map_or(self.content_len, |b| b.offset)
        };
        start(blocks.start)..start(blocks.end)
    }

    /// The stored bytes of some blocks, from the start of the data.
    pub(super) fn stored(&self, blocks: &Range<usize>) -> Range<u64> {
        if !self.is_compressed() {
            return self.bytes(blocks);
        }
        let end = |blocks: usize| {
            let last = blocks.checked_sub(1);
            last.map_or(0, |last| {
                self.stored.get(last as u64).unwrap_or(self.data.len)
            })
        };
        end(blocks.start)..end(blocks.end)
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    /// The offset in the file of a stored byte of the data.
    pub(super) const fn offset(&self, in_data: u64) -> u64 {
        // The parts were found to lie in the file.
        self.data.offset + in_data
    }

    pub(crate) fn damaged(&self, why: &str) -> Error {
        damaged(self.file.path(), why)
    }

    fn first_key(&self, block: usize) -> &[u8] {
        let end = |block: usize| {
            self.key_ends
                .get(block as u64)
                .map_or(0, |end| end as usize)
        };
        let start = if block == 0 { 0 } else { end(block - 1) };
        self.keys.get(start..end(block)).unwrap_or_default()
    }

    /// The least and the greatest position that the first record whose key is not below `bound` may
    /// have. If there is no such record, the end of all positions counts as its position.
    pub(super) fn around(&self, bound: &[u8]) -> Range<u64> {
        let (mut low, mut high) = (0, self.blocks.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.first_key(middle).cmp(bound) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => {
                    let start = self.positions(middle).start;
                    return start..start;
                }
                Ordering::Greater => high = middle,
            }
        }
        // The record is in the last block whose first key is below the bound, or directly behind
        // that block.
        let Some(block) = low.checked_sub(1) else {
            return 0..0;
        };
        let Range { start, end } = self.positions(block);
        // The first record is below the bound.
        start + 1..end
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use dflat_engine::ErrorKind;

    use super::*;
    use crate::layout::BlockEntry;

    #[test]
    fn record_behind_an_end_beyond_all_offsets_is_refused() {
        let file = tempfile::tempfile().expect("it is made");
        let file = PackFile::of(file, Path::new("a.pack")).expect("it is a file");
        let ends = [u64::MAX, 8].map(u64::to_le_bytes);
        let block = BlockEntry {
            offset: 0,
            first: 0,
            checksum: 0,
        };
        let run = Run {
            file: Arc::new(file),
            data: Extent { offset: 0, len: 16 },
            count: 2,
            compression: Compression::None,
            content_len: 16,
            stored: Packed::new(Vec::new(), 8, 0).expect("there is none"),
            checked: Vec::new(),
            align: ALIGN,
            blocks: Blocks::new(block.to_bytes().to_vec(), 1).expect("there is one"),
            stretches: Vec::new(),
            ends: Packed::new(ends.as_flattened().to_vec(), 8, 2).expect("there are two"),
            key_ends: Packed::new(vec![0; 2], 2, 1).expect("there is one"),
            keys: Vec::new(),
        };
        for position in [0, 1] {
            let error = run.span(0, position).expect_err("no record is there");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
    }
}
