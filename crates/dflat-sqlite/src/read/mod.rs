//! Scans and snapshots.

mod scan;
pub(crate) mod snapshot;
