//! Places in a result that outlive it.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// A place in the order of a query: behind an object, which need not exist any more.
///
/// It is found by what the object's order was and not by counting, so that pages stay right
/// whatever is committed between them: what was there when the first page was fetched and is not
/// changed meanwhile is on one page, and on no two.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor(dflat_model::Cursor);

impl Cursor {
    pub(crate) const fn new(inner: dflat_model::Cursor) -> Self {
        Self(inner)
    }

    /// The place as bytes, to be kept or sent; their first is a version.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// Reads a place from what [`to_bytes`](Self::to_bytes) wrote. Any bytes whatsoever may be
    /// given; a place that is of another order than the query it is given to, even by a field that
    /// was renamed meanwhile, is refused there.
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
