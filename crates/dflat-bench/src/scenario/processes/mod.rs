//! Several processes on one file.

mod recorded;

pub(super) use recorded::{alone, batches, queued};
