//! The name of a commit.

use std::fmt;

use crate::chunk::Address;

/// The id of a commit: a hash of its parents, of its content and of the steps that it closes. It
/// is the same in every file that has the commit. `Display` shows it in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(Address);

impl CommitId {
    /// The number of bytes of an id.
    pub const BYTES: usize = Address::BYTES;

    /// The id of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(Address::from_bytes(bytes))
    }

    /// The bytes of the id.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        self.0.as_bytes()
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
