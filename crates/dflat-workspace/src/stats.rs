//! Counts of the work of a workspace.

use std::time::Duration;

use crate::Workspace;

/// Counts of the work that all workspaces of this process on one file have done since the first of
/// them was opened. [`Workspace::stats`] returns them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that were committed, including those that changed nothing.
    pub transactions: u64,
    /// Transactions that failed: none of their changes is kept.
    pub failed_transactions: u64,
    /// Runs of retrying transactions that were repeated, because another process had committed.
    pub retries: u64,
    /// Changes that were refused with [`AlreadyExists`](crate::ErrorKind::AlreadyExists) or
    /// [`OutOfDate`](crate::ErrorKind::OutOfDate).
    pub conflicts: u64,
    /// Commits. Each commits one group of transactions.
    pub groups: u64,
    /// The transactions in these groups.
    pub grouped_transactions: u64,
    /// The transactions in the largest of these groups.
    pub largest_group: u64,
    /// Calls of subscribers' callbacks.
    pub deliveries: u64,
    /// Objects that ended transactions looked up by row id, to change or delete objects that were
    /// fetched before.
    pub look_ups: u64,
    /// Look-ups that needed no read, because the transaction or the workspace knew that the fetched
    /// object was current: hits of a cache.
    pub look_ups_saved: u64,
    /// The current size of the write-ahead log beside the file, in bytes. 0 in memory.
    pub log_bytes: u64,
    /// Whether the log is longer than [`log_bytes_max`](crate::FileOptions::log_bytes_max), because
    /// a reader of this or another process used an older state at the last attempt to truncate the
    /// log. A warning is also sent to `tracing`.
    pub log_is_pinned: bool,
    /// How often a group of transactions waited to begin, because the log had grown by half of
    /// [`log_bytes_max`](crate::FileOptions::log_bytes_max) since it exceeded this limit, and a
    /// checkpoint was being made: transactions come faster than the device can write them.
    pub log_waits: u64,
    /// How long the oldest snapshot of this workspace has been held. While a snapshot is held, the
    /// log can't be truncated.
    pub oldest_snapshot: Option<Duration>,
}

impl Workspace {
    /// Counts of the work done since the file was opened in this process.
    ///
    /// Spans and events are also sent to `tracing`, with the target `dflat`: the spans `open`,
    /// `transaction`, `commit`, `checkpoint` and `backfill` (a batch of an index) and the events
    /// `backfill started`, `backfill finished` and `checkpoint made`, all at debug level; the
    /// warnings `commit failed`, `backfill failed`, `log pinned`, `old snapshot`, `slow query` and
    /// `slow subscriber`; and one warning for each value that a unique index finds twice.
    ///
    /// # Cost
    /// Counting costs a few instructions per transaction. This call reads the size of a file.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let engine = self.engine();
        let counts = engine.counts();
        let log = self.log();
        Stats {
            transactions: counts.transactions,
            failed_transactions: counts.failed,
            retries: counts.retried,
            conflicts: counts.conflicts,
            groups: counts.groups,
            grouped_transactions: counts.grouped,
            largest_group: counts.largest_group,
            deliveries: counts.deliveries,
            look_ups: counts.look_ups,
            look_ups_saved: counts.look_ups_saved,
            log_bytes: log.bytes,
            log_is_pinned: log.is_pinned,
            log_waits: log.waits,
            oldest_snapshot: engine.oldest_snapshot(),
        }
    }

    /// The state of the write-ahead log; empty in memory.
    #[cfg(feature = "sqlite")]
    fn log(&self) -> Log {
        self.sqlite().map_or_else(Log::default, |sqlite| Log {
            bytes: sqlite.log_bytes(),
            is_pinned: sqlite.is_log_pinned(),
            waits: sqlite.log_waits(),
        })
    }

    #[cfg(not(feature = "sqlite"))]
    #[allow(clippy::unused_self, reason = "there is no log without SQLite")]
    fn log(&self) -> Log {
        Log::default()
    }
}

/// The state of a write-ahead log.
#[derive(Default)]
struct Log {
    bytes: u64,
    is_pinned: bool,
    waits: u64,
}
