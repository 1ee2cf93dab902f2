//! The file format: its parts, their bytes and their places. `docs/pack-format.md` describes them.

mod directory;
mod frame;
mod input;
mod packed;
mod place;

use dflat_model::key::IntegerKey;
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
#[inline]
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// As [`key_hash`], of a key of one integer.
///
/// The lengths are constants, so the compiler keeps the bytes in registers. If a program writes
/// bytes and reads them back in other portions, the processor first completes all earlier
/// instructions, and so waits for the memory of the look-up before.
#[inline]
pub(crate) fn integer_hash(key: IntegerKey) -> u64 {
    let (number, len) = key.to_number();
    hash_of_number(number, len)
}

fn hash_of_number(number: u128, len: usize) -> u64 {
    match len {
        1 => hash_of_first::<1>(number),
        2 => hash_of_first::<2>(number),
        3 => hash_of_first::<3>(number),
        4 => hash_of_first::<4>(number),
        5 => hash_of_first::<5>(number),
        6 => hash_of_first::<6>(number),
        7 => hash_of_first::<7>(number),
        8 => hash_of_first::<8>(number),
        _ => hash_of_first::<9>(number),
    }
}

#[inline]
fn hash_of_first<const LEN: usize>(number: u128) -> u64 {
    let bytes = number.to_be_bytes();
    bytes.first_chunk::<LEN>().map_or(0, |bytes| xxh3_64(bytes))
}

/// The number of zeros behind `len` bytes up to a multiple of `align`, a power of two.
pub(crate) const fn padding(len: u64, align: u64) -> u64 {
    len.wrapping_neg() & (align - 1)
}
