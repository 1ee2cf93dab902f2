//! The entries of the blocks of a run, in memory as the file has them.

use crate::layout::BlockEntry;

/// The entries of blocks.
#[derive(Debug)]
pub(super) struct Blocks(Vec<u8>);

impl Blocks {
    /// `None` if the bytes are not those of so many entries.
    pub(super) fn new(bytes: Vec<u8>, count: u64) -> Option<Self> {
        let len = count.checked_mul(BlockEntry::BYTES as u64)?;
        (bytes.len() as u64 == len).then_some(Self(bytes))
    }

    #[inline]
    fn entries(&self) -> &[[u8; BlockEntry::BYTES]] {
        self.0.as_chunks().0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries().len()
    }

    #[inline]
    pub(super) fn get(&self, block: usize) -> Option<BlockEntry> {
        self.entries().get(block).map(BlockEntry::from_bytes)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = BlockEntry> + Clone {
        self.entries().iter().map(BlockEntry::from_bytes)
    }

    /// The number of the first entries that meet a condition, which no entry behind them meets.
    pub(super) fn partition_point(&self, is_before: impl Fn(BlockEntry) -> bool) -> usize {
        let entries = self.entries();
        entries.partition_point(|entry| is_before(BlockEntry::from_bytes(entry)))
    }
}
