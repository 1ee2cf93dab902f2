//! The stored form of an object: its key, its index entries, and the storage that they need.

mod auto_key;
mod coverage;
mod derived;
mod entries;
mod key;
mod mend;
mod mended_record;
mod prepared;

pub(super) use auto_key::{auto_key_of, with_auto_key, with_auto_keys};
pub(super) use coverage::IndexCoverage;
pub use derived::{Derived, derive};
pub(super) use entries::{Entries, changed_entries, entry_values, present_entries};
pub(super) use key::{KeyParts, changed_key, key_parts, refuse_missing_key, shown};
pub use key::{missing_value, shown_key};
pub(super) use mend::mend;
pub(super) use mended_record::{milliseconds, write_mended_record};
pub(super) use prepared::{Prepared, prepare};
