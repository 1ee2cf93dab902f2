//! The table from the hashes of keys to the places of objects.

use dflat_engine::Result;

use super::run::section;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Place, SlotForm, SlotsLayout};

/// The largest numbers of slots and of places that a look-up goes through. Keys come in tables that
/// this library writes within fewer slots, unless the hashes of many keys are equal. A table of
/// another program may have any slots, and must not make a look-up read all objects.
const SLOTS_MAX: usize = 4096;
const PLACES_MAX: usize = 16;

/// The table, in memory.
#[derive(Debug)]
pub(super) struct Slots {
    /// The slots, and behind them [`READ_BYTES`] zeros, so that each slot can be read so.
    bytes: Vec<u8>,
    /// The bytes of a slot.
    width: usize,
    /// The bits of a slot among those that are read.
    mask: u64,
    form: SlotForm,
    /// The number of keys.
    keys: u64,
}

/// The bytes that are read for a slot.
const READ_BYTES: usize = 8;

/// A step of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// The key may be that of the object at this place.
    At(Place),
    /// The table has more places that fit the hash than a look-up may read: the key is to be looked
    /// up in the order of the keys.
    InOrder,
}

impl Slots {
    pub(super) fn load(file: &PackFile, layout: &SlotsLayout, keys: u64) -> Result<Self> {
        let mut bytes = section(file, layout.section)?;
        let (form, width) = (layout.form, u64::from(layout.form.width));
        let len = layout.count.checked_mul(width);
        if !form.is_sound() || len != Some(bytes.len() as u64) {
            return Err(damaged(file.path(), "the table of keys has the wrong size"));
        }
        // More would be reserved by itself: as much again.
        bytes.reserve_exact(READ_BYTES);
        bytes.extend_from_slice(&[0; READ_BYTES]);
        Ok(Self {
            bytes,
            width: width as usize,
            mask: u64::MAX >> (64 - 8 * width),
            form,
            keys,
        })
    }

    /// The slot at an offset, which is 0 behind the last; `None` behind that.
    #[inline]
    fn slot(&self, at: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(READ_BYTES)?)?;
        let mut slot = [0; READ_BYTES];
        slot.copy_from_slice(bytes);
        Some(u64::from_le_bytes(slot) & self.mask)
    }

    /// The offset of a slot.
    #[inline]
    fn offset(&self, slot: u64) -> usize {
        // There are not more slots than can be counted in memory.
        (slot as usize).saturating_mul(self.width)
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        self.offset(SlotForm::home(hash, self.keys))
    }

    /// The places of the objects whose key may have this hash.
    #[inline]
    pub(super) fn candidates(&self, hash: u64) -> Candidates<'_> {
        Candidates {
            slots: self,
            hash_part: self.form.hash_part(hash),
            at: self.home(hash),
            slots_left: SLOTS_MAX,
            places_left: PLACES_MAX,
        }
    }

    /// Brings the first slot of a hash into the processor's cache. The result has no meaning.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u64 {
        self.slot(self.home(hash)).unwrap_or(0)
    }

    /// Whether this is the table of the keys with these hashes and places, which are in order.
    pub(super) fn has_only(&self, keys: &[(u64, Place)]) -> bool {
        let mut next = 0;
        for (hash, place) in keys {
            let at = SlotForm::home(*hash, self.keys).max(next);
            let is_gap = (next..at).all(|at| self.slot(self.offset(at)) == Some(0));
            if !is_gap || self.slot(self.offset(at)) != Some(self.form.slot(*hash, *place)) {
                return false;
            }
            next = at + 1;
        }
        self.offset(next) == self.bytes.len() - READ_BYTES
    }
}

/// The steps of a look-up.
pub(super) struct Candidates<'s> {
    slots: &'s Slots,
    hash_part: u64,
    at: usize,
    slots_left: usize,
    places_left: usize,
}

impl Iterator for Candidates<'_> {
    type Item = Candidate;

    #[inline]
    fn next(&mut self) -> Option<Candidate> {
        loop {
            let slot = self.slots.slot(self.at).filter(|slot| *slot != 0)?;
            if self.slots_left == 0 {
                return Some(Candidate::InOrder);
            }
            self.slots_left -= 1;
            self.at += self.slots.width;
            if let Some(place) = self.slots.form.place(slot, self.hash_part) {
                if self.places_left == 0 {
                    return Some(Candidate::InOrder);
                }
                self.places_left -= 1;
                return Some(Candidate::At(place));
            }
        }
    }
}
