//! Hashes of values. They take a few instructions each, because every changed row needs some, and
//! so does every row that is compared with a long list.

use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

use dflat_model::ValueRef;

/// Random numbers of this process, so that values cannot be chosen to have equal hashes.
static SECRET: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let state = RandomState::new();
    [0_u64, 1].map(|n| state.hash_one(n))
});

/// A hash of two numbers.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    mix_with(*SECRET, a, b)
}

#[inline]
fn mix_with([first, second]: [u64; 2], a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ first) * u128::from(b ^ second);
    // With both halves, each bit of either number changes about half of the bits of the hash.
    (product as u64) ^ ((product >> 64) as u64)
}

/// A hash of a value. Values that compare as equal have the same hash.
#[inline]
pub(crate) fn of_value(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Null => mix(0, 1),
        ValueRef::Int(int) => mix(int as u64, 2),
        ValueRef::UInt(int) => mix(int, 3),
        ValueRef::Float(float) => {
            let int = float as i64;
            match ValueRef::Int(int).order(value) {
                Ordering::Equal => mix(int as u64, 2),
                _ => mix(float.to_bits(), 4),
            }
        }
        ValueRef::Text(text) => of_bytes(text.as_bytes()),
    }
}

/// The hash of a string, given its bytes.
#[inline]
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    let secret = *SECRET;
    let mut hash = mix_with(secret, bytes.len() as u64, 5);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = mix_with(secret, hash, u64::from_le_bytes(*word));
    }
    // The last word overlaps the one before. Strings of other lengths differ by the length hashed
    // first.
    let last = match bytes.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => rest
            .iter()
            .fold(0, |last, byte| last << 8 | u64::from(*byte)),
    };
    mix_with(secret, hash, last)
}

/// Builds the hasher of maps whose keys are hashes or numbers.
pub(crate) type Prehashed = BuildHasherDefault<PrehashedHasher>;

/// A hasher for keys that are numbers, hashes, or the upper half of a hash, which the hasher
/// repeats.
#[derive(Default)]
pub(crate) struct PrehashedHasher(u64);

impl Hasher for PrehashedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = of_bytes(bytes);
    }

    fn write_i64(&mut self, number: i64) {
        self.0 = mix(number as u64, 6);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write_u32(&mut self, half: u32) {
        self.0 = u64::from(half) << 32 | u64::from(half);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn equal_values_have_equal_hashes_and_unequal_values_different_ones() {
        let same = [ValueRef::Int(3), ValueRef::Float(3.0)].map(of_value);
        assert_eq!(same[0], same[1]);
        assert_eq!(
            of_value(ValueRef::Float(0.0)),
            of_value(ValueRef::Float(-0.0))
        );
        let texts: Vec<String> = (0..10_000).map(|n| format!("text {n}")).collect();
        let texts = texts.iter().map(|text| ValueRef::Text(text));
        let numbers = (0..10_000).map(ValueRef::Int);
        let halves = (0..10_000).map(|n| ValueRef::Float(f64::from(n) + 0.5));
        let others = [ValueRef::Null, ValueRef::UInt(u64::MAX), ValueRef::Text("")];
        let all = texts.chain(numbers).chain(halves).chain(others);
        let hashes: HashSet<u64> = all.map(of_value).collect();
        assert_eq!(hashes.len(), 30_003);
        // Hash maps use the lowest and the highest bits.
        let low: HashSet<u64> = hashes.iter().map(|hash| hash & 0xff).collect();
        let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert_eq!((low.len(), high.len()), (256, 128));
    }
}
