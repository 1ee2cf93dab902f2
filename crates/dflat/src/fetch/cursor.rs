//! Cursor positions, which outlive their result.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// A position in the order of a query: after an object, which may have been deleted since.
///
/// The position is found by the order values of that object and not by counting. So pages stay
/// right while other transactions commit: an object that exists when the first page is fetched, and
/// is not changed meanwhile, is on exactly one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor(dflat_model::Cursor);

impl Cursor {
    pub(crate) const fn new(inner: dflat_model::Cursor) -> Self {
        Self(inner)
    }

    /// The position as bytes, to be stored or sent. The first byte is a version.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// Reads a position from the bytes of [`to_bytes`](Self::to_bytes). Any bytes may be given. A
    /// query refuses a position of another order, and also a position whose fields were renamed
    /// since.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the bytes are malformed or of an unknown
    /// version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let inner = dflat_model::Cursor::from_bytes(bytes).map_err(|error| {
            let message = format!("cannot read a cursor: {error}");
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        Ok(Self(inner))
    }

    pub(crate) fn into_data(self) -> dflat_model::Cursor {
        self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
