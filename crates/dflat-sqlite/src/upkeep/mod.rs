//! Work on the file as a whole: checkpoints, unused space, kept reads, backups.

pub(crate) mod backup;
pub(crate) mod checkpoint;
pub(crate) mod free_pages;
pub(crate) mod kept_reads;
pub(crate) mod log_file;
pub(crate) mod log_limit;
mod maintain;
mod marked;
pub(crate) mod owner;
mod prune;
pub(crate) mod queue;
pub(crate) mod reclaim;
pub(crate) mod strangers;
mod sync_ahead;
