//! Counters, and spans and events of `tracing`.
//!
//! A span or event without a listener costs a load and a branch. Time is measured only if there is
//! a listener.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The target of all spans and events.
pub const TARGET: &str = "dflat";

/// The times from which on warnings are emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Reads that take at least this long. Defaults to 100 ms.
    pub slow_query: Duration,
    /// Calls of a subscription's callback that take at least this long. Defaults to 100 ms.
    pub slow_callback: Duration,
    /// Snapshots that have been held for at least this long at the time of a commit. Defaults to
    /// 10 s.
    pub old_snapshot: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        let slow = Duration::from_millis(100);
        Self {
            slow_query: slow,
            slow_callback: slow,
            old_snapshot: Duration::from_secs(10),
        }
    }
}

/// Counts since the engine was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that succeeded, those that changed nothing included.
    pub transactions: u64,
    /// Transactions that failed, of which nothing is kept.
    pub failed: u64,
    /// Runs of retrying transactions that were repeated because another process had committed.
    pub retried: u64,
    /// Changes that were refused as conflicts with stored objects.
    pub conflicts: u64,
    /// Commit groups.
    pub groups: u64,
    /// The transactions in all commit groups.
    pub grouped: u64,
    /// The transactions in the largest commit group.
    pub largest_group: u64,
    /// Calls of subscriptions' callbacks.
    pub deliveries: u64,
    /// Objects that transactions looked up.
    pub look_ups: u64,
    /// Of these, the objects that were known and not read.
    pub look_ups_saved: u64,
    /// Commits of other processes that were delivered from change records.
    pub followed: u64,
    /// How often everything that is subscribed to was read again, because another program had
    /// committed unknown changes.
    pub renewals: u64,
    /// How often only those rows were read again that other programs were known to have written.
    pub rereads: u64,
}

/// The counters of an engine, and its thresholds.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    thresholds: Thresholds,
    transactions: AtomicU64,
    failed: AtomicU64,
    retried: AtomicU64,
    conflicts: AtomicU64,
    groups: AtomicU64,
    grouped: AtomicU64,
    largest_group: AtomicU64,
    deliveries: AtomicU64,
    look_ups: AtomicU64,
    look_ups_saved: AtomicU64,
    followed: AtomicU64,
    renewals: AtomicU64,
    rereads: AtomicU64,
}

impl Telemetry {
    pub(crate) fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            ..Self::default()
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            transactions: get(&self.transactions),
            failed: get(&self.failed),
            retried: get(&self.retried),
            conflicts: get(&self.conflicts),
            groups: get(&self.groups),
            grouped: get(&self.grouped),
            largest_group: get(&self.largest_group),
            deliveries: get(&self.deliveries),
            look_ups: get(&self.look_ups),
            look_ups_saved: get(&self.look_ups_saved),
            followed: get(&self.followed),
            renewals: get(&self.renewals),
            rereads: get(&self.rereads),
        }
    }

    pub(crate) fn note_transaction(&self, succeeded: bool) {
        let counter = if succeeded {
            &self.transactions
        } else {
            &self.failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the objects that a transaction looked up, and those of them that it did not read.
    pub(crate) fn note_look_ups(&self, look_ups: u64, saved: u64) {
        // Most transactions look up nothing.
        if look_ups > 0 {
            self.look_ups.fetch_add(look_ups, Ordering::Relaxed);
        }
        if saved > 0 {
            self.look_ups_saved.fetch_add(saved, Ordering::Relaxed);
        }
    }

    pub(crate) fn note_retry(&self) {
        self.retried.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts commits of other processes that are delivered from change records.
    pub(crate) fn note_followed(&self, commits: usize) {
        self.followed.fetch_add(commits as u64, Ordering::Relaxed);
    }

    /// Counts that everything that is subscribed to is read again.
    pub(crate) fn note_renewal(&self) {
        self.renewals.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts that the rows that other programs have written are read again.
    pub(crate) fn note_reread(&self) {
        self.rereads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a commit group with this many transactions.
    pub(crate) fn note_group(&self, members: usize) {
        let members = members as u64;
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.grouped.fetch_add(members, Ordering::Relaxed);
        self.largest_group.fetch_max(members, Ordering::Relaxed);
    }

    /// Runs a read of a type's objects, with a warning if it is slow.
    #[inline]
    pub(crate) fn query<R>(&self, type_name: &str, read: impl FnOnce() -> R) -> R {
        timed(self.thresholds.slow_query, read, |micros| {
            tracing::warn!(target: TARGET, type_name, micros, "slow query");
        })
    }

    /// Emits a warning if a snapshot is old; returns whether it is.
    pub(crate) fn old_snapshot(&self, age: Duration) -> bool {
        let is_old = age >= self.thresholds.old_snapshot;
        if is_old {
            let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(target: TARGET, millis, "old snapshot");
        }
        is_old
    }

    /// Runs a call of a subscription's callback, with a warning if it is slow.
    #[inline]
    pub(crate) fn delivery<R>(&self, type_name: &str, call: impl FnOnce() -> R) -> R {
        self.deliveries.fetch_add(1, Ordering::Relaxed);
        timed(self.thresholds.slow_callback, call, |micros| {
            tracing::warn!(target: TARGET, type_name, micros, "slow subscriber");
        })
    }
}

/// Runs some work, and calls `warn` with its time in microseconds if it took at least `limit` and
/// warnings have a listener.
#[inline]
fn timed<R>(limit: Duration, work: impl FnOnce() -> R, warn: impl FnOnce(u64)) -> R {
    let listening = tracing::enabled!(target: TARGET, tracing::Level::WARN);
    let start = listening.then(Instant::now);
    let result = work();
    if let Some(start) = start {
        warn_if_slow(start.elapsed(), limit, warn);
    }
    result
}

#[cold]
fn warn_if_slow(taken: Duration, limit: Duration, warn: impl FnOnce(u64)) {
    if taken >= limit {
        warn(u64::try_from(taken.as_micros()).unwrap_or(u64::MAX));
    }
}
