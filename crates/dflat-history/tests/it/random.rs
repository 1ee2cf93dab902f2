//! Random numbers that are the same for the same seed.

use dflat_model::{Value, ValueRef};

/// `SplitMix64`.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }
}

/// The keys of one tree: which type their values have, and how near they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    shape: usize,
    spread: usize,
}

/// The number of shapes.
const SHAPES: usize = 9;

impl Keys {
    pub(crate) fn any(random: &mut Random) -> Self {
        Self {
            shape: random.below(SHAPES),
            spread: 1 << random.below(13),
        }
    }

    /// Integers below this number.
    pub(crate) fn integers(spread: usize) -> Self {
        Self { shape: 0, spread }
    }

    pub(crate) fn key(&self, random: &mut Random) -> Vec<u8> {
        let number = random.below(self.spread) as i64;
        let values: Vec<Value> = match self.shape {
            0 => vec![Value::Int(number)],
            1 => vec![Value::Int(-number)],
            2 => vec![ValueRef::from_u64(u64::MAX - number as u64).to_value()],
            3 => vec![Value::Float(number as f64 / 16.0 - 10.0)],
            4 => vec![
                Value::text(&"x\0".repeat(number as usize % 40)),
                Value::Int(number),
            ],
            5 => vec![Value::Int(number & 1)],
            6 => vec![Value::text(&format!("customer {number:06}")), Value::Null],
            7 => vec![
                Value::text(&"long".repeat(random.below(900))),
                Value::Int(number),
            ],
            _ => vec![
                Value::Int(number % 7),
                Value::Float(number as f64 * 1e17),
                Value::text(&number.to_string()),
            ],
        };
        dflat_model::key::encode(values.iter().map(Value::as_ref))
    }
}
