//! The table from the hashes of keys to the places of objects.

use dflat_engine::Result;

use super::run::section;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Packed, Place, SlotForm, SlotsLayout};

/// The largest numbers of slots and of places that a look-up goes through. Keys come in tables that
/// this library writes within fewer slots, unless the hashes of many keys are equal. A table of
/// another program may have any slots, and must not make a look-up read all objects.
const SLOTS_MAX: u64 = 4096;
const PLACES_MAX: usize = 16;

/// The table, in memory.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Packed,
    form: SlotForm,
    /// The number of keys.
    keys: u64,
}

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
        let bytes = section(file, layout.section)?;
        let form = layout.form;
        let sound = form.is_sound().then_some(form.width);
        let slots = sound.and_then(|width| Packed::new(bytes, width, layout.count));
        let slots =
            slots.ok_or_else(|| damaged(file.path(), "the table of keys has the wrong size"))?;
        Ok(Self { slots, form, keys })
    }

    /// The places of the objects whose key may have this hash.
    #[inline]
    pub(super) fn candidates(&self, hash: u64) -> Candidates<'_> {
        let home = SlotForm::home(hash, self.keys);
        Candidates {
            slots: self,
            hash_part: self.form.hash_part(hash),
            at: home,
            end: home + SLOTS_MAX,
            places: 0,
        }
    }

    /// Brings the first slot of a hash into the processor's cache. The result has no meaning.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u64 {
        let home = SlotForm::home(hash, self.keys);
        self.slots.get(home).unwrap_or(0)
    }

    /// Whether this is the table of the keys with these hashes and places, which are in order.
    pub(super) fn has_only(&self, keys: &[(u64, Place)]) -> bool {
        let mut next = 0;
        for (hash, place) in keys {
            let at = SlotForm::home(*hash, self.keys).max(next);
            let is_gap = (next..at).all(|at| self.slots.get(at) == Some(0));
            if !is_gap || self.slots.get(at) != Some(self.form.slot(*hash, *place)) {
                return false;
            }
            next = at + 1;
        }
        self.slots.get(next).is_none()
    }
}

/// The steps of a look-up.
pub(super) struct Candidates<'s> {
    slots: &'s Slots,
    hash_part: u64,
    at: u64,
    end: u64,
    places: usize,
}

impl Iterator for Candidates<'_> {
    type Item = Candidate;

    #[inline]
    fn next(&mut self) -> Option<Candidate> {
        loop {
            let slot = self.slots.slots.get(self.at).filter(|slot| *slot != 0)?;
            if self.at >= self.end {
                return Some(Candidate::InOrder);
            }
            self.at += 1;
            if let Some(place) = self.slots.form.place(slot, self.hash_part) {
                if self.places >= PLACES_MAX {
                    return Some(Candidate::InOrder);
                }
                self.places += 1;
                return Some(Candidate::At(place));
            }
        }
    }
}
