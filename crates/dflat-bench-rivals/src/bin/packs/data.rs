//! Keys, values and their sums.

use dflat::Payload;

use crate::schema::PackedData;

/// `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, (self.number() % (at as u64 + 1)) as usize);
        }
    }
}

/// The objects of a run.
pub(crate) struct Data {
    /// The size of a payload in bytes.
    pub(crate) size: usize,
    /// The keys in their order. Those of the objects are odd.
    pub(crate) keys: Vec<u64>,
    /// The bytes that a payload has beside its text.
    overhead: usize,
}

const WORDS: [&str; 16] = [
    "river ", "stone ", "of ", "the ", "green ", "seven ", "morning ", "under ", "a ", "lantern ",
    "quietly ", "and ", "copper ", "walks ", "to ", "harbour ",
];

impl Data {
    pub(crate) fn new(objects: usize, size: usize) -> Self {
        let mut random = Random(7);
        let mut keys: Vec<u64> = (0..objects).map(|_| random.number() | 1).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut data = Self {
            size,
            keys,
            overhead: 0,
        };
        let sample = data.payload(1, size);
        data.overhead = sample.len() - size;
        data
    }

    /// A text of some words and numbers, which compresses about as logs do.
    fn text(key: u64, len: usize) -> String {
        let mut random = Random(key);
        let mut text = String::with_capacity(len + 20);
        while text.len() < len {
            let number = random.number();
            text.push_str(WORDS[(number % 16) as usize]);
            if number & 0x30 == 0 {
                text.push_str(&(number >> 44).to_string());
            }
        }
        text.truncate(len);
        text
    }

    pub(crate) fn object(&self, key: u64) -> PackedData {
        PackedData {
            id: key,
            text: Some(Self::text(key, self.size - self.overhead)),
        }
    }

    fn payload(&self, key: u64, len: usize) -> Vec<u8> {
        let object = PackedData {
            id: key,
            text: Some(Self::text(key, len)),
        };
        object.to_bytes().expect("it is small")
    }

    /// The value of a key: the payload of its object.
    pub(crate) fn value(&self, key: u64) -> Vec<u8> {
        self.payload(key, self.size - self.overhead)
    }

    /// The keys of look-ups, at random.
    pub(crate) fn sample(&self, count: usize, seed: u64) -> Vec<u64> {
        let mut random = Random(seed);
        let len = self.keys.len() as u64;
        (0..count)
            .map(|_| self.keys[(random.number() % len) as usize])
            .collect()
    }

    /// The keys in another order.
    pub(crate) fn shuffled(&self) -> Vec<u64> {
        let mut keys = self.keys.clone();
        Random(11).shuffle(&mut keys);
        keys
    }
}

/// The sum of all bytes of a value, eight at a time.
pub(crate) fn sum(value: &[u8]) -> u64 {
    let (words, rest) = value.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words.chain(rest).fold(0, u64::wrapping_add)
}
