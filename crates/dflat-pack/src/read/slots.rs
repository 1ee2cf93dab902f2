//! The table from the hashes of keys to the places of objects.

use dflat_engine::Result;

use super::run::section;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Packed, Place, SlotForm, SlotsLayout};

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

    /// The places of the objects whose key may have this hash.
    pub(super) fn places(&self, hash: u64) -> impl Iterator<Item = Place> {
        let home = SlotForm::home(hash, self.keys);
        let slots = (home..).map_while(|at| self.slots.get(at).filter(|slot| *slot != 0));
        slots.filter_map(move |slot| self.form.place(slot, hash))
    }
}
