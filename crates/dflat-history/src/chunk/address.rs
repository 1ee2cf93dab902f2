//! The hash by which a chunk or a payload is named.

use std::fmt;

/// The BLAKE3 hash of the bytes of a chunk or of a payload: 32 bytes.
///
/// The whole hash is kept. A peer that sends chunks may be hostile, and two different payloads
/// with one hash would make two devices believe that they have the same content. To find such a
/// pair takes about 2^128 attempts for 32 bytes, and 2^80 for the 20 bytes of Dolt and Git; 2^80
/// attempts are within the reach of large machines. The difference costs 12 bytes for an object,
/// about one hundredth of an object of 1 KiB.
///
/// Addresses compare as their bytes do, and `Display` shows them in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address([u8; Self::BYTES]);

impl Address {
    /// The number of bytes of an address.
    pub const BYTES: usize = 32;

    /// The address of these bytes.
    #[inline]
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The address that has been read from a store or from a peer.
    #[inline]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes of the address.
    #[inline]
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// The first 64 bits, for tables in memory.
    #[inline]
    pub(crate) fn first_bits(&self) -> u64 {
        self.0
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
