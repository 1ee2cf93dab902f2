//! How an engine runs transactions and reads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::callback::{Executor, Job};
use crate::history::KeepHistory;
use crate::telemetry::Thresholds;
use crate::transaction::{Concurrency, Recording};

/// How an engine runs transactions.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Whether transactions of disjoint tables run at the same time.
    pub concurrency: Concurrency,
    /// The largest number of threads that run transactions.
    pub threads_max: usize,
    /// Limits from which the engine logs warnings.
    pub thresholds: Thresholds,
    /// How long a snapshot may be held.
    pub snapshot_age_max: Option<Duration>,
    /// How long a transaction's completion waits for subscribers, before the subscribers that are
    /// being called are given up as slow.
    pub patience: Duration,
    /// How long a retrying transaction goes on before it fails because other processes commit.
    pub busy_timeout: Duration,
    /// The largest number of bytes of change records to follow; beyond it, everything that is
    /// subscribed to is read again.
    pub follow_bytes_max: usize,
    /// Provides the threads that run transactions; `None` for threads of the engine.
    pub executor: Option<TransactionExecutor>,
    /// Whether the first read of a table, and each query that an index could serve, starts to build
    /// the table's indexes if one of them lacks rows, as a write does. The reads of one snapshot
    /// start at most one build of a table, and so do those of one transaction.
    pub index_on_read: bool,
    /// How change records are written.
    pub recording: Recording,
    /// The history of versioned types. Without one, writes to versioned types are refused.
    pub history: Option<Arc<dyn KeepHistory>>,
}

impl Default for EngineOptions {
    /// Several writers, 64 threads, the default thresholds, no limit on the age of snapshots, a
    /// patience of one second, a busy timeout of 30 seconds, 8 MiB of change records, no executor,
    /// no building of indexes by reads, change records without an author, and no history.
    fn default() -> Self {
        Self {
            concurrency: Concurrency::MultiWriter,
            threads_max: 64,
            thresholds: Thresholds::default(),
            snapshot_age_max: None,
            patience: Duration::from_secs(1),
            busy_timeout: Duration::from_secs(30),
            follow_bytes_max: 8 * 1024 * 1024,
            executor: None,
            index_on_read: false,
            recording: Recording::default(),
            history: None,
        }
    }
}

/// An executor that provides the threads on which handlers run. Commits, deliveries and completions
/// run on them or on threads of the engine.
///
/// The executor gets jobs. A job runs all transactions whose turn has come, one after the other,
/// and ends when there is none. If the executor drops a job, panics, or runs a job before its own
/// call returns, a thread of the engine takes the place of that job. A transaction must not wait
/// for a thread of the executor that waits for a transaction. The executor is called without a
/// lock, on any thread; it must not block. Clones are the same executor.
#[derive(Clone)]
pub struct TransactionExecutor {
    /// Another one for each executor of the process.
    number: u64,
    /// `None` in a label.
    execute: Option<Arc<Executor>>,
}

impl TransactionExecutor {
    /// An executor that gives its jobs to `execute`.
    #[must_use]
    pub fn new(execute: impl Fn(Job) + Send + Sync + 'static) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            execute: Some(Arc::new(execute)),
        }
    }

    /// A value that is equal to this executor, and does not keep its function in memory. An engine
    /// with it uses threads of its own.
    #[must_use]
    pub const fn label(&self) -> Self {
        Self {
            number: self.number,
            execute: None,
        }
    }

    pub(super) fn into_inner(self) -> Option<Arc<Executor>> {
        self.execute
    }
}

impl PartialEq for TransactionExecutor {
    /// Whether one is a clone of the other.
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl fmt::Debug for TransactionExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionExecutor")
            .finish_non_exhaustive()
    }
}
