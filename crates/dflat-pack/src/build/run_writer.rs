//! Writes a run: records in the order of their keys, in blocks.

use dflat_engine::Result;
use xxhash_rust::xxh3::xxh3_64;

use super::output::Output;
use super::scratch::{Scratch, Spool};
use crate::codec::Compression;
use crate::content::TypeContent;
use crate::layout::{
    ALIGN, BLOCK_BYTES, BLOCK_RECORDS, BlockEntry, DATA_ALIGN, Extent, Place, RunLayout, Section,
    append, padding, width_of,
};

/// Takes the records of a run in order.
pub(super) struct RunWriter {
    /// The content of the objects; `None` in the run of an index.
    content: Option<TypeContent>,
    compression: Compression,
    /// The bytes of the open block.
    block: Vec<u8>,
    /// The compressed bytes of a block.
    compressed: Vec<u8>,
    /// The number of records in the open block.
    in_block: usize,
    blocks_count: u64,
    count: u64,
    data: Extent,
    /// The length of the blocks before compression.
    content_len: u64,
    /// The ends of the records, as numbers of four bytes.
    ends: Spool,
    end_max: u64,
    blocks: Spool,
    keys: Spool,
    /// The ends of the first keys, as numbers of eight bytes.
    key_ends: Spool,
    /// The ends of the stored bytes of compressed blocks, as numbers of eight bytes.
    stored: Spool,
}

impl RunWriter {
    /// A run of objects, or of the entries of an index.
    pub(super) fn new(
        scratch: &Scratch,
        compression: Compression,
        content: Option<TypeContent>,
    ) -> Self {
        let spool = || Spool::new(scratch.clone());
        Self {
            content,
            compression,
            block: Vec::new(),
            compressed: Vec::new(),
            in_block: 0,
            blocks_count: 0,
            count: 0,
            data: Extent::default(),
            content_len: 0,
            ends: spool(),
            end_max: 0,
            blocks: spool(),
            keys: spool(),
            key_ends: spool(),
            stored: spool(),
        }
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    const fn align(&self) -> u64 {
        if self.content.is_some() { ALIGN } else { 1 }
    }

    /// Appends a record of less than 4 GiB, whose key is above those before.
    pub(super) fn push(&mut self, out: &mut Output, key: &[u8], record: &[u8]) -> Result<Place> {
        let filled = self.block.len() + padding(self.block.len() as u64, self.align()) as usize;
        let is_full = self.in_block == BLOCK_RECORDS || filled + record.len() > BLOCK_BYTES;
        if is_full && self.in_block > 0 {
            self.close(out)?;
        } else {
            self.block.resize(filled, 0);
        }
        if self.count == 0 {
            self.begin(out)?;
        }
        if self.in_block == 0 {
            self.keys.append(key)?;
            self.key_ends.append(&self.keys.len().to_le_bytes())?;
        }
        let place = Place {
            offset: self.content_len + self.block.len() as u64,
            len: record.len() as u64,
        };
        self.block.extend_from_slice(record);
        let end = self.block.len() as u64;
        self.ends.append(&(end as u32).to_le_bytes())?;
        self.end_max = self.end_max.max(end);
        if let Some(content) = &mut self.content {
            content.add_length(record.len() as u64);
        }
        self.in_block += 1;
        self.count += 1;
        Ok(place)
    }

    fn begin(&mut self, out: &mut Output) -> Result<()> {
        let align = if self.content.is_some() {
            DATA_ALIGN
        } else {
            ALIGN
        };
        out.align(align)?;
        self.data.offset = out.len();
        Ok(())
    }

    fn close(&mut self, out: &mut Output) -> Result<()> {
        let zeros = padding(self.block.len() as u64, self.align()) as usize;
        self.block.resize(self.block.len() + zeros, 0);
        let stored = match self.compression.compress(&self.block, &mut self.compressed) {
            true => &self.compressed,
            false => &self.block,
        };
        let entry = BlockEntry {
            offset: self.content_len,
            first: self.count - self.in_block as u64,
            checksum: xxh3_64(stored),
        };
        self.blocks.append(&entry.to_bytes())?;
        out.write(stored)?;
        self.data.len += stored.len() as u64;
        if self.compression != Compression::None {
            self.stored.append(&self.data.len.to_le_bytes())?;
        }
        if let Some(content) = &mut self.content {
            content.data.add(&self.block);
        }
        self.content_len += self.block.len() as u64;
        self.blocks_count += 1;
        self.block.clear();
        self.in_block = 0;
        Ok(())
    }

    /// Writes the parts behind the data. Returns the content, too, if this is a run of objects.
    pub(super) fn finish(mut self, out: &mut Output) -> Result<(RunLayout, Option<TypeContent>)> {
        if self.in_block > 0 {
            self.close(out)?;
        } else {
            out.align(ALIGN)?;
            self.data.offset = out.len();
        }
        let (ends_width, key_ends_width) = (width_of(self.end_max), width_of(self.keys.len()));
        let mut layout = RunLayout {
            count: self.count,
            blocks_count: self.blocks_count,
            data: self.data,
            compression: self.compression.number(),
            content_len: self.content_len,
            ends: narrowed::<4>(out, &self.ends, ends_width)?,
            ends_width,
            blocks: out.section(|write| self.blocks.read(write))?,
            key_ends: narrowed::<8>(out, &self.key_ends, key_ends_width)?,
            key_ends_width,
            keys: out.section(|write| self.keys.read(write))?,
            stored: Section::default(),
        };
        if self.compression != Compression::None {
            layout.stored = out.section(|write| self.stored.read(write))?;
        }
        Ok((layout, self.content))
    }
}

/// Writes numbers of `N` bytes as numbers of `width` bytes.
fn narrowed<const N: usize>(out: &mut Output, numbers: &Spool, width: u8) -> Result<Section> {
    out.section(|write| {
        let mut narrow = Vec::new();
        numbers.read(&mut |piece| {
            narrow.clear();
            for number in piece.as_chunks::<N>().0 {
                let mut bytes = [0; 8];
                let (low, _) = bytes.split_at_mut(N);
                low.copy_from_slice(number);
                append(u64::from_le_bytes(bytes), width, &mut narrow);
            }
            write(&narrow)
        })
    })
}
