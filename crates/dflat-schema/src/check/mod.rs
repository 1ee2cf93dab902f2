//! The rules beyond names and types: which attributes may stand where, and what Dflat can store.

mod attribute;
mod field;
mod storage;

use crate::Options;
use crate::diagnostic::Sink;
use crate::resolve::Draft;

/// Reports every rule that the draft breaks.
pub(crate) fn check(draft: &Draft<'_>, options: &Options, sink: &mut Sink) {
    attribute::check(draft, sink);
    field::check(draft, sink);
    if !options.payload_only {
        storage::check(draft, sink);
    }
}
