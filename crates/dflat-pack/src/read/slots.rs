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
    /// The slots, and behind them [`WINDOW_BYTES`] zeros, so that a window begins at each slot.
    bytes: Vec<u8>,
    /// The bytes of a slot.
    width: usize,
    /// The bits of a slot among those that are read.
    mask: u64,
    form: SlotForm,
    /// The bits of a slot that are of the hash.
    hash_bits: u64,
    /// The number of slots in which the first slots of all keys lie.
    homes: u64,
}

/// The bytes that are read for a slot.
const READ_BYTES: usize = 8;

/// The slots of a window, which are compared with a hash at once. Of 100 keys, 96 lie within as
/// many slots.
const WINDOW: usize = 8;
const WINDOW_BYTES: usize = WINDOW * READ_BYTES;

/// The windows in which a key nearly always is.
const WINDOWS_LIKELY: usize = 64;

/// A step of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// The key may be that of the object at this place.
    At(Place),
    /// The table has more places that fit the hash than a look-up may read: the key is to be looked
    /// up in the order of the keys.
    InOrder,
}

/// The result of a look-up in the first slots of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likely {
    /// The key is nearly always that of the object at this place.
    At(Place),
    /// There is no such key.
    Absent,
    /// The key may be in the slots that follow.
    Unknown,
}

impl Slots {
    pub(super) fn load(file: &PackFile, layout: &SlotsLayout, keys: u64) -> Result<Self> {
        let bytes = section(file, layout.section)?;
        let (form, width) = (layout.form, u64::from(layout.form.width));
        let len = layout.count.checked_mul(width);
        if !form.is_sound() || len != Some(bytes.len() as u64) {
            return Err(damaged(file.path(), "the table of keys has the wrong size"));
        }
        Ok(Self::new(bytes, form, keys))
    }

    /// The table with these bytes of so many keys. The form is sound.
    fn new(mut bytes: Vec<u8>, form: SlotForm, keys: u64) -> Self {
        // More would be reserved by itself: as much again.
        bytes.reserve_exact(WINDOW_BYTES);
        bytes.extend_from_slice(&[0; WINDOW_BYTES]);
        Self {
            bytes,
            width: usize::from(form.width),
            mask: u64::MAX >> (64 - 8 * u32::from(form.width)),
            form,
            hash_bits: form.hash_part(u64::MAX),
            homes: SlotForm::slots(keys),
        }
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

    /// The first slot of a hash.
    #[inline]
    fn first(&self, hash: u64) -> u64 {
        SlotForm::home_among(hash, self.homes)
    }

    /// The offset of the first slot of a hash.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        self.offset(self.first(hash))
    }

    /// Looks up a hash in its first slots.
    ///
    /// If the first window has a slot with the hash, no branch depends on which slot it is. So the
    /// processor begins the next look-up while it waits for the memory of this one.
    #[inline]
    pub(super) fn likely(&self, hash: u64) -> Likely {
        let hash_part = self.form.hash_part(hash);
        let at = self.home(hash);
        let Some(window) = self.window(at) else {
            return Likely::Unknown;
        };
        let slot = match self.width {
            3 => self.first_alike::<3>(window, hash_part),
            4 => self.first_alike::<4>(window, hash_part),
            5 => self.first_alike::<5>(window, hash_part),
            6 => self.first_alike::<6>(window, hash_part),
            7 => self.first_alike::<7>(window, hash_part),
            8 => self.first_alike::<8>(window, hash_part),
            _ => 0,
        };
        match self.form.place(slot & self.mask, hash_part) {
            Some(place) => Likely::At(place),
            None => self.likely_behind(at, hash_part),
        }
    }

    #[inline]
    fn window(&self, at: usize) -> Option<&[u8; WINDOW_BYTES]> {
        self.bytes.get(at..)?.first_chunk()
    }

    /// The first slot of a window that has this part of a hash, or 0.
    #[inline]
    fn first_alike<const WIDTH: usize>(&self, window: &[u8; WINDOW_BYTES], hash_part: u64) -> u64 {
        let mut found = 0;
        for number in (0..WINDOW).rev() {
            let slot = slot_of::<WIDTH>(window, number);
            let is_alike = (slot ^ hash_part) & self.hash_bits == 0;
            found = if is_alike { slot } else { found };
        }
        found
    }

    /// Goes on with a look-up behind a window that does not have the hash.
    #[inline(never)]
    fn likely_behind(&self, at: usize, hash_part: u64) -> Likely {
        let likely = match self.width {
            3 => self.likely_in_windows::<3>(at, hash_part),
            4 => self.likely_in_windows::<4>(at, hash_part),
            5 => self.likely_in_windows::<5>(at, hash_part),
            6 => self.likely_in_windows::<6>(at, hash_part),
            7 => self.likely_in_windows::<7>(at, hash_part),
            8 => self.likely_in_windows::<8>(at, hash_part),
            _ => None,
        };
        likely.unwrap_or(Likely::Unknown)
    }

    #[inline]
    fn likely_in_windows<const WIDTH: usize>(&self, at: usize, hash_part: u64) -> Option<Likely> {
        let mut window = self.window(at)?;
        for next in (at..).step_by(WINDOW * WIDTH).skip(1).take(WINDOWS_LIKELY) {
            let is_gap = |number| slot_of::<WIDTH>(window, number) & self.mask == 0;
            if (0..WINDOW).fold(false, |has_gap, number| has_gap | is_gap(number)) {
                return Some(Likely::Absent);
            }
            window = self.window(next)?;
            let slot = self.first_alike::<WIDTH>(window, hash_part);
            if let Some(place) = self.form.place(slot & self.mask, hash_part) {
                return Some(Likely::At(place));
            }
        }
        None
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
            let at = self.first(*hash).max(next);
            let is_gap = (next..at).all(|at| self.slot(self.offset(at)) == Some(0));
            if !is_gap || self.slot(self.offset(at)) != Some(self.form.slot(*hash, *place)) {
                return false;
            }
            next = at + 1;
        }
        self.offset(next) == self.bytes.len() - WINDOW_BYTES
    }
}

/// A slot of a window, with bits of the next one behind its own.
#[inline]
fn slot_of<const WIDTH: usize>(window: &[u8; WINDOW_BYTES], number: usize) -> u64 {
    let slot = window.get(number * WIDTH..).and_then(<[u8]>::first_chunk);
    slot.map_or(0, |slot| u64::from_le_bytes(*slot))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of keys with random hashes, and the places of the keys.
    fn table(form: SlotForm, keys: u64, number: &mut impl FnMut() -> u64) -> (Slots, Vec<u64>) {
        let mut hashes: Vec<u64> = (0..keys).map(|_| number()).collect();
        hashes.sort_unstable();
        let mut bytes = Vec::new();
        for (key, hash) in (0..).zip(&hashes) {
            let home = SlotForm::home(*hash, keys) as usize * usize::from(form.width);
            bytes.resize(bytes.len().max(home), 0);
            let slot = form.slot(*hash, place(key)).to_le_bytes();
            bytes.extend_from_slice(&slot[..usize::from(form.width)]);
        }
        (Slots::new(bytes, form, keys), hashes)
    }

    const fn place(key: u64) -> Place {
        Place {
            offset: 8 * key,
            len: 1,
        }
    }

    #[test]
    fn likely_places_are_candidates_in_slots_of_each_width() {
        let mut state = 7_u64;
        let mut number = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        for width in 3..=8 {
            let form = SlotForm {
                width,
                offset_bits: 11,
                len_bits: 1,
            };
            let (slots, hashes) = table(form, 2000, &mut number);
            let mut unknown = 0;
            for (key, hash) in (0..).zip(&hashes) {
                let places: Vec<Candidate> = slots.candidates(*hash).collect();
                assert!(places.contains(&Candidate::At(place(key))));
                match slots.likely(*hash) {
                    Likely::At(found) => assert!(places.contains(&Candidate::At(found))),
                    Likely::Absent => panic!("the key {key} is there"),
                    Likely::Unknown => unknown += 1,
                }
            }
            let mut absent = 0;
            for _ in 0..2000 {
                let hash = number();
                let likely = slots.likely(hash);
                if likely == Likely::Absent {
                    assert!(slots.candidates(hash).next().is_none());
                    absent += 1;
                }
                unknown += u32::from(likely == Likely::Unknown);
            }
            assert!(
                absent > 1900 && unknown < 100,
                "{width}: {absent}, {unknown}"
            );
        }
    }
}
