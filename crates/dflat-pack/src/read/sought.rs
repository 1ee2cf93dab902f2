//! Keys that are looked up.

use dflat_model::ValueRef;

use crate::layout::key_hash;

/// A key that is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought<'k> {
    pub(super) encoded: &'k [u8],
    pub(super) hash: u64,
    /// The value of a key of one value, if it is known.
    value: Option<ValueRef<'k>>,
}

impl<'k> Sought<'k> {
    /// An encoded key and its values, which are compared sooner than the bytes.
    #[inline]
    pub(super) fn new(encoded: &'k [u8], values: &[ValueRef<'k>]) -> Self {
        Self::hashed(encoded, values, key_hash(encoded))
    }

    /// As [`new`](Self::new), with the hash of the encoded key.
    #[inline]
    pub(super) const fn hashed(encoded: &'k [u8], values: &[ValueRef<'k>], hash: u64) -> Self {
        Self {
            encoded,
            hash,
            value: match values {
                [value] => Some(*value),
                _ => None,
            },
        }
    }

    /// Whether the key has the only value of another one; `None` if the encoded keys have to be
    /// compared.
    #[inline]
    pub(super) fn equals(&self, other: ValueRef<'_>) -> Option<bool> {
        match (self.value?, other) {
            (ValueRef::Int(own), ValueRef::Int(other)) => Some(own == other),
            (ValueRef::UInt(own), ValueRef::UInt(other)) => Some(own == other),
            (ValueRef::Int(one), ValueRef::UInt(other))
            | (ValueRef::UInt(other), ValueRef::Int(one)) => Some(u64::try_from(one) == Ok(other)),
            (ValueRef::Text(own), ValueRef::Text(other)) => Some(own == other),
            _ => None,
        }
    }
}

impl<'k> From<&'k [u8]> for Sought<'k> {
    fn from(encoded: &'k [u8]) -> Self {
        Self::new(encoded, &[])
    }
}

impl<'k> From<&'k Vec<u8>> for Sought<'k> {
    fn from(encoded: &'k Vec<u8>) -> Self {
        Self::new(encoded, &[])
    }
}

#[cfg(test)]
mod tests {
    use dflat_model::key::encode;

    use super::*;

    #[test]
    fn values_are_equal_when_their_encoded_keys_are() {
        let values = [
            ValueRef::Null,
            ValueRef::Int(-1),
            ValueRef::Int(7),
            ValueRef::UInt(7),
            ValueRef::UInt(u64::MAX),
            ValueRef::Float(0.0),
            ValueRef::Float(-0.0),
            ValueRef::Float(7.0),
            ValueRef::Text(""),
            ValueRef::Text("a"),
            ValueRef::Text("a\0b"),
        ];
        let mut decided = 0;
        for own in values {
            let encoded = encode([own]);
            let sought = Sought::new(&encoded, &[own]);
            assert_eq!(Sought::from(&encoded).equals(own), None);
            for other in values {
                if let Some(equal) = sought.equals(other) {
                    assert_eq!(equal, encoded == encode([other]), "{own:?} {other:?}");
                    decided += 1;
                }
            }
        }
        assert_eq!(decided, 16 + 9);
    }
}
