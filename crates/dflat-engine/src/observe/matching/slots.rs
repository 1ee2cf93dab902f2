//! Slots of live queries by hash.

use std::collections::HashMap;

use crate::query::hash::Prehashed;

/// Slots by the upper half of a hash, so that callers must check whether a slot is the right one.
///
/// A slot that is alone under its hash, as most are, takes nine bytes of a table that is at least
/// half full.
#[derive(Default)]
pub(in super::super) struct Slots {
    alone: HashMap<u32, u32, Prehashed>,
    /// Several slots with the same hash, ascending.
    several: HashMap<u32, Vec<u32>, Prehashed>,
}

const fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl Slots {
    pub(in super::super) fn is_empty(&self) -> bool {
        self.alone.is_empty() && self.several.is_empty()
    }

    /// The slots of a hash, ascending.
    #[inline]
    pub(in super::super) fn get(&self, hash: u64) -> &[u32] {
        let half = half(hash);
        match self.alone.get(&half) {
            Some(slot) => std::slice::from_ref(slot),
            None if self.several.is_empty() => &[],
            None => self.several.get(&half).map_or(&[], Vec::as_slice),
        }
    }

    /// Inserts a slot, if it is not there.
    pub(in super::super) fn insert(&mut self, hash: u64, slot: u32) {
        let half = half(hash);
        if let Some(slots) = self.several.get_mut(&half) {
            if let Err(at) = slots.binary_search(&slot) {
                slots.insert(at, slot);
            }
            return;
        }
        match self.alone.insert(half, slot) {
            Some(other) if other != slot => {
                self.alone.remove(&half);
                let slots = vec![slot.min(other), slot.max(other)];
                self.several.insert(half, slots);
            }
            _ => {}
        }
    }

    /// Removes a slot, if it is there.
    pub(in super::super) fn remove(&mut self, hash: u64, slot: u32) {
        let half = half(hash);
        if self.alone.get(&half) == Some(&slot) {
            self.alone.remove(&half);
            return;
        }
        let Some(slots) = self.several.get_mut(&half) else {
            return;
        };
        if let Ok(at) = slots.binary_search(&slot) {
            slots.remove(at);
        }
        if let [left] = slots.as_slice() {
            let left = *left;
            self.several.remove(&half);
            self.alone.insert(half, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn slots_of_a_hash_are_those_inserted_and_not_removed() {
        let mut slots = Slots::default();
        let mut model = vec![BTreeSet::new(); 7];
        for n in 0..2000_u32 {
            let (key, slot) = (n * n % 7, n * 31 % 11);
            let hash = u64::from(key) << 32;
            if n % 5 < 2 {
                slots.remove(hash, slot);
                model[key as usize].remove(&slot);
            } else {
                slots.insert(hash, slot);
                model[key as usize].insert(slot);
            }
            let expected: Vec<u32> = model[key as usize].iter().copied().collect();
            assert_eq!(slots.get(hash), expected);
            assert_eq!(slots.is_empty(), model.iter().all(BTreeSet::is_empty));
        }
        for key in 0..7 {
            (0..11).for_each(|slot| slots.remove(key << 32, slot));
        }
        assert!(slots.is_empty() && slots.get(0).is_empty());
    }
}
