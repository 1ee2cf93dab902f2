//! What can be chosen when a file is opened.

use std::time::Duration;

pub use dflat_engine::storage::Durability;

pub use crate::ffi::FileProtection;

/// How a file is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What a commit survives. Defaults to [`Durability::Normal`].
    pub durability: Durability,
    /// How long to wait for a lock of another process. Defaults to 30 s.
    pub busy_timeout: Duration,
    /// Whether the file is only read. Nothing is written then, beside the file neither, and
    /// whatever writes fails with [`ReadOnly`](dflat_engine::ErrorKind::ReadOnly). Defaults to no:
    /// a file on a medium that can't be written is read all the same.
    pub read_only: bool,
    /// About how many connections that read stay open between reads, at least 1. Defaults to 64.
    /// More are opened while more read at the same time.
    pub readers_max: usize,
    /// How long the log may get before a writer waits for a checkpoint, in bytes; at least 64 KiB.
    /// Defaults to 16 MiB. A quarter of it is taken into the file at a time, in the background; who
    /// begins to write waits for that while the log is longer by half, five seconds at most. While
    /// somebody reads an older state the log is longer if it must.
    pub log_bytes_max: u64,
    /// When unused space is given back to the file system. Defaults to [`Reclaim::default`].
    pub reclaim: Reclaim,
    /// How the files that are created are protected while the device is locked, on Apple's systems.
    /// Defaults to what the directory says.
    pub file_protection: Option<FileProtection>,
    /// Whether the file's I/O is counted, for
    /// [`io_report`](crate::SqliteBackend::io_report). Defaults to no.
    pub io_stats: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Normal,
            busy_timeout: Duration::from_secs(30),
            read_only: false,
            readers_max: 64,
            log_bytes_max: 16 << 20,
            reclaim: Reclaim::default(),
            file_protection: None,
            io_stats: false,
        }
    }
}

/// When the pages of a file that nothing uses any more are given back to the file system.
///
/// Files made by Dflat for Swift can't give back pages before they are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// Only when asked to.
    Never,
    /// When nobody writes: a thread of its own gives them back in steps, until half of the share
    /// is left. A writer that comes meanwhile waits for one step at most, which takes about as
    /// long as a transaction that writes as many pages; a reader waits for nothing.
    Idle {
        /// The most pages of a step, and the least that must be unused for anything to be done.
        pages: u32,
        /// The share of unused pages, in per cent, above which something is done.
        percent: u8,
        /// How long nobody must have written.
        after: Duration,
    },
}

/// [`Idle`](Self::Idle) with steps of 64 pages, above 20 per cent, after one second.
impl Default for Reclaim {
    fn default() -> Self {
        Self::Idle {
            pages: 64,
            percent: 20,
            after: Duration::from_secs(1),
        }
    }
}
