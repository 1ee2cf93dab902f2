//! The outcome of a batch, which the entries of its keys share.
//!
//! The keys of a batch count as written at once when the batch is, without a visit to each of them.

use crate::sync::atomic::{AtomicBool, Ordering};

/// A batch of keys from the time when it takes a key.
#[derive(Debug, Default)]
pub(super) struct Writing {
    is_written: AtomicBool,
    has_overtaken: AtomicBool,
}

impl Writing {
    /// Whether the transaction of the batch is committed.
    pub(super) fn is_written(&self) -> bool {
        self.is_written.load(Ordering::SeqCst)
    }

    /// Notes that another process has changed a key of the batch. The key's shard must be locked.
    pub(super) fn note_overtaken(&self) {
        self.has_overtaken.store(true, Ordering::SeqCst);
    }

    /// Notes that the transaction is committed. Returns whether another process may have changed a
    /// key of the batch; a later note of a change finds the batch written.
    pub(super) fn end(&self) -> bool {
        // Order: a thread that notes a change looks afterwards whether the batch is written. So at
        // least one of the two threads finds what the other has stored.
        self.is_written.store(true, Ordering::SeqCst);
        self.has_overtaken.load(Ordering::SeqCst)
    }
}
