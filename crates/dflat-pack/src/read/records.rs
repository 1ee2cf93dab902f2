//! Reads records of a run into a buffer.

use std::ops::Range;

use dflat_engine::Result;

use super::run::Run;
use crate::layout::Place;

/// Appends the encoded key of a record.
pub(crate) type KeyOf<'k> = &'k dyn Fn(&[u8], &mut Vec<u8>) -> Result<()>;

/// The bytes that are read at once by a reader that goes through a run.
const AHEAD_BYTES: u64 = 128 * 1024;

/// The records that are read together with one that is not in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// None, unless the block must be read as a whole to be checked or decompressed.
    Record,
    /// Those of its block.
    Block,
    /// Those behind.
    Ahead,
    /// Those before.
    Behind,
}

/// The place of a record's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Lent {
    /// In the buffer of the reader, until its next use.
    Buffer(Range<usize>),
    /// In the mapped file.
    Mapped(Range<usize>),
}

/// The buffer of a reader of one run.
#[derive(Debug)]
pub(crate) struct RecordReader {
    check_blocks: bool,
    /// The blocks in the buffer.
    blocks: Range<usize>,
    bytes: Vec<u8>,
    /// The stored bytes of compressed blocks.
    stored: Vec<u8>,
    /// The block of the record that was read last.
    last: usize,
    /// The key of an object that is compared.
    pub(super) key: Vec<u8>,
}

impl RecordReader {
    pub(crate) const fn new(check_blocks: bool) -> Self {
        Self {
            check_blocks,
            blocks: 0..0,
            bytes: Vec::new(),
            stored: Vec::new(),
            last: 0,
            key: Vec::new(),
        }
    }

    pub(super) const fn checks_blocks(&self) -> bool {
        self.check_blocks
    }

    /// A reader of another run.
    pub(super) const fn renewed(&self) -> Self {
        Self::new(self.check_blocks)
    }

    /// The bytes of the record at a position.
    #[inline]
    pub(crate) fn record<'r>(
        &'r mut self,
        run: &'r Run,
        position: u64,
        reach: Reach,
    ) -> Result<&'r [u8]> {
        let lent = self.load(run, position, reach)?;
        Ok(self.lent(run, lent))
    }

    /// The bytes at a place that [`load`](Self::load) returned.
    #[inline]
    pub(crate) fn lent<'r>(&'r self, run: &'r Run, lent: Lent) -> &'r [u8] {
        match lent {
            Lent::Buffer(place) => self.bytes.get(place),
            Lent::Mapped(place) => run.file().mapped().and_then(|map| map.get(place)),
        }
        .unwrap_or_default()
    }

    /// The number of records of a run whose key is below `bound`.
    pub(crate) fn below(&mut self, run: &Run, bound: &[u8], key_of: KeyOf<'_>) -> Result<u64> {
        let Range { mut start, mut end } = run.around(bound);
        let mut key = Vec::new();
        while start < end {
            let middle = start + (end - start) / 2;
            key.clear();
            key_of(self.record(run, middle, Reach::Block)?, &mut key)?;
            if *key < *bound {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(start)
    }

    /// Brings the record at a position into the buffer, unless the file is mapped. Returns the
    /// place of its bytes, which is valid until the next call.
    #[inline]
    pub(crate) fn load(&mut self, run: &Run, position: u64, reach: Reach) -> Result<Lent> {
        let block = run.block_of(position, self.last);
        self.last = block;
        self.load_from(run, block, position, reach)
    }

    /// As [`load`](Self::load), of a record in this block.
    #[inline]
    pub(super) fn load_from(
        &mut self,
        run: &Run,
        block: usize,
        position: u64,
        reach: Reach,
    ) -> Result<Lent> {
        let span = run.span(block, position)?;
        if let Some(place) = run.mapped(block, self.check_blocks)? {
            let start = place.start;
            return Ok(Lent::Mapped(start + span.start..start + span.end));
        }
        if !self.blocks.contains(&block) {
            if reach == Reach::Record && !self.check_blocks && !run.is_compressed() {
                let start = run.bytes(&(block..block + 1)).start + span.start as u64;
                return self.alone(run, start, span.end - span.start);
            }
            self.fill(run, reached(run, block, reach))?;
        }
        let held = run.bytes(&self.blocks).start;
        let start = (run.bytes(&(block..block + 1)).start - held) as usize;
        Ok(Lent::Buffer(start + span.start..start + span.end))
    }

    /// Begins to bring an object of a mapped file into the processor's cache.
    #[inline]
    pub(super) fn touch(&self, run: &Run, place: Place) {
        if let Some(map) = run.file().mapped() {
            let start = run.offset(place.offset) as usize;
            std::hint::black_box(map.get(start).copied());
        }
    }

    /// As [`load`](Self::load), of the object at a place that a slot has.
    #[inline]
    pub(super) fn load_at(&mut self, run: &Run, place: Place) -> Result<Lent> {
        if place.len > 0
            && !run.is_compressed()
            && run.has_room(place)
            && run.file().mapped().is_some()
        {
            return run.mapped_at(place, self.check_blocks).map(Lent::Mapped);
        }
        self.load_unmapped(run, place)
    }

    #[inline(never)]
    fn load_unmapped(&mut self, run: &Run, place: Place) -> Result<Lent> {
        let is_alone = place.len > 0 && !run.is_compressed() && run.has_room(place);
        if is_alone && !self.check_blocks && run.file().mapped().is_none() {
            return self.alone(run, place.offset, place.len as usize);
        }
        let (block, position) = run.locate(place.offset)?;
        self.load_from(run, block, position, Reach::Record)
    }

    /// Brings a block and those behind it into the buffer. Returns the blocks and their bytes.
    pub(super) fn blocks(&mut self, run: &Run, block: usize) -> Result<(Range<usize>, &[u8])> {
        self.fill(run, reached(run, block, Reach::Ahead))?;
        let held = within(&run.bytes(&self.blocks), run.bytes(&self.blocks).start);
        Ok((
            self.blocks.clone(),
            self.bytes.get(held).unwrap_or_default(),
        ))
    }

    /// Reads the bytes of one record.
    fn alone(&mut self, run: &Run, start: u64, len: usize) -> Result<Lent> {
        self.blocks = 0..0;
        let bytes = sized(&mut self.bytes, &(0..len as u64));
        run.file().read(run.offset(start), bytes)?;
        Ok(Lent::Buffer(0..len))
    }

    fn fill(&mut self, run: &Run, blocks: Range<usize>) -> Result<()> {
        self.blocks = 0..0;
        let held = run.bytes(&blocks);
        let stored = run.stored(&blocks);
        let bytes = sized(&mut self.bytes, &held);
        let from = match run.is_compressed() {
            true => sized(&mut self.stored, &stored),
            false => &mut *bytes,
        };
        run.file().read(run.offset(stored.start), from)?;
        for block in blocks.clone() {
            let one = block..block + 1;
            let place = within(&run.stored(&one), stored.start);
            if self.check_blocks {
                let from = match run.is_compressed() {
                    true => &self.stored,
                    false => &self.bytes,
                };
                run.check(block, from.get(place.clone()).unwrap_or_default())?;
            }
            if run.is_compressed() {
                let stored = self.stored.get(place).unwrap_or_default();
                let bytes = self.bytes.get_mut(within(&run.bytes(&one), held.start));
                run.decompress(block, stored, bytes.unwrap_or_default())?;
            }
        }
        self.blocks = blocks;
        Ok(())
    }
}

/// Room for so many bytes.
fn sized<'b>(bytes: &'b mut Vec<u8>, range: &Range<u64>) -> &'b mut [u8] {
    let len = (range.end - range.start) as usize;
    if bytes.len() < len {
        bytes.resize(len, 0);
    }
    bytes.get_mut(..len).unwrap_or_default()
}

/// A range of a run in a buffer that begins at `start`.
const fn within(range: &Range<u64>, start: u64) -> Range<usize> {
    (range.start - start) as usize..(range.end - start) as usize
}

/// The blocks to read for a record of a block.
fn reached(run: &Run, block: usize, reach: Reach) -> Range<usize> {
    let mut blocks = block..block + 1;
    let fits = |blocks: &Range<usize>| {
        let bytes = run.bytes(blocks);
        bytes.end - bytes.start <= AHEAD_BYTES
    };
    match reach {
        Reach::Record | Reach::Block => {}
        Reach::Ahead => {
            while blocks.end < run.blocks() && fits(&(block..blocks.end + 1)) {
                blocks.end += 1;
            }
        }
        Reach::Behind => {
            while blocks.start > 0 && fits(&(blocks.start - 1..blocks.end)) {
                blocks.start -= 1;
            }
        }
    }
    blocks
}
