//! Places of objects, and the slots that lead to them.

use super::ALIGN;

/// The place of an object in the blocks of its run, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    /// The length of the object; 0 in a slot that does not have it.
    pub(crate) len: u64,
}

/// The numbers that a run stores for each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    /// The start of the block's bytes, from the start of the run's data.
    pub(crate) offset: u64,
    /// The position of its first record in the run.
    pub(crate) first: u64,
    /// The checksum of its bytes.
    pub(crate) checksum: u64,
}

impl BlockEntry {
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let words = [self.offset, self.first, self.checksum];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        Self {
            offset: word(0),
            first: word(1),
            checksum: word(2),
        }
    }
}

/// How the slots of a hash table are written. From its low bits up, a slot has the offset of an
/// object in units of 8 bytes plus one, so that zero is an empty slot; the length of the object, or
/// 0 if it does not fit; and as many bits of the key's hash as are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotForm {
    /// The bytes of a slot.
    pub(crate) width: u8,
    pub(crate) offset_bits: u8,
    pub(crate) len_bits: u8,
}

/// A slot has at least so many bits of the hash, so that few other keys are compared.
const HASH_BITS_MIN: u32 = 12;

/// Longer objects have blocks of their own, which say how long they are.
pub(crate) const LEN_BITS_MAX: u32 = 12;

/// In units of 8 bytes, an offset has at most so many bits. So no offset in a slot is larger than
/// that of any file, and the sum of two offsets is a number of eight bytes.
const OFFSET_BITS_MAX: u8 = 60;

impl SlotForm {
    /// The form for objects in blocks of so many bytes, the longest of which has `len_max` bytes;
    /// `None` if the blocks are too long.
    pub(crate) fn of(content_len: u64, len_max: u64) -> Option<Self> {
        let bits = |number: u64| u64::BITS - number.leading_zeros();
        let offset_bits = bits(content_len / ALIGN).max(1);
        let len_bits = bits(len_max).clamp(1, LEN_BITS_MAX);
        let width = (offset_bits + len_bits + HASH_BITS_MIN).div_ceil(8);
        (width <= 8).then_some(Self {
            width: width as u8,
            offset_bits: offset_bits as u8,
            len_bits: len_bits as u8,
        })
    }

    /// Whether slots of this form have something of all their parts.
    pub(crate) fn is_sound(self) -> bool {
        let bits = u32::from(self.offset_bits) + u32::from(self.len_bits);
        (1..=8).contains(&self.width)
            && (1..=OFFSET_BITS_MAX).contains(&self.offset_bits)
            && bits < 8 * u32::from(self.width)
    }

    /// The number of slots in which the first slots of all keys lie.
    pub(crate) const fn slots(keys: u64) -> u64 {
        keys + keys / 4 + 1
    }

    /// The slot from which on a key is stored.
    #[inline]
    pub(crate) const fn home(hash: u64, keys: u64) -> u64 {
        Self::home_among(hash, Self::slots(keys))
    }

    /// As [`home`](Self::home), with the number of [`slots`](Self::slots).
    #[inline]
    pub(crate) const fn home_among(hash: u64, slots: u64) -> u64 {
        ((hash as u128 * slots as u128) >> 64) as u64
    }

    /// The part of a slot that is of the hash.
    #[inline]
    pub(crate) const fn hash_part(self, hash: u64) -> u64 {
        let unused = 64 - 8 * self.width as u32;
        hash << (self.offset_bits + self.len_bits) << unused >> unused
    }

    /// A length that a slot may have, or 0.
    pub(crate) const fn short(len: u64) -> u64 {
        if len >> LEN_BITS_MAX == 0 { len } else { 0 }
    }

    const fn fits(self, len: u64) -> bool {
        len >> self.len_bits == 0
    }

    pub(crate) const fn slot(self, hash: u64, place: Place) -> u64 {
        let len = if self.fits(place.len) { place.len } else { 0 };
        self.hash_part(hash) | len << self.offset_bits | (place.offset / ALIGN + 1)
    }

    /// The place in a slot that is not empty, if the slot may be that of a key whose hash has this
    /// part.
    #[inline]
    pub(crate) const fn place(self, slot: u64, hash_part: u64) -> Option<Place> {
        let rest = slot ^ hash_part;
        if rest >> (self.offset_bits + self.len_bits) != 0 {
            return None;
        }
        let offset = rest & ((1 << self.offset_bits) - 1);
        match offset.checked_sub(1) {
            Some(offset) => Some(Place {
                offset: offset * ALIGN,
                len: rest >> self.offset_bits,
            }),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_give_their_places_back() {
        for (content, len_max) in [(8, 1), (120, 120), (4096, 4096), (1 << 40, 1 << 20)] {
            let form = SlotForm::of(content, len_max).expect("they are not too long");
            assert!(form.is_sound());
            for offset in [0, content - 8] {
                for len in [1, len_max] {
                    for hash in [0, u64::MAX, 0x1234_5678_9abc_def0] {
                        let slot = form.slot(hash, Place { offset, len });
                        assert_ne!(slot, 0);
                        assert!(form.width == 8 || slot < 1 << (8 * form.width));
                        let len = if len < 4096 { len } else { 0 };
                        let place = form.place(slot, form.hash_part(hash));
                        assert_eq!(place, Some(Place { offset, len }), "{content} {hash}");
                        assert_eq!(form.place(slot, form.hash_part(hash ^ 1)), None);
                    }
                }
            }
        }
        assert_eq!(SlotForm::of(u64::MAX, 1), None);
    }

    #[test]
    fn forms_without_room_are_refused() {
        let form = |width, offset_bits, len_bits| SlotForm {
            width,
            offset_bits,
            len_bits,
        };
        assert!(form(3, 11, 12).is_sound());
        assert!(form(8, 60, 3).is_sound());
        for form in [
            form(0, 1, 1),
            form(9, 1, 1),
            form(3, 12, 12),
            form(3, 0, 12),
            form(8, 255, 255),
            form(8, 61, 0),
            form(8, 63, 0),
        ] {
            assert!(!form.is_sound(), "{form:?}");
        }
    }

    #[test]
    fn first_slots_lie_in_the_table_in_the_order_of_hashes() {
        let homes = [0, 1 << 62, 3 << 62, u64::MAX].map(|hash| SlotForm::home(hash, 100));
        assert_eq!(homes, [0, 31, 94, 125]);
        assert_eq!(SlotForm::slots(100), 126);
    }
}
