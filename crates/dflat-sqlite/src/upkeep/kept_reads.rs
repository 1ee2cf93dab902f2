//! Ends the read transactions that connections at rest keep, every so often.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::connection::readers::Readers;

/// How long a transaction is kept at most while nobody reads. It keeps the log from starting again,
/// and so the file from getting smaller.
pub(crate) const KEPT_MAX: Duration = Duration::from_millis(100);

/// How often in a row there must have been nothing to end for this to end.
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
        // Order: the connection is at rest before this looks, and the step says that it is the last
        // before it looks for connections. So one of them sees the other.
        self.is_ending.load(Ordering::SeqCst)
    }

    /// Begins to end them; false if that has begun.
    pub(crate) fn begin(&self) -> bool {
        !self.is_ending.swap(true, Ordering::SeqCst)
    }

    /// Ends no more.
    pub(crate) fn stop(&self) {
        self.is_ending.store(false, Ordering::SeqCst);
    }

    /// Ends those that are kept; whether that is to be done again.
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
