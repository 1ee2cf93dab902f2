//! Conditions, queries, places and descriptors as bytes, with a version: to be kept or sent.
//!
//! The format is in `docs/query-format.md`, that of descriptors in `docs/storage-format.md`.
//! Decoding takes any bytes whatsoever: it refuses what is malformed, nests deeper than
//! [`NESTING_MAX`] or is larger than [`BYTES_MAX`], and never allocates more than in proportion to
//! the bytes it has read.

mod descriptor;
mod expression;
mod index;
mod plain;
mod predicate;
mod query;
mod soundness;

use std::fmt;

use crate::{Cursor, Predicate, Query};

/// The version that is written, and of conditions, queries and places the only one that is read.
pub const ENCODING_VERSION: u8 = 1;
/// The version of descriptors with indexes over several fields or of some objects, which are not
/// to be taken for something else by code that does not know such indexes.
pub const DESCRIPTOR_VERSION: u8 = 2;
/// The largest encoding that is read.
pub const BYTES_MAX: usize = 1024 * 1024;
/// How deep an encoding that is read may nest: enough for a query with conditions 256 deep, which
/// stand inside the query, and whose innermost expression has lists of its own.
pub const NESTING_MAX: usize = 259;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// They are of another version.
    Version(u8),
    /// They are malformed, or there are more or fewer than needed.
    Malformed,
    /// They nest deeper than [`NESTING_MAX`].
    TooDeep,
    /// There are more than [`BYTES_MAX`].
    TooLarge,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "version {version} is not known"),
            Self::Malformed => f.write_str("the bytes are malformed"),
            Self::TooDeep => write!(f, "it nests deeper than {NESTING_MAX}"),
            Self::TooLarge => write!(f, "it is larger than {BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for DecodeError {}

type Decoded<T> = Result<T, DecodeError>;

/// What has a form as bytes.
trait Encode: Sized {
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(input: &mut Input<'_>) -> Decoded<Self>;
}

/// Bytes that are being read.
struct Input<'a> {
    rest: &'a [u8],
    nesting: usize,
    version: u8,
}

impl<'a> Input<'a> {
    fn byte(&mut self) -> Decoded<u8> {
        let (first, rest) = self.rest.split_first().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    fn bytes(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads something that stands one deeper.
    fn nested<T: Encode>(&mut self) -> Decoded<T> {
        if self.nesting == NESTING_MAX {
            return Err(DecodeError::TooDeep);
        }
        self.nesting += 1;
        let inner = T::decode(self);
        self.nesting -= 1;
        inner
    }
}

fn to_bytes(what: &impl Encode, version: u8) -> Vec<u8> {
    let mut out = vec![version];
    what.encode(&mut out);
    out
}

/// Reads something whole that was written in a version up to the latest.
fn from_bytes<T: Encode>(bytes: &[u8], latest: u8) -> Decoded<T> {
    if bytes.len() > BYTES_MAX {
        return Err(DecodeError::TooLarge);
    }
    let mut input = Input {
        rest: bytes,
        nesting: 0,
        version: 0,
    };
    input.version = input.byte()?;
    if !(ENCODING_VERSION..=latest).contains(&input.version) {
        return Err(DecodeError::Version(input.version));
    }
    let decoded = input.nested()?;
    match input.rest {
        [] => Ok(decoded),
        _ => Err(DecodeError::Malformed),
    }
}

macro_rules! bytes {
    ($($type:ty)*) => {$(
        impl $type {
            /// Its form as bytes.
            #[must_use]
            pub fn to_bytes(&self) -> Vec<u8> {
                to_bytes(self, ENCODING_VERSION)
            }

            /// Reads what `to_bytes` wrote. Fields are not checked against a schema.
            ///
            /// # Errors
            /// See [`DecodeError`].
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
                from_bytes(bytes, ENCODING_VERSION)
            }
        }
    )*};
}

bytes!(Predicate Query Cursor);

#[cfg(test)]
mod tests;
