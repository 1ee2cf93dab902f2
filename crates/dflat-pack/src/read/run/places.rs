//! The places of records in the blocks.

use std::ops::Range;

use dflat_engine::Result;

use super::Run;
use crate::layout::{BLOCK_BYTES, Place, padding};

impl Run {
    pub(super) fn stretches(&self) -> Vec<u32> {
        if u32::try_from(self.blocks.len()).is_err() {
            return Vec::new();
        }
        let mut stretches = Vec::with_capacity(self.content_len as usize / BLOCK_BYTES + 1);
        let mut block = 0;
        for start in (0..self.content_len).step_by(BLOCK_BYTES) {
            while self.start_of(block + 1).is_some_and(|next| next <= start) {
                block += 1;
            }
            stretches.push(block as u32);
        }
        stretches
    }

    /// The offset of a block; `None` if there is no such block.
    #[inline]
    fn start_of(&self, block: usize) -> Option<u64> {
        self.blocks.get(block).map(|block| block.offset)
    }

    /// The block with the byte at an offset; the last one if there is no such byte.
    #[inline]
    pub(in crate::read) fn block_at(&self, offset: u64) -> usize {
        let Some(first) = self.stretches.get((offset / BLOCK_BYTES as u64) as usize) else {
            let after = self.blocks.partition_point(|block| block.offset <= offset);
            return after.saturating_sub(1);
        };
        // A stretch has few blocks, and no block is empty.
        let mut block = *first as usize;
        while self.start_of(block + 1).is_some_and(|next| next <= offset) {
            block += 1;
        }
        block
    }

    /// The block and the position of the record that begins at an offset.
    #[inline]
    pub(in crate::read) fn locate(&self, offset: u64) -> Result<(usize, u64)> {
        let block = self.block_at(offset);
        let positions = self.positions(block);
        let bytes = self.bytes(&(block..block + 1));
        let start = offset.saturating_sub(bytes.start);
        if start == 0 && !positions.is_empty() {
            return Ok((block, positions.start));
        }
        // The record begins behind the end of the one before, which is near its share of the block
        // unless the lengths of records differ much.
        let len = bytes.end.saturating_sub(bytes.start).max(1);
        let records = positions.end.saturating_sub(positions.start).max(1);
        let share = start.saturating_mul(records) / len;
        let mut before = positions.start + share.clamp(1, records) - 1;
        while before > positions.start && self.next_start(before) > start {
            before -= 1;
        }
        while before + 1 < positions.end && self.next_start(before) < start {
            before += 1;
        }
        match before + 1 < positions.end && self.next_start(before) == start {
            true => Ok((block, before + 1)),
            false => Err(self.damaged("a place has no record")),
        }
    }

    /// Where a record behind the one at a position begins, if it is in the same block.
    #[inline]
    fn next_start(&self, position: u64) -> u64 {
        let end = self.ends.get(position).unwrap_or(0);
        end.saturating_add(padding(end, self.align))
    }

    /// The block of a record. `hint` may be its block, or the one before or behind.
    pub(in crate::read) fn block_of(&self, position: u64, hint: usize) -> usize {
        for block in [hint, hint + 1, hint.saturating_sub(1)] {
            if self.positions(block).contains(&position) {
                return block;
            }
        }
        let after = self.blocks.partition_point(|block| block.first <= position);
        after.saturating_sub(1)
    }

    /// The place of a record. `hint` as for [`block_of`](Self::block_of).
    pub(in crate::read) fn place(&self, position: u64, hint: usize) -> Result<Place> {
        let block = self.block_of(position, hint);
        let span = self.span(block, position)?;
        Ok(Place {
            offset: self.bytes(&(block..block + 1)).start + span.start as u64,
            len: (span.end - span.start) as u64,
        })
    }

    /// Whether an object of this length may be at an offset.
    #[inline]
    pub(in crate::read) fn has_room(&self, place: Place) -> bool {
        let end = place.offset.checked_add(place.len);
        end.is_some_and(|end| end <= self.content_len)
    }

    /// The bytes of a record in its block.
    pub(in crate::read) fn span(&self, block: usize, position: u64) -> Result<Range<usize>> {
        let is_first = position == self.positions(block).start;
        let before = if is_first {
            Some(0)
        } else {
            self.ends.get(position.wrapping_sub(1))
        };
        // An end is a number of the file, which may be as large as any.
        let start = before.and_then(|end| end.checked_add(padding(end, self.align)));
        let span = start.zip(self.ends.get(position));
        let bytes = self.bytes(&(block..block + 1));
        let span = span.filter(|(start, end)| start <= end && *end <= bytes.end - bytes.start);
        let (start, end) = span.ok_or_else(|| self.damaged("a record is not in its block"))?;
        Ok(start as usize..end as usize)
    }
}
