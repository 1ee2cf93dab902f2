//! The rules for attributes and for storage.

mod attribute;
mod auto_key;
mod field;
mod required;
mod storage;
mod warning;
mod well_known;

use crate::Options;
use crate::diagnostic::Sink;
use crate::resolve::Draft;

/// Reports every broken rule of the draft.
pub(crate) fn check(draft: &Draft<'_>, options: &Options, sink: &mut Sink) {
    attribute::check(draft, sink);
    field::check(draft, sink);
    required::check(draft, sink);
    well_known::check(draft, sink);
    if !options.payload_only {
        storage::check(draft, sink);
        auto_key::check(draft, sink);
    }
}
