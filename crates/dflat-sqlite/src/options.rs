//! Options of opening a file.

use std::time::Duration;

pub use dflat_engine::storage::Durability;

pub use crate::ffi::FileProtection;

/// How a file is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The crashes that a commit survives. Defaults to [`Durability::Normal`].
    pub durability: Durability,
    /// How long to wait for a lock of another process. Defaults to 30 s.
    pub busy_timeout: Duration,
    /// Whether the file is only read. If so, nothing is written to the file or beside it, and every
    /// write fails with [`ReadOnly`](dflat_engine::ErrorKind::ReadOnly). Defaults to `false`; a
    /// file on a medium that can't be written can be read all the same.
    pub read_only: bool,
    /// About how many connections for reading stay open between reads, at least 1. Defaults to 64.
    /// If more reads run at the same time, more connections are opened.
    pub readers_max: usize,
    /// The bytes of the file's pages that each connection keeps in memory, at most. Defaults to 16
    /// MiB. A connection takes the memory as it reads pages. A read that is repeated takes pages
    /// from memory if all pages of the read fit, and no other connection has written since.
    pub page_cache_bytes: u64,
    /// The length of the log, in bytes, above which a writer waits for a checkpoint; at least 64
    /// KiB. Defaults to 16 MiB. A checkpoint in the background copies the log into the file
    /// whenever the log has grown by a quarter of this length. If the log exceeds this length and
    /// has grown by another half of it, a transaction that begins waits for the checkpoint, for at
    /// most five seconds. While a snapshot reads an older state, the log can become longer.
    pub log_bytes_max: u64,
    /// When unused space is given back to the file system. Defaults to [`Reclaim::default`].
    pub reclaim: Reclaim,
    /// How new files are protected while the device is locked, on Apple's systems. Defaults to the
    /// protection of the directory.
    pub file_protection: Option<FileProtection>,
    /// Whether commits of other processes are looked for once something is subscribed to. Defaults
    /// to yes. While they are, a small file is beside the database.
    pub follow: bool,
    /// Whether the file's I/O is counted, for
    /// [`io_report`](crate::SqliteBackend::io_report). Defaults to no.
    pub io_stats: bool,
    /// Whether each commit writes records of its changes to the change log of the file. Defaults to
    /// `false`.
    pub change_log: bool,
    /// The bytes of change records above which the oldest ones are deleted, while no transaction
    /// writes, until half of the bytes are left. Defaults to 16 MiB. A process that had not read
    /// the deleted records reads everything that it follows again.
    pub change_log_bytes_max: u64,
    /// The age from which change records are deleted, while no transaction writes; `None` for no
    /// limit, the default. The bytes are limited all the same.
    pub change_log_age_max: Option<Duration>,
    /// Whether the program reads the file over a pack. A file that stands on a pack is refused
    /// otherwise. Defaults to `false`.
    pub stands_on_pack: bool,
    /// Whether a file is read although it is shorter than its header says. Reads of missing pages
    /// then fail with [`Corrupt`](dflat_engine::ErrorKind::Corrupt). For saving what is left of a
    /// damaged file, so use it with [`read_only`](Self::read_only). Defaults to `false`: such a
    /// file is refused as a whole.
    pub may_lack_pages: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Normal,
            busy_timeout: Duration::from_secs(30),
            read_only: false,
            readers_max: 64,
            page_cache_bytes: 16 << 20,
            log_bytes_max: 16 << 20,
            reclaim: Reclaim::default(),
            file_protection: None,
            follow: true,
            io_stats: false,
            change_log: false,
            change_log_bytes_max: 16 << 20,
            change_log_age_max: None,
            stands_on_pack: false,
            may_lack_pages: false,
        }
    }
}

/// When unused pages of a file are given back to the file system.
///
/// A file made by Dflat for Swift must be compacted before it can give back pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// Only when the caller asks for it.
    Never,
    /// While no transaction writes: a thread gives pages back in steps, until half of the share is
    /// left. A transaction that begins meanwhile waits for one step at most, which takes about as
    /// long as a transaction that writes as many pages. A reader never waits.
    Idle {
        /// The most pages of a step, and the least number of unused pages for a first step.
        pages: u32,
        /// The share of unused pages, in per cent, above which pages are given back.
        percent: u8,
        /// How long no transaction must have written.
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
