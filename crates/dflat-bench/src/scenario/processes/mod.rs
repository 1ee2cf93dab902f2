//! Several processes on one file.

mod contention;
mod recorded;

pub(super) use contention::{count, serve};
pub(super) use recorded::{alone, batches, queued};
