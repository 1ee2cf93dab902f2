//! The file format: its parts, their bytes and their places. `docs/pack-format.md` describes them.

mod directory;
mod frame;
mod input;
mod packed;
mod place;

pub(crate) use directory::{Directory, Extent, RunLayout, Section, SlotsLayout, TypeLayout};
pub(crate) use frame::{FOOTER_BYTES, Footer, HEADER_BYTES, Kind, MAGIC, header_of, kind_of};
pub(crate) use packed::{Packed, append, width_of};
pub(crate) use place::{BlockEntry, LEN_BITS_MAX, Place, SlotForm};
use xxhash_rust::xxh3::xxh3_64;

/// A block is full when another record would make it larger than this.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// The most bytes of a block: those of a block with one record of the largest size.
pub(crate) const BLOCK_MAX: u64 = u32::MAX as u64;

/// The largest number of records of a block.
pub(crate) const BLOCK_RECORDS: usize = 256;

/// The objects of a type begin at a multiple of this, so that objects whose size divides it never
/// lie in two pages of the operating system.
pub(crate) const DATA_ALIGN: u64 = 4096;

/// Every other part, and every object, begins at a multiple of this.
pub(crate) const ALIGN: u64 = 8;

/// Begins the bytes of which a pack's digest is made. It names the version of the layout.
pub(crate) const CONTENT: &[u8; 16] = b"dflat pack 00001";

/// Begins the bytes of which a layer's digest is made. It names the version of the layout.
pub(crate) const LAYER_CONTENT: &[u8; 16] = b"dflat layer 0001";

/// The hash of an encoded key, by which the key is looked up.
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// The number of zeros behind `len` bytes up to a multiple of `align`, a power of two.
pub(crate) const fn padding(len: u64, align: u64) -> u64 {
    len.wrapping_neg() & (align - 1)
}
