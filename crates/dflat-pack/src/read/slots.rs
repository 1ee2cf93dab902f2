//! The table from the hashes of keys to the places of objects.

use dflat_engine::Result;

use super::run::section;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Packed, Place, SlotForm, SlotsLayout};

/// The largest numbers of slots and of places that a look-up goes through. Keys come in tables that
/// this library writes within fewer slots, unless the hashes of many keys are equal. A table of
/// another program may have any slots, and must not make a look-up read all objects.
const SLOTS_MAX: usize = 4096;
const PLACES_MAX: usize = 16;

/// The table, in memory.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Packed,
    form: SlotForm,
    /// The number of keys.
    keys: u64,
}

impl Slots {
    pub(super) fn load(
        file: &PackFile,
        layout: &SlotsLayout,
        keys: u64,
        blocks: u64,
    ) -> Result<Self> {
        let bytes = section(file, layout.section)?;
        let form = SlotForm::of(blocks);
        let slots = form.and_then(|form| Packed::new(bytes, form.width, layout.count));
        let found = form.zip(slots);
        let (form, slots) =
            found.ok_or_else(|| damaged(file.path(), "the table of keys has the wrong size"))?;
        Ok(Self { slots, form, keys })
    }

    /// The places of the objects whose key may have this hash. `None` says that the table has more
    /// of them than a look-up may read: the key is to be looked up in the order of the keys.
    pub(super) fn places(&self, hash: u64) -> impl Iterator<Item = Option<Place>> {
        let home = SlotForm::home(hash, self.keys);
        let slots = (home..).map_while(|at| self.slots.get(at).filter(|slot| *slot != 0));
        let mut places = 0;
        slots.enumerate().filter_map(move |(number, slot)| {
            if number >= SLOTS_MAX || places >= PLACES_MAX {
                return Some(None);
            }
            let place = self.form.place(slot, hash)?;
            places += 1;
            Some(Some(place))
        })
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
