//! The pool of connections that read.
//!
//! A reader takes a connection from the shard of its thread, and gives it back there, so that
//! threads that read do not wait for one another. Reads that run at the same time use different
//! connections; some connections stay open for later reads.
//!
//! An idle connection may keep its read transaction. The next read uses it again if nothing was
//! committed meanwhile. A kept transaction pins the log, so upkeep ends all of them regularly and
//! before each checkpoint.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::file_connection::FileConnection;

/// The most shards of a pool. With more threads, some of them share a lock, which a read takes
/// twice.
const SHARDS_MAX: usize = 16;

/// All connections that read.
pub(crate) struct Readers {
    shards: Box<[Shard]>,
    /// The most idle connections of a shard.
    idle_max: usize,
    /// How many callers forbid kept read transactions.
    forbidden_count: AtomicUsize,
    /// Counts how often all kept transactions were ended; one of an earlier epoch is too old.
    epoch: AtomicU32,
}

/// The idle connections of some threads, on cache lines of their own.
#[repr(align(128))]
#[derive(Default)]
struct Shard {
    state: Mutex<ShardState>,
    returned: Condvar,
}

#[derive(Default)]
struct ShardState {
    gate: Gate,
    #[allow(
        clippy::vec_box,
        reason = "it is large, and handed on several times a read"
    )]
    idle: Vec<Box<FileConnection>>,
    lent_count: usize,
}

/// Whether connections are lent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Gate {
    #[default]
    Open,
    /// Callers wait.
    Suspended,
    Closed,
}

/// The shard that a reader took its connection from, and gives it back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardId(usize);

impl Shard {
    fn lock(&self) -> MutexGuard<'_, ShardState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readers {
    /// A pool of which about `idle_max` connections stay open between reads.
    pub(crate) fn new(idle_max: usize) -> Self {
        let shards = idle_max.clamp(1, SHARDS_MAX);
        Self {
            shards: (0..shards).map(|_| Shard::default()).collect(),
            idle_max: (idle_max / shards).max(1),
            forbidden_count: AtomicUsize::new(0),
            epoch: AtomicU32::new(0),
        }
    }

    /// The shard of this thread.
    fn shard(&self) -> ShardId {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed));
        // A thread that is ending may read in the destructor of a thread-local value.
        ShardId(THREAD.try_with(|thread| *thread).unwrap_or(0) % self.shards.len())
    }

    /// Counts a reader, and lends it a connection if one is idle, until [`Self::give_back`]. Waits
    /// up to `timeout` for the end of a suspension.
    pub(crate) fn take(&self, timeout: Duration) -> Result<(ShardId, Option<Box<FileConnection>>)> {
        let ShardId(own) = self.shard();
        let mut state = self.shards[own].lock();
        if state.gate != Gate::Open {
            let suspended = |state: &mut ShardState| state.gate == Gate::Suspended;
            let changed = &self.shards[own].returned;
            let waited = changed.wait_timeout_while(state, timeout, suspended);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match state.gate {
            Gate::Open => {}
            Gate::Suspended => return Err(suspended()),
            Gate::Closed => return Err(closed()),
        }
        state.lent_count += 1;
        if let Some(connection) = state.idle.pop() {
            return Ok((ShardId(own), Some(connection)));
        }
        drop(state);
        // An idle connection of another shard is better than a new one, unless its lock is taken.
        let others = self.shards.iter().enumerate().filter(|(id, _)| *id != own);
        let found = others.filter_map(|(_, shard)| shard.state.try_lock().ok()?.idle.pop());
        Ok((ShardId(own), found.take(1).next()))
    }

    /// Takes back a reader's connection, if it can be used again. Returns whether the connection
    /// keeps its read transaction.
    pub(crate) fn give_back(
        &self,
        shard: ShardId,
        connection: Option<Box<FileConnection>>,
    ) -> bool {
        let shard = &self.shards[shard.0];
        let mut state = shard.lock();
        let connection = connection.and_then(|mut connection| {
            // Order: under the lock, so that either this sees a caller that forbids kept reads, or
            // that caller sees this connection.
            let may_keep = self.forbidden_count.load(Ordering::Relaxed) == 0;
            ((may_keep && connection.is_current()) || connection.end()).then_some(connection)
        });
        let keeps = connection
            .as_ref()
            .is_some_and(|connection| connection.has_kept_read());
        if state.idle.len() < self.idle_max {
            state.idle.extend(connection);
        } else if connection.is_some() {
            // Order: closed before it is counted as returned, so that a thread that drains the pool
            // closes the log last.
            drop(state);
            drop(connection);
            state = shard.lock();
        }
        state.lent_count -= 1;
        if state.gate != Gate::Open {
            drop(state);
            shard.returned.notify_all();
        }
        keeps
    }

    /// The current epoch; a transaction kept in an earlier one is too old.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Makes all kept transactions too old, so that later reads begin others.
    pub(crate) fn outdate_kept(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the kept transactions of all idle connections, and returns how many there were.
    pub(crate) fn end_kept(&self) -> usize {
        self.outdate_kept();
        let mut ended = 0;
        for shard in &self.shards {
            let mut state = shard.lock();
            state.idle.retain_mut(|connection| {
                ended += usize::from(connection.has_kept_read());
                // A connection whose transaction can't be ended is closed.
                connection.end()
            });
        }
        ended
    }

    /// Ends the kept transactions of all idle connections. No connection keeps one while the result
    /// lives.
    pub(crate) fn forbid_kept_reads(&self) -> KeptReadsForbidden<'_> {
        self.forbidden_count.fetch_add(1, Ordering::Relaxed);
        self.end_kept();
        KeptReadsForbidden(self)
    }

    /// Closes all idle connections.
    pub(crate) fn close_idle(&self) {
        for shard in &self.shards {
            let idle = std::mem::take(&mut shard.lock().idle);
            drop(idle);
        }
    }

    /// Sets whether connections are lent.
    pub(crate) fn set_gate(&self, gate: Gate) {
        for shard in &self.shards {
            shard.lock().gate = gate;
            shard.returned.notify_all();
        }
    }

    /// Waits, while the gate is not open, until all connections are returned, and closes them.
    /// Returns whether that was done before `deadline`.
    pub(crate) fn drain(&self, deadline: Option<Instant>) -> bool {
        for shard in &self.shards {
            let mut state = shard.lock();
            while state.lent_count > 0 {
                let rest = deadline.map(|end| end.saturating_duration_since(Instant::now()));
                if rest.is_some_and(|rest| rest.is_zero()) {
                    return false;
                }
                let rest = rest.unwrap_or(Duration::from_secs(3600));
                let waited = shard.returned.wait_timeout(state, rest);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
            let idle = std::mem::take(&mut state.idle);
            drop(state);
            drop(idle);
        }
        true
    }

    /// The most statements that an idle connection holds, for tests.
    #[cfg(test)]
    pub(crate) fn statements_max(&self) -> usize {
        let most = |shard: &Shard| {
            let state = shard.lock();
            let held = state.idle.iter();
            held.map(|connection| connection.raw.statements_count())
                .max()
        };
        self.shards.iter().filter_map(most).max().unwrap_or(0)
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> ReaderCounts {
        let mut counts = ReaderCounts::default();
        for shard in &self.shards {
            let state = shard.lock();
            counts.out += state.lent_count;
            counts.idle += state.idle.len();
            counts.kept += state.idle.iter().filter(|s| s.has_kept_read()).count();
        }
        counts
    }
}

/// How many connections there are, for tests.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReaderCounts {
    pub(crate) out: usize,
    pub(crate) idle: usize,
    pub(crate) kept: usize,
}

/// While it lives, no idle connection keeps a read transaction.
pub(crate) struct KeptReadsForbidden<'r>(&'r Readers);

impl Drop for KeptReadsForbidden<'_> {
    fn drop(&mut self) {
        self.0.forbidden_count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The error of a call that has waited for the end of a suspension.
pub(crate) fn suspended() -> Error {
    let message = "cannot use the file: the workspace is suspended";
    Error::new(ErrorKind::Busy, message)
}

/// The error of a call after closing.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::ShutDown, "the database is closed")
}

#[cfg(test)]
mod tests;
