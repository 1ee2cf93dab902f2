//! The stored bytes of blocks: their checksums, their compression, and their places in a map.

use std::ops::Range;
use std::sync::atomic::Ordering;

use dflat_engine::Result;
use xxhash_rust::xxh3::xxh3_64;

use super::Run;
use crate::layout::Place;

impl Run {
    /// Compares the stored bytes of a block with their checksum.
    pub(in crate::read) fn check(&self, block: usize, stored: &[u8]) -> Result<()> {
        let checksum = self.blocks.get(block).map(|block| block.checksum);
        match checksum == Some(xxh3_64(stored)) {
            true => Ok(()),
            false => Err(self.damaged(&format!("the checksum of block {block} differs"))),
        }
    }

    /// The bytes of a block where they are, and their place in the file, if the file is mapped and
    /// its blocks are not compressed. The bytes are compared with their checksum once, if they are
    /// to be checked.
    #[inline]
    pub(in crate::read) fn mapped(
        &self,
        block: usize,
        check: bool,
    ) -> Result<Option<Range<usize>>> {
        let Some(map) = self.file.mapped().filter(|_| !self.is_compressed()) else {
            return Ok(None);
        };
        let bytes = self.bytes(&(block..block + 1));
        let place = self.offset(bytes.start) as usize..self.offset(bytes.end) as usize;
        if check {
            self.check_once(block, map.get(place.clone()).unwrap_or_default())?;
        }
        Ok(Some(place))
    }

    /// The bytes of an object in the mapped file, whose blocks are not compressed. Its block is
    /// compared with its checksum once, if it is to be checked.
    #[inline]
    pub(in crate::read) fn mapped_at(&self, place: Place, check: bool) -> Result<Range<usize>> {
        if check {
            self.check_at(place)?;
        }
        let start = self.offset(place.offset) as usize;
        Ok(start..start + place.len as usize)
    }

    /// The bytes at a place of a mapped file whose blocks are not compressed. `None` if there are
    /// no such bytes, or if they are to be checked and are damaged.
    #[inline]
    pub(in crate::read) fn in_map(&self, place: Place, check: bool) -> Option<&[u8]> {
        if !self.has_room(place) || check && self.check_at(place).is_err() {
            return None;
        }
        let start = self.offset(place.offset) as usize;
        let rest = self.file.mapped()?.get(start..)?;
        rest.get(..place.len as usize)
    }

    #[inline(never)]
    fn check_at(&self, place: Place) -> Result<()> {
        let block = self.block_at(place.offset);
        let bytes = self.bytes(&(block..block + 1));
        if place.offset + place.len > bytes.end {
            return Err(self.damaged("a place has no record"));
        }
        self.mapped(block, true).map(drop)
    }

    #[inline]
    fn check_once(&self, block: usize, stored: &[u8]) -> Result<()> {
        let bit = 1 << (block % 64);
        let Some(checked) = self.checked.get(block / 64) else {
            return self.check(block, stored);
        };
        // The bytes do not change, so it does not matter whether another thread has checked them.
        if checked.load(Ordering::Relaxed) & bit == 0 {
            self.check(block, stored)?;
            checked.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fills a block from its stored bytes.
    pub(in crate::read) fn decompress(
        &self,
        block: usize,
        stored: &[u8],
        bytes: &mut [u8],
    ) -> Result<()> {
        match self.compression.decompress(stored, bytes) {
            true => Ok(()),
            false => Err(self.damaged(&format!("block {block} cannot be decompressed"))),
        }
    }
}
