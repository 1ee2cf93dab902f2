//! Ends the read transactions that idle connections keep, at regular intervals.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::connection::readers::Readers;

/// The longest time that an idle connection keeps a transaction. Until then the transaction pins
/// the log, and reads may not notice that the file was deleted, replaced or truncated.
pub(crate) const KEPT_MAX: Duration = Duration::from_millis(100);

/// The number of intervals without a kept transaction after which this stops: a program that does
/// not read for a second is not woken by its timer.
const IDLE_MAX: u32 = 10;

/// Whether kept transactions are being ended.
#[derive(Default)]
pub(crate) struct KeptReads {
    is_ending: AtomicBool,
    /// How often in a row there was nothing to end.
    idle_count: AtomicU32,
}

impl KeptReads {
    /// Whether kept transactions are being ended, so that one more needs no step.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        // Order: the connection is idle before this load, and the last step stores `false` before
        // it looks for connections once more. So one of them sees the other.
        self.is_ending.load(Ordering::SeqCst)
    }

    /// Begins to end kept transactions; false if that has begun already.
    pub(crate) fn begin(&self) -> bool {
        !self.is_ending.swap(true, Ordering::SeqCst)
    }

    /// Stops ending kept transactions.
    pub(crate) fn stop(&self) {
        self.is_ending.store(false, Ordering::SeqCst);
    }

    /// Ends all kept transactions. Returns whether to do so again after the interval.
    pub(crate) fn end(&self, readers: &Readers) -> bool {
        let idle_count = match readers.end_kept() {
            0 => self.idle_count.load(Ordering::Relaxed) + 1,
            _ => 0,
        };
        self.idle_count.store(idle_count, Ordering::Relaxed);
        if idle_count < IDLE_MAX {
            return true;
        }
        self.idle_count.store(0, Ordering::Relaxed);
        self.stop();
        readers.end_kept() > 0 && self.begin()
    }
}

#[cfg(test)]
mod tests;
