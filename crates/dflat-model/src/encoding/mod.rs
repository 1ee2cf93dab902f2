//! Conditions, queries, cursors and descriptors as bytes with a version.
//!
//! `docs/query-format.md` has the format, and `docs/storage-format.md` that of descriptors.
//! Decoding takes any bytes. It refuses bytes that are malformed, nest deeper than [`NESTING_MAX`]
//! or are more than [`BYTES_MAX`], and allocates memory in proportion to the bytes it has read.

mod descriptor;
mod expression;
mod index;
mod plain;
mod predicate;
mod query;
mod validity;

use std::fmt;

use crate::{Cursor, Predicate, Query};

pub(crate) use plain::{decode_bytes, decode_text, decode_value, encode_bytes, encode_value};

/// The version of conditions, queries and cursors, both for writing and for reading.
pub const ENCODING_VERSION: u8 = 1;
/// The version of descriptors with indexes over several fields or of some objects. Code that does
/// not know such indexes refuses it.
pub const DESCRIPTOR_VERSION: u8 = 2;
/// The version of descriptors of types whose changes are kept in a history. Code that keeps no
/// history reads it, and does not write objects of the type.
pub const VERSIONED_DESCRIPTOR: u8 = 3;
/// The size limit for decoding.
pub const BYTES_MAX: usize = 1024 * 1024;
/// The limit on the nesting of an encoding. It is enough for a query with conditions 256 levels
/// deep, plus the query around them and the lists inside the innermost expression.
pub const NESTING_MAX: usize = 259;

/// Why bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes have an unknown version.
    Version(u8),
    /// The bytes are malformed, too few or too many.
    Malformed,
    /// The encoding nests deeper than [`NESTING_MAX`].
    TooDeep,
    /// There are more bytes than [`BYTES_MAX`].
    TooLarge,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "unknown version {version} of the encoding"),
            Self::Malformed => f.write_str("the bytes are malformed"),
            Self::TooDeep => write!(f, "the encoding nests more than {NESTING_MAX} levels deep"),
            Self::TooLarge => write!(f, "the encoding is larger than {BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for DecodeError {}

pub(crate) type Decoded<T> = Result<T, DecodeError>;

/// A type that can be encoded as bytes.
pub(crate) trait Encode: Sized {
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(input: &mut Input<'_>) -> Decoded<Self>;
}

/// The bytes that are not read yet.
pub(crate) struct Input<'a> {
    pub(crate) rest: &'a [u8],
    nesting: usize,
    version: u8,
}

impl<'a> Input<'a> {
    pub(crate) const fn new(rest: &'a [u8]) -> Self {
        Self {
            rest,
            nesting: 0,
            version: 0,
        }
    }

    pub(crate) fn byte(&mut self) -> Decoded<u8> {
        let (first, rest) = self.rest.split_first().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Decodes an item one level deeper.
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

/// Decodes all bytes, which may have any version up to `latest`.
fn from_bytes<T: Encode>(bytes: &[u8], latest: u8) -> Decoded<T> {
    match bytes.len() {
        0..=BYTES_MAX => from_any_bytes(bytes, latest),
        _ => Err(DecodeError::TooLarge),
    }
}

/// As `from_bytes`, without a limit of the size.
fn from_any_bytes<T: Encode>(bytes: &[u8], latest: u8) -> Decoded<T> {
    let mut input = Input::new(bytes);
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
/// Encodes the value as bytes.
            #[must_use]
            pub fn to_bytes(&self) -> Vec<u8> {
                to_bytes(self, ENCODING_VERSION)
            }

/// Decodes the output of `to_bytes`. Fields are not checked against a schema.
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

impl Query {
    /// As [`from_bytes`](Self::from_bytes), also for more bytes than [`BYTES_MAX`]: for bytes that
    /// the caller has made, such as a query with a long list. Time and memory are proportional to
    /// the number of bytes.
    ///
    /// # Errors
    /// See [`DecodeError`], except [`DecodeError::TooLarge`].
    pub fn from_bytes_of_any_size(bytes: &[u8]) -> Result<Self, DecodeError> {
        from_any_bytes(bytes, ENCODING_VERSION)
    }
}

#[cfg(test)]
mod tests;
