//! A table from the hashes of keys to their numbers, in memory.

/// A key is looked up in the order of keys if it would be so many slots away from its own.
const PROBES_MAX: usize = 64;

/// The slots, a power of two of them and at most half full. A slot has a number plus one in its low
/// half, and the high half of the hash in its high half. An empty slot is 0.
#[derive(Debug)]
pub(super) struct KeyTable(Vec<u64>);

/// The table was not built.
pub(super) struct NotBuilt;

impl KeyTable {
    /// The table of the keys with these hashes, which are numbered from 0 on. It is not built if
    /// many keys have like hashes, as only a program that looks for such keys can make them.
    pub(super) fn new(hashes: impl ExactSizeIterator<Item = u64>) -> Self {
        if u32::try_from(hashes.len()).is_err() {
            return Self(Vec::new());
        }
        let mut slots = vec![0; (2 * hashes.len() + 2).next_power_of_two()];
        for (number, hash) in (1..).zip(hashes) {
            let free = Self::probes(slots.len(), hash).find(|at| slots.get(*at) == Some(&0));
            match free.and_then(|at| slots.get_mut(at)) {
                Some(slot) => *slot = hash & HIGH | number,
                None => return Self(Vec::new()),
            }
        }
        Self(slots)
    }

    /// The number of the key with a hash.
    ///
    /// # Errors
    /// [`NotBuilt`].
    #[inline]
    pub(super) fn find(
        &self,
        hash: u64,
        is_key: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>, NotBuilt> {
        if self.0.is_empty() {
            return Err(NotBuilt);
        }
        for at in Self::probes(self.0.len(), hash) {
            let slot = self.0.get(at).copied().unwrap_or(0);
            if slot == 0 {
                break;
            }
            let number = (slot & !HIGH) as usize - 1;
            if slot & HIGH == hash & HIGH && is_key(number) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The slots in which a key may be.
    fn probes(slots: usize, hash: u64) -> impl Iterator<Item = usize> {
        let home = hash as usize & (slots - 1);
        (home..)
            .map(move |at| at & (slots - 1))
            .take(PROBES_MAX.min(slots))
    }
}

/// The high half of a slot.
const HIGH: u64 = !(u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_hashes() {
        for count in [0, 1, 2, 3, 1000_u64] {
            let hash = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let table = KeyTable::new((0..count as usize).map(|key| hash(key as u64)));
            for key in 0..count + 10 {
                let found = table.find(hash(key), |number| number as u64 == key);
                let expected = (key < count).then_some(key as usize);
                assert!(
                    found.is_ok_and(|found| found == expected),
                    "{key} of {count}"
                );
            }
        }
    }

    #[test]
    fn table_of_keys_with_one_hash_is_not_built() {
        let table = KeyTable::new((0..PROBES_MAX).map(|_| u64::MAX));
        let last = table.find(u64::MAX, |number| number == PROBES_MAX - 1);
        assert!(last.is_ok_and(|last| last == Some(PROBES_MAX - 1)));
        let table = KeyTable::new((0..PROBES_MAX + 1).map(|_| u64::MAX));
        assert!(table.find(u64::MAX, |_| true).is_err());
    }
}
