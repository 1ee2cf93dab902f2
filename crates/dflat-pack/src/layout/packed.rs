//! Numbers of a fixed width of up to eight bytes, one behind the other, little-endian.

/// Reads packed numbers.
#[derive(Debug)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    width: usize,
}

impl Packed {
    /// `None` if the bytes do not have exactly `count` numbers of this width.
    pub(crate) fn new(bytes: Vec<u8>, width: u8, count: u64) -> Option<Self> {
        let width = usize::from(width);
        let fits = (1..=8).contains(&width);
        let len = count.checked_mul(width as u64)?;
        (fits && bytes.len() as u64 == len).then_some(Self { bytes, width })
    }

    /// The number at an index; `None` beyond the last.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<u64> {
        let start = usize::try_from(index).ok()?.checked_mul(self.width)?;
        if let Some(eight) = self.bytes.get(start..start.checked_add(8)?) {
            // Most numbers have eight bytes to read from there on.
            let eight = u64::from_le_bytes(*eight.first_chunk()?);
            let unused = 64 - 8 * self.width as u32;
            return Some(eight << unused >> unused);
        }
        let bytes = self.bytes.get(start..start + self.width)?;
        let mut eight = [0; 8];
        eight.get_mut(..self.width)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(eight))
    }
}

/// The width for numbers up to this one: 2, 4 or 8 bytes.
pub(crate) const fn width_of(max: u64) -> u8 {
    if max <= u16::MAX as u64 {
        2
    } else if max <= u32::MAX as u64 {
        4
    } else {
        8
    }
}

/// Appends a number that fits the width.
pub(crate) fn append(number: u64, width: u8, out: &mut Vec<u8>) {
    let bytes = number.to_le_bytes();
    out.extend_from_slice(bytes.get(..usize::from(width)).unwrap_or(&bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_appended() {
        for width in 1..=8_u8 {
            let max = u64::MAX >> (64 - 8 * u32::from(width));
            let numbers = [0, 1, max, max / 3, max - 1];
            let mut bytes = Vec::new();
            numbers
                .iter()
                .for_each(|number| append(*number, width, &mut bytes));
            assert!(Packed::new(bytes.clone(), width, 4).is_none());
            let packed = Packed::new(bytes, width, 5).expect("there are five");
            for (index, number) in (0..).zip(numbers) {
                assert_eq!(packed.get(index), Some(number), "{width}");
            }
            assert_eq!(packed.get(5), None);
            assert_eq!(packed.get(u64::MAX), None);
        }
    }
}
