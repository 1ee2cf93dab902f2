//! How a file is used.

use std::sync::Arc;
use std::time::Duration;

use super::base::Base;
use dflat_engine::engine::{EngineOptions, TransactionExecutor};
use dflat_engine::history::KeepHistory;
use dflat_engine::storage::Durability;
use dflat_engine::transaction::Concurrency;
use dflat_sqlite::{FileProtection, Reclaim, SqliteOptions};

/// The options of a workspace on a file. It remembers which options were set: if the file is
/// already open in this process with another value of one of them, opening it fails.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    values: Values,
    chosen: Vec<Choice>,
}

/// The value of each option.
#[derive(Clone, Debug)]
pub(super) struct Values {
    pub(super) sqlite: SqliteOptions,
    pub(super) engine: EngineOptions,
    pub(super) dictionary_keys_max: usize,
    pub(super) allow_missing: bool,
    pub(super) base: Option<Base>,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            sqlite: SqliteOptions::default(),
            engine: EngineOptions::default(),
            dictionary_keys_max: usize::MAX,
            allow_missing: false,
            base: None,
        }
    }
}

impl Values {
    /// The values for comparisons, which keep no executor and no pack in memory.
    pub(super) fn to_compare(&self) -> Self {
        let mut values = self.clone();
        values.engine.executor = self
            .engine
            .executor
            .as_ref()
            .map(TransactionExecutor::label);
        values.base = self.base.as_ref().map(Base::label);
        values
    }
}

/// An option that was set: its name, and a function that compares its value in two sets of options.
type Choice = (&'static str, fn(&Values, &Values) -> bool);

impl FileOptions {
    /// The history of versioned types. Defaults to none: writes to versioned types are refused. If
    /// the file is open in this process, it goes on with the history that it was opened with.
    pub fn history(&mut self, history: Arc<dyn KeepHistory>) {
        self.values.engine.history = Some(history);
    }

    /// Whether the file stands on a pack.
    #[must_use]
    pub const fn stands_on_pack(&self) -> bool {
        self.values.base.is_some()
    }

    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// The name of the first option that was set to another value than the one in `open`.
    pub(super) fn difference(&self, open: &Values) -> Option<&'static str> {
        let mut chosen = self.chosen.iter();
        let differs = chosen.find(|(_, same)| !same(open, &self.values));
        differs.map(|(name, _)| *name)
    }
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $first:ident $(. $rest:ident)*;)*) => {
        impl FileOptions {
            $(
                $(#[$doc])*
                pub fn $name(&mut self, value: $type) {
                    self.values.$first $(.$rest)* = value;
                    let same = |a: &Values, b: &Values| {
                        a.$first $(.$rest)* == b.$first $(.$rest)*
                    };
                    self.chosen.push((stringify!($name), same));
                }
            )*
        }
    };
}

options! {
    /// The events that a commit survives, unless its transaction chooses otherwise. Defaults to
    /// [`Durability::Normal`].
    durability: Durability => sqlite.durability;
    /// Whether transactions of disjoint tables run at the same time. Defaults to
    /// [`Concurrency::MultiWriter`].
    concurrency: Concurrency => engine.concurrency;
    /// How long to wait while another process has the file locked. Defaults to 30 s.
    busy_timeout: Duration => sqlite.busy_timeout;
    /// The maximum number of threads that run transactions, at least 1. Defaults to 64.
    threads_max: usize => engine.threads_max;
    /// The approximate number of reading connections that stay open between reads, at least 1.
    /// Defaults to 64.
    readers_max: usize => sqlite.readers_max;
    /// The bytes of the file's pages that each connection keeps in memory, at most. Defaults to 16
    /// MiB.
    page_cache_bytes: u64 => sqlite.page_cache_bytes;
    /// The approximate number of keys of a namespace that the dictionary keeps in memory, besides
    /// those that are not written yet. Defaults to no limit.
    dictionary_keys_max: usize => dictionary_keys_max;
    /// The length that the write-ahead log may reach, in bytes, before a transaction waits for a
    /// checkpoint; at least 64 KiB. Defaults to 16 MiB.
    log_bytes_max: u64 => sqlite.log_bytes_max;
    /// The pack that the file stands on. Defaults to none.
    base: Option<Base> => base;
    /// Whether the file is opened for reading only. Defaults to no.
    read_only: bool => sqlite.read_only;
    /// Whether a file that is opened for reading only may be missing. Reads find no object until
    /// another process creates the file. Defaults to no.
    allow_missing: bool => allow_missing;
    /// When unused space is returned to the file system. Defaults to [`Reclaim::default`].
    reclaim: Reclaim => sqlite.reclaim;
    /// The protection of newly created files while the device is locked, on Apple's systems.
    /// Defaults to the protection of the directory.
    file_protection: Option<FileProtection> => sqlite.file_protection;
    /// Whether commits of other processes are delivered without a call of this process. Defaults to
    /// yes.
    follow_processes: bool => sqlite.follow;
    /// The largest number of bytes of change records that are read in order to deliver commits of
    /// other processes. If there are more, everything that is subscribed to is read again. Defaults
    /// to 8 MiB.
    follow_bytes_max: usize => engine.follow_bytes_max;
    /// Whether the file's I/O is counted. Defaults to no.
    io_stats: bool => sqlite.io_stats;
    /// Whether commits write change records also while no other process follows them. Defaults to
    /// no.
    change_log: bool => sqlite.change_log;
    /// The bytes of change records above which the oldest ones are deleted. Defaults to 16 MiB.
    change_log_bytes_max: u64 => sqlite.change_log_bytes_max;
    /// The age from which change records are deleted. Defaults to no limit.
    change_log_age_max: Option<Duration> => sqlite.change_log_age_max;
    /// Whether change records leave out the states before changes. Defaults to no.
    change_log_keys_only: bool => engine.recording.keys_only;
    /// Identifies the workspace in change records. Defaults to nothing.
    workspace_id: Option<u128> => engine.recording.workspace_id;
    /// The author of all changes, in change records. Defaults to no author.
    author: Option<String> => engine.recording.author;
    /// Reads that take at least this long are reported to `tracing`. Defaults to 100 ms.
    slow_query: Duration => engine.thresholds.slow_query;
    /// Snapshots that are held at least this long are reported to `tracing`. Defaults to 10 s.
    old_snapshot: Duration => engine.thresholds.old_snapshot;
    /// How long a snapshot may be held before it ends. Defaults to no limit.
    snapshot_age_max: Option<Duration> => engine.snapshot_age_max;
    /// Callbacks of subscriptions that take at least this long are reported to `tracing`. Defaults
    /// to 100 ms.
    slow_subscriber: Duration => engine.thresholds.slow_callback;
    /// How long a transaction's completion waits for subscribers' callbacks. Defaults to 1 s.
    subscriber_patience: Duration => engine.patience;
    /// Provides the threads that run transactions. Defaults to threads of the library.
    executor: Option<TransactionExecutor> => engine.executor;
    /// Whether reads start to build the indexes of a type that lack rows, as a write does: the
    /// first read of the type by this process, and each query that an index could serve, also in
    /// a handler, of a snapshot and for a subscription. The reads of one snapshot start at most one
    /// build of a type, and so do those of one transaction. A build that has failed is not tried
    /// again before the next write. Defaults to no.
    index_on_read: bool => engine.index_on_read;
}
