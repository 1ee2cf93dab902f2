//! Work on the file as a whole: checkpoints, unused space, kept reads, backups.

pub(crate) mod backup;
pub(crate) mod checkpointer;
pub(crate) mod free_pages;
pub(crate) mod keeper;
mod maintain;
pub(crate) mod owner;
pub(crate) mod reclaimer;
mod sync_ahead;
mod worker;
