//! The queue of keys to write, and the transactions that empty the queue.

use std::time::Instant;

use super::space::Key;
use crate::engine::Engine;
use crate::error::{Error, Result};

/// The queued keys, and the numbers and outcomes of transactions.
#[derive(Default)]
pub(super) struct QueueState {
    pub(super) waiting: Vec<Key>,
    /// The engine that runs the latest transaction, until the transaction has ended.
    pub(super) engine: Option<Engine>,
    /// The numbers of transactions that were queued, have taken their keys, and have ended.
    /// Transactions take each of these steps in the same order.
    pub(super) started: u64,
    pub(super) taken: u64,
    pub(super) finished: u64,
    pub(super) failures: u64,
    /// The number of failures since a transaction last wrote something.
    pub(super) fruitless: u32,
    /// The end of the first of the latest transactions, if other processes have overtaken all of
    /// them.
    pub(super) overtaken_since: Option<Instant>,
    /// Whether a thread waits to retry.
    pub(super) is_retrying: bool,
    /// The number of calls that demanded writing at once.
    pub(super) hurries: u64,
    /// The latest transaction that failed, and its error.
    pub(super) failed: Option<(u64, Error)>,
    /// The latest transaction that failed because of a single key, and its error.
    pub(super) refused: Option<(u64, Error)>,
    /// The keys that could not be written.
    pub(super) postponed: Vec<Key>,
    /// The keys that are left to the transactions that use them.
    pub(super) left: Vec<Key>,
    /// `synchronize` must wait for this transaction as well: it writes keys that an earlier one
    /// should have written.
    pub(super) again: u64,
}

impl QueueState {
    /// The number of the transaction that writes the keys queued now. A transaction that has not
    /// taken its keys yet takes all of them.
    pub(super) fn next(&self) -> u64 {
        self.started + u64::from(self.taken == self.started)
    }

    /// The number of the transaction after which all keys are written that are queued now, or could
    /// not be written before.
    pub(super) fn last(&mut self) -> u64 {
        let postponed = std::mem::take(&mut self.postponed);
        self.waiting.extend(postponed);
        if self.waiting.is_empty() {
            self.started
        } else {
            self.next()
        }
    }

    /// Whether the transaction that has just ended runs again, because it failed only because of
    /// another process.
    pub(super) fn runs_again(&mut self, outcome: &Result<()>) -> bool {
        let since = self.overtaken_since.take().unwrap_or_else(Instant::now);
        let again = match (outcome, &self.engine) {
            (Err(error), Some(engine)) => engine.runs_again(error, since),
            _ => false,
        };
        self.overtaken_since = again.then_some(since);
        again
    }

    /// Notes the error of the transaction that has just ended, and the key that it could not write.
    pub(super) fn note_failure(&mut self, error: &Error, failed_key: Option<Key>) {
        self.failures += 1;
        let failed = Some((self.finished, error.clone()));
        match failed_key {
            Some(key) => {
                self.refused = failed;
                self.postponed.retain(|other| !other.is(&key));
                self.postponed.push(key);
            }
            None => self.failed = failed,
        }
    }
}
