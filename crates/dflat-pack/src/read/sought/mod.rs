//! Keys that are looked up.

mod integer;

use dflat_model::ValueRef;
use dflat_model::key::{self, IntegerKey};
use integer::integer;
pub(super) use integer::{IntegerField, integer_of};

use crate::layout::{integer_hash, key_hash};

/// A key that is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought<'k> {
    encoded: Encoded<'k>,
    pub(super) hash: u64,
    /// The value of a key of one value, if it is known.
    value: Option<ValueRef<'k>>,
}

#[derive(Clone, Copy, Debug)]
enum Encoded<'k> {
    Integer(IntegerKey),
    Bytes(&'k [u8]),
}

impl<'k> Sought<'k> {
    /// The key of these values. The buffer is used if they are not one integer.
    #[inline]
    pub(super) fn of(values: &[ValueRef<'k>], buffer: &'k mut Vec<u8>) -> Self {
        if let [value] = values
            && let Some(key) = IntegerKey::of(*value)
        {
            return Self {
                encoded: Encoded::Integer(key),
                hash: integer_hash(key),
                value: Some(*value),
            };
        }
        buffer.clear();
        key::append_all(values.iter().copied(), buffer);
        Self {
            encoded: Encoded::Bytes(buffer),
            hash: key_hash(buffer),
            value: match values {
                [value] => Some(*value),
                _ => None,
            },
        }
    }

    /// The encoded key.
    pub(super) fn encoded(&self) -> &[u8] {
        match &self.encoded {
            Encoded::Integer(key) => key.bytes(),
            Encoded::Bytes(bytes) => bytes,
        }
    }

    /// The number of a key of one integer.
    #[inline]
    pub(super) fn number(&self) -> Option<i128> {
        integer(self.value?)
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
        Self {
            encoded: Encoded::Bytes(encoded),
            hash: key_hash(encoded),
            value: None,
        }
    }
}

impl<'k> From<&'k Vec<u8>> for Sought<'k> {
    fn from(encoded: &'k Vec<u8>) -> Self {
        Self::from(encoded.as_slice())
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
            let mut buffer = Vec::new();
            let sought = Sought::of(&[own], &mut buffer);
            assert_eq!(sought.encoded(), encoded);
            assert_eq!(sought.hash, key_hash(&encoded));
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
