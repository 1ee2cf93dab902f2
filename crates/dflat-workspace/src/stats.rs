//! Counts of the work of a workspace.

use std::time::Duration;

#[cfg(feature = "sqlite")]
use dflat_sqlite::Following;

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
    /// Commits of other processes that were delivered from their change records.
    pub followed_commits: u64,
    /// How often everything that is subscribed to was read again, because another program had
    /// committed changes that no change records tell of.
    pub renewals: u64,
    /// How often another program had committed changes that no change records tell of, and only the
    /// rows were read again that it had written. Queries with a limit or an offset, counts and
    /// groups of the affected types were read again as a whole.
    pub rereads: u64,
    /// Change records that commits of this process wrote, those of upkeep included. 0 in memory,
    /// and while no other process follows the file unless
    /// [`change_log`](crate::FileOptions::change_log) is on.
    pub change_records: u64,
    /// The bytes of these records.
    pub change_record_bytes: u64,
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
    /// Whether commits of other processes are delivered without a call of this process. False in
    /// memory, before the first subscription and the first use of the dictionary, during a
    /// suspension, and if [`follow_processes`](crate::FileOptions::follow_processes) is off.
    pub follows_processes: bool,
    /// Whether commits of other processes are looked for at intervals of half a second, or when the
    /// system reports a write to the file: other processes do not notify this one. The reason is
    /// that the workspace is read-only, that the file beside the database can't be made or locked,
    /// or that the library uses no such notification on this system.
    pub looks_at_intervals: bool,
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
        let file = self.file_state();
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
            followed_commits: counts.followed,
            renewals: counts.renewals,
            rereads: counts.rereads,
            change_records: file.records.count,
            change_record_bytes: file.records.bytes,
            log_bytes: file.bytes,
            log_is_pinned: file.is_pinned,
            log_waits: file.waits,
            follows_processes: file.follows_processes,
            looks_at_intervals: file.looks_at_intervals,
            oldest_snapshot: engine.oldest_snapshot(),
        }
    }

    /// The state of the file; empty in memory.
    #[cfg(feature = "sqlite")]
    fn file_state(&self) -> FileState {
        self.sqlite().map_or_else(FileState::default, |sqlite| {
            let following = sqlite.following();
            let records = sqlite.written_records();
            FileState {
                bytes: sqlite.log_bytes(),
                is_pinned: sqlite.is_log_pinned(),
                waits: sqlite.log_waits(),
                records: Records {
                    count: records.count,
                    bytes: records.bytes,
                },
                follows_processes: following != Following::Off,
                looks_at_intervals: following == Following::Intervals,
            }
        })
    }

    #[cfg(not(feature = "sqlite"))]
    #[allow(clippy::unused_self, reason = "there is no file without SQLite")]
    fn file_state(&self) -> FileState {
        FileState::default()
    }
}

/// The state of a file: its two logs, and how commits of other processes are found.
#[derive(Default)]
struct FileState {
    bytes: u64,
    is_pinned: bool,
    waits: u64,
    records: Records,
    follows_processes: bool,
    looks_at_intervals: bool,
}

/// The change records that were written.
#[derive(Default)]
struct Records {
    count: u64,
    bytes: u64,
}
