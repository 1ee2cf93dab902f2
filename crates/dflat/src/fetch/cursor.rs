//! Places in a result that outlive it.

use std::fmt;

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

    pub(crate) fn into_data(self) -> dflat_model::Cursor {
        self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
