//! What can be chosen when a file is opened.

use std::time::Duration;

/// How a file is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What a commit survives. Defaults to [`Durability::Normal`].
    pub durability: Durability,
    /// How long to wait for a lock of another process, or for a reader of the pool. Defaults to 30
    /// s.
    pub busy_timeout: Duration,
    /// The largest number of snapshots at a time, at least 1. Defaults to 64.
    pub readers_max: usize,
    /// Whether the file's I/O is counted, for
    /// [`io_report`](crate::SqliteBackend::io_report). Defaults to no.
    pub io_stats: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Normal,
            busy_timeout: Duration::from_secs(30),
            readers_max: 64,
            io_stats: false,
        }
    }
}

/// What a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process. After a loss of power the last commits may be gone, never half of
    /// one.
    #[default]
    Normal,
    /// A loss of power: each commit waits for the device.
    Full,
}
