//! Places of records: the block, and the record in the block.

/// The bits of a place that number the record in its block.
const PLACE_SHIFT: u32 = 8;

/// The place of a record: the number of its block, times 256, and its number in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(pub(crate) u64);

impl Place {
    pub(crate) const fn new(block: u64, record: u64) -> Self {
        Self(block << PLACE_SHIFT | record)
    }

    pub(crate) const fn block(self) -> u64 {
        self.0 >> PLACE_SHIFT
    }

    pub(crate) const fn record(self) -> u64 {
        self.0 & ((1 << PLACE_SHIFT) - 1)
    }
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

/// How the slots of a hash table are written: each has a place plus one in its low bits, so that
/// zero is an empty slot, and as many bits of the key's hash above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotForm {
    /// The bytes of a slot.
    pub(crate) width: u8,
    place_bits: u32,
}

/// A slot has at least so many bits of the hash, so that few other keys are compared.
const HASH_BITS_MIN: u32 = 12;

impl SlotForm {
    /// The form for a run with so many blocks; `None` if they are too many.
    pub(crate) fn of(blocks: u64) -> Option<Self> {
        let last = blocks.checked_shl(PLACE_SHIFT)?;
        let place_bits = u64::BITS - last.leading_zeros();
        let width = (place_bits + HASH_BITS_MIN).div_ceil(8);
        (width <= 8 && last >> PLACE_SHIFT == blocks).then_some(Self {
            width: width as u8,
            place_bits,
        })
    }

    /// The number of slots in which the first slots of all keys lie.
    pub(crate) const fn slots(keys: u64) -> u64 {
        keys + keys / 4 + 1
    }

    /// The slot from which on a key is stored.
    pub(crate) const fn home(hash: u64, keys: u64) -> u64 {
        ((hash as u128 * Self::slots(keys) as u128) >> 64) as u64
    }

    const fn hash_part(self, hash: u64) -> u64 {
        hash << self.place_bits << (64 - 8 * self.width as u32) >> (64 - 8 * self.width as u32)
    }

    pub(crate) const fn slot(self, hash: u64, place: Place) -> u64 {
        self.hash_part(hash) | (place.0 + 1)
    }

    /// The place in a slot that is not empty, if the slot may be that of a key with this hash.
    pub(crate) const fn place(self, slot: u64, hash: u64) -> Option<Place> {
        let place = slot & ((1 << self.place_bits) - 1);
        match place > 0 && slot ^ place == self.hash_part(hash) {
            true => Some(Place(place - 1)),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_give_their_places_back() {
        for blocks in [1, 2, 255, 256, 1 << 20, (1 << 36) - 1] {
            let form = SlotForm::of(blocks).expect("they are not too many");
            for place in [Place::new(0, 0), Place::new(blocks - 1, 255)] {
                for hash in [0, u64::MAX, 0x1234_5678_9abc_def0] {
                    let slot = form.slot(hash, place);
                    assert_ne!(slot, 0);
                    assert!(form.width == 8 || slot < 1 << (8 * form.width));
                    assert_eq!(form.place(slot, hash), Some(place), "{blocks} {hash}");
                    assert_eq!(form.place(slot, hash ^ 1), None);
                    assert_eq!(
                        (place.block(), place.record()),
                        (place.0 / 256, place.0 % 256)
                    );
                }
            }
        }
        assert_eq!(SlotForm::of(u64::MAX), None);
        assert_eq!(SlotForm::of(1 << 50), None);
    }

    #[test]
    fn first_slots_lie_in_the_table_in_the_order_of_hashes() {
        let homes = [0, 1 << 62, 3 << 62, u64::MAX].map(|hash| SlotForm::home(hash, 100));
        assert_eq!(homes, [0, 31, 94, 125]);
        assert_eq!(SlotForm::slots(100), 126);
    }
}
