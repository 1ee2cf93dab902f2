//! What can be seen from outside: counters, and the spans and events of `tracing`.
//!
//! A span or event that nobody listens to costs a load and a branch. Time is taken only if somebody
//! listens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What spans and events belong to.
pub const TARGET: &str = "dflat";

/// From when on something is worth a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Reads that take longer are told as a warning. Defaults to 100 ms.
    pub slow_query: Duration,
    /// Callbacks of subscriptions that take longer are told as a warning. Defaults to 100 ms.
    pub slow_callback: Duration,
    /// Snapshots that have been held for longer when something is committed are told as a warning.
    /// Defaults to 10 s.
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

/// How often something has happened, since the engine was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that have ended well, those that changed nothing included.
    pub transactions: u64,
    /// Transactions of which nothing is kept.
    pub failed: u64,
    /// Runs of retrying transactions that did not count, because another process had committed.
    pub retried: u64,
    /// Changes that were refused, because of what was stored.
    pub conflicts: u64,
    /// Groups of transactions that were committed together.
    pub groups: u64,
    /// The transactions in these groups.
    pub grouped: u64,
    /// The transactions in the largest of these groups.
    pub largest_group: u64,
    /// Calls of callbacks of subscriptions.
    pub deliveries: u64,
    /// Objects that transactions looked up.
    pub look_ups: u64,
    /// Those of them that nobody had to read, because they were known.
    pub look_ups_saved: u64,
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

    /// Notes what a transaction looked up, and how much of that it did not have to read.
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

    pub(crate) fn note_conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes a commit of so many transactions.
    pub(crate) fn note_group(&self, members: usize) {
        let members = members as u64;
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.grouped.fetch_add(members, Ordering::Relaxed);
        self.largest_group.fetch_max(members, Ordering::Relaxed);
    }

    /// Reads a type's objects, and tells if that is slow.
    #[inline]
    pub(crate) fn query<R>(&self, type_name: &str, read: impl FnOnce() -> R) -> R {
        timed(self.thresholds.slow_query, read, |micros| {
            tracing::warn!(target: TARGET, type_name, micros, "slow query");
        })
    }

    /// Tells the age of a snapshot if it is old; whether it is.
    pub(crate) fn old_snapshot(&self, age: Duration) -> bool {
        let is_old = age >= self.thresholds.old_snapshot;
        if is_old {
            let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(target: TARGET, millis, "old snapshot");
        }
        is_old
    }

    /// Calls a callback of a subscription, and tells if that is slow.
    #[inline]
    pub(crate) fn delivery<R>(&self, type_name: &str, call: impl FnOnce() -> R) -> R {
        self.deliveries.fetch_add(1, Ordering::Relaxed);
        timed(self.thresholds.slow_callback, call, |micros| {
            tracing::warn!(target: TARGET, type_name, micros, "slow subscriber");
        })
    }
}

/// Takes the time of some work, if somebody wants to know when it takes long.
#[inline]
fn timed<R>(limit: Duration, work: impl FnOnce() -> R, tell: impl FnOnce(u64)) -> R {
    let listening = tracing::enabled!(target: TARGET, tracing::Level::WARN);
    let start = listening.then(Instant::now);
    let result = work();
    if let Some(start) = start {
        tell_if_slow(start.elapsed(), limit, tell);
    }
    result
}

#[cold]
fn tell_if_slow(taken: Duration, limit: Duration, tell: impl FnOnce(u64)) {
    if taken >= limit {
        tell(u64::try_from(taken.as_micros()).unwrap_or(u64::MAX));
    }
}
