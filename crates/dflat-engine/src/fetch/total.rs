//! Exact sums.
//!
//! A plan determines the order in which rows are added, and floating-point addition depends on the
//! order. A sum that is rounded only at the end is the same for every plan, so that an index does
//! not change what a query returns. Adding a float this way takes 72 instructions, and 9 with
//! rounding (`an exact sum` in `benches/predicates`).

use dflat_model::{Domain, Value, ValueRef};

/// A sum of values: exact while values are added and removed, rounded once at the end.
#[derive(Clone, Debug, Default)]
pub struct Total {
    count: u64,
    whole: i128,
    /// Allocated for the first float.
    real: Option<Box<RealSum>>,
}

impl Total {
    /// Adds a number; NULL and strings are ignored.
    pub fn add(&mut self, value: ValueRef<'_>) {
        match value {
            // Cannot overflow: 2^63 numbers of 64 bits fit.
            ValueRef::Int(value) => self.whole += i128::from(value),
            ValueRef::UInt(value) => self.whole += i128::from(value),
            ValueRef::Float(value) => match &mut self.real {
                Some(real) => real.add(value),
                None => return self.with_real(value, Self::add),
            },
            ValueRef::Null | ValueRef::Text(_) => return,
        }
        self.count += 1;
    }

    /// Adds a number several times.
    pub(super) fn add_many(&mut self, value: ValueRef<'_>, times: usize) {
        let whole = match value {
            ValueRef::Int(value) => i128::from(value),
            ValueRef::UInt(value) => i128::from(value),
            ValueRef::Null | ValueRef::Text(_) | ValueRef::Float(_) => {
                (0..times).for_each(|_| self.add(value));
                return;
            }
        };
        self.whole += whole * times as i128;
        self.count += times as u64;
    }

    /// Removes a number that was added: the total is then as if the number had not been added.
    pub fn remove(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Int(value) => self.whole -= i128::from(value),
            ValueRef::UInt(value) => self.whole -= i128::from(value),
            ValueRef::Float(value) => match &mut self.real {
                Some(real) => real.remove(value),
                None => return self.with_real(value, Self::remove),
            },
            ValueRef::Null | ValueRef::Text(_) => return,
        }
        self.count = self.count.saturating_sub(1);
    }

    /// Does the operation after the allocation for floats. A separate function, because each
    /// addition takes more instructions with the allocation in it.
    #[cold]
    #[inline(never)]
    fn with_real(&mut self, value: f64, operation: fn(&mut Self, ValueRef<'_>)) {
        self.real = Some(Box::default());
        operation(self, ValueRef::Float(value));
    }

    fn real_sum(&self) -> Option<f64> {
        self.real.as_ref().map_or(Some(0.0), |real| real.sum())
    }

    /// The sum as a value of a domain; `None` if it does not fit. It is NULL if no number was
    /// added, or if both infinities were added.
    #[must_use]
    pub fn sum(&self, domain: Domain) -> Option<Value> {
        if self.count == 0 {
            return Some(Value::Null);
        }
        match domain {
            Domain::Signed => i64::try_from(self.whole).ok().map(Value::Int),
            Domain::Unsigned => {
                let sum = u64::try_from(self.whole).ok()?;
                Some(ValueRef::from_u64(sum).to_value())
            }
            Domain::Float => self
                .real_sum()
                .map(|sum| ValueRef::from_f64(sum).to_value()),
        }
    }

    /// The mean; `None` if the sum does not fit. It is NULL if no number was added, or if both
    /// infinities were added.
    #[must_use]
    pub fn mean(&self, domain: Domain) -> Option<Value> {
        if self.count == 0 {
            return Some(Value::Null);
        }
        let sum = match domain {
            Domain::Signed | Domain::Unsigned => self.whole as f64,
            Domain::Float => self.real_sum()?,
        };
        Some(ValueRef::from_f64(sum / self.count as f64).to_value())
    }
}

/// Bits of a limb.
const LIMB_BITS: usize = 32;
/// Enough for the sum of 2^60 times the largest number.
const LIMBS: usize = 69;
/// The largest number of additions before the carries are propagated: 2^30 parts of 32 bits fit in
/// a limb of 63 bits.
const ADDED_MAX: u32 = 1 << 30;

/// A sum of floating-point numbers as one long fixed-point number: limb `i` counts units of
/// 2 to the power of (32 i - 1074).
#[derive(Clone, Debug)]
struct RealSum {
    limbs: [i64; LIMBS],
    /// The number of additions since the carries were propagated.
    added: u32,
    /// The numbers of negative and positive infinities.
    infinities: [u64; 2],
}

impl Default for RealSum {
    fn default() -> Self {
        Self {
            limbs: [0; LIMBS],
            added: 0,
            infinities: [0; 2],
        }
    }
}

impl RealSum {
    fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.infinities[usize::from(value > 0.0)] += 1;
            return;
        }
        self.add_finite(value);
    }

    fn remove(&mut self, value: f64) {
        if !value.is_finite() {
            let count = &mut self.infinities[usize::from(value > 0.0)];
            *count = count.saturating_sub(1);
            return;
        }
        self.add_finite(-value);
    }

    #[inline]
    fn add_finite(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = (bits >> 52) as usize & 0x7FF;
        let fraction = bits & ((1 << 52) - 1);
        let mantissa = if exponent == 0 {
            fraction
        } else {
            fraction | (1 << 52)
        };
        let position = exponent.max(1) - 1;
        let mut parts = u128::from(mantissa) << (position % LIMB_BITS);
        for limb in self.limbs.iter_mut().skip(position / LIMB_BITS).take(3) {
            let part = (parts & 0xFFFF_FFFF) as i64;
            *limb += if value < 0.0 { -part } else { part };
            parts >>= LIMB_BITS;
        }
        self.added += 1;
        if self.added == ADDED_MAX {
            carry(&mut self.limbs);
            self.added = 0;
        }
    }

    /// The sum, rounded to the nearest number, in a tie to the even one; `None` if it is larger
    /// than every finite number.
    fn sum(&self) -> Option<f64> {
        match self.infinities.map(|count| count > 0) {
            [true, true] => return Some(f64::NAN),
            [true, false] => return Some(f64::NEG_INFINITY),
            [false, true] => return Some(f64::INFINITY),
            [false, false] => {}
        }
        let mut limbs = self.limbs;
        carry(&mut limbs);
        let negative = limbs[LIMBS - 1] < 0;
        if negative {
            limbs.iter_mut().for_each(|limb| *limb = -*limb);
            carry(&mut limbs);
        }
        let magnitude = rounded(&limbs)?;
        Some(if negative { -magnitude } else { magnitude })
    }
}

/// Propagates the carries: each limb then has 32 bits, except the last, which has the sign.
fn carry(limbs: &mut [i64; LIMBS]) {
    let mut over = 0;
    for limb in &mut limbs[..LIMBS - 1] {
        let sum = *limb + over;
        over = sum >> LIMB_BITS;
        *limb = sum & 0xFFFF_FFFF;
    }
    limbs[LIMBS - 1] += over;
}

/// The number nearest to limbs that are not negative.
fn rounded(limbs: &[i64; LIMBS]) -> Option<f64> {
    let bit = |at: usize| (limbs[at / LIMB_BITS] >> (at % LIMB_BITS)) as u64 & 1;
    let Some(top) = limbs.iter().rposition(|limb| *limb != 0) else {
        return Some(0.0);
    };
    let highest = top * LIMB_BITS + limbs[top].ilog2() as usize;
    if highest < 53 {
        // All bits fit, so nothing is rounded. They are the bits of a subnormal or small normal
        // number.
        return Some(f64::from_bits((0..=highest).map(|at| bit(at) << at).sum()));
    }
    if highest > 2098 {
        return None;
    }
    let lowest = highest - 52;
    let mut mantissa: u64 = (0..53).map(|at| bit(lowest + at) << at).sum();
    let half = bit(lowest - 1) == 1;
    let below = (0..lowest - 1).any(|at| bit(at) == 1);
    if half && (below || mantissa & 1 == 1) {
        mantissa += 1;
    }
    // If rounding made the mantissa 2^53, the addition carries into the exponent.
    let bits = ((lowest as u64 + 1) << 52) + (mantissa - (1 << 52));
    Some(f64::from_bits(bits)).filter(|sum| sum.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> Option<f64> {
        let mut total = Total::default();
        values
            .iter()
            .for_each(|value| total.add(ValueRef::Float(*value)));
        match total.sum(Domain::Float)? {
            Value::Float(sum) => Some(sum),
            Value::Null => Some(f64::NAN),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn sums_of_floats_are_exact_until_they_are_rounded() {
        for (values, expected) in [
            (&[1e16, 1.0, -1e16][..], 1.0),
            (&[f64::MAX, f64::MAX, -f64::MAX], f64::MAX),
            (&[0.1; 10], 1.0),
            (&[5e-324, 5e-324], 1e-323),
            (&[f64::MIN_POSITIVE, -5e-324], f64::MIN_POSITIVE - 5e-324),
            (&[1.0, f64::EPSILON / 2.0], 1.0),
            (&[1.0, f64::EPSILON / 2.0, 5e-324], 1.0 + f64::EPSILON),
            (
                &[1.0 + f64::EPSILON, f64::EPSILON / 2.0],
                1.0 + 2.0 * f64::EPSILON,
            ),
            (&[-0.1, -0.2, 0.1, 0.2], 0.0),
            (&[-1e300, 1.0, 1e-300], -1e300),
            (&[f64::INFINITY, 1.0], f64::INFINITY),
        ] {
            assert_eq!(sum(values), Some(expected), "{values:?}");
            let opposite: Vec<f64> = values.iter().map(|value| -value).collect();
            assert_eq!(sum(&opposite), Some(-expected), "{values:?}");
        }
        assert_eq!(sum(&[f64::MAX, f64::MAX]), None);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_some_and(f64::is_nan));
        assert!(sum(&[]).is_some_and(f64::is_nan));
    }

    #[test]
    fn numbers_that_are_removed_leave_no_trace() {
        let kept = [0.1, -1e300, 5e-324];
        let passing = [1e308, 1e308, f64::INFINITY, f64::NEG_INFINITY, -0.3, 1e-200];
        let mut total = Total::default();
        for value in kept.iter().chain(&passing) {
            total.add(ValueRef::Float(*value));
        }
        for value in passing {
            total.remove(ValueRef::Float(value));
        }
        assert_eq!(total.sum(Domain::Float), Some(Value::Float(-1e300)));
        for value in kept {
            total.remove(ValueRef::Float(value));
        }
        assert_eq!(total.sum(Domain::Float), Some(Value::Null));
        for value in [ValueRef::Int(i64::MAX), ValueRef::Int(1), ValueRef::Null] {
            total.add(value);
        }
        assert_eq!(total.sum(Domain::Signed), None);
        total.remove(ValueRef::Null);
        total.remove(ValueRef::Int(i64::MAX));
        assert_eq!(total.sum(Domain::Signed), Some(Value::Int(1)));
    }
}
