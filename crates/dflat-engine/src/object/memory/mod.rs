//! Verified payloads in memory, and the handles on them.
//!
//! This room uses the checks and the readers of `object`, and not `merging`. An [`Object`] is a
//! handle on one payload. Payloads that are read together, or written one after the other, share
//! allocations ([`ObjectBatch`], [`ObjectArenas`]).

mod arena;
mod batch;
mod chunk;
mod handle;
mod origin;
mod raw;

pub(crate) use arena::ObjectArenas;
pub use batch::ObjectBatch;
pub use handle::Object;
pub use origin::Origin;
pub use raw::{LentObject, RawObject};
