//! Reads: scans of tables, and snapshots.

mod find;
mod lend;
mod query;
mod records;
mod scan;
mod snapshot;
mod staleness;
mod states;

pub(crate) use find::find_many;
pub(crate) use records::records;
pub(crate) use scan::{Access, scan};
pub(crate) use snapshot::{PostgresSnapshot, whole};
pub(crate) use staleness::staleness;
pub(crate) use states::states;
