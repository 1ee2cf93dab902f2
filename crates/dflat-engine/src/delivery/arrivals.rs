//! Registrations and commits of other programs in the queue of deliveries.

use std::time::Instant;

use dflat_model::CommitSeq;

use super::deliveries::Deliveries;
use super::queue::{Item, Registration};
use crate::change_set::{ChangeSet, RereadSet};
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A registration that reads its first state.
pub struct ExpectedRegistration<'d>(&'d AtomicUsize);

impl Drop for ExpectedRegistration<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Deliveries {
    /// Queues the changes of commits of other programs, in this order, each with the names of all
    /// tables that it changed.
    pub fn follow(&self, commits: impl IntoIterator<Item = (ChangeSet, Vec<String>)>) {
        let now = Instant::now();
        let mut rows = 0;
        let mut queue = self.lock();
        for (changes, names) in commits {
            for name in &names {
                queue.note_followed(name, changes.seq);
            }
            rows += changes.unmatched_count();
            queue.waiting.push_back((now, Item::Followed(changes)));
            queue.pushed += 1;
        }
        queue.renewals += 1;
        // Under the lock, as in `push`.
        self.unmatched.fetch_add(rows, Ordering::Relaxed);
    }

    /// Number of times that commits of other programs were noticed.
    #[must_use]
    pub fn renewals(&self) -> u64 {
        self.lock().renewals
    }

    /// Announces a registration, before it reads its first state. Until the result is dropped, all
    /// tables count as observed.
    pub fn expect_registration(&self) -> ExpectedRegistration<'_> {
        self.registering.fetch_add(1, Ordering::AcqRel);
        ExpectedRegistration(&self.registering)
    }

    /// Queues a registration behind the transactions that have ended, unless commits of other
    /// programs were noticed since there were `renewals`. The registration read its first state
    /// after that; this state may lack those commits.
    ///
    /// # Errors
    /// The registration, if it is not queued.
    pub fn try_register(
        &self,
        registration: Registration,
        renewals: u64,
    ) -> Result<(), Registration> {
        let mut queue = self.lock();
        if queue.renewals != renewals {
            return Err(registration);
        }
        self.registering.fetch_add(1, Ordering::AcqRel);
        let item = Item::Registration(registration);
        queue.waiting.push_back((Instant::now(), item));
        queue.pushed += 1;
        Ok(())
    }

    /// Queues a registration behind the transactions that have ended. `renewals` is the number of
    /// times that commits of other programs were noticed before the registration read its first
    /// state; if there were more since, everything is read again.
    pub fn register(&self, registration: Registration, renewals: u64) {
        let now = Instant::now();
        self.registering.fetch_add(1, Ordering::AcqRel);
        let mut queue = self.lock();
        queue
            .waiting
            .push_back((now, Item::Registration(registration)));
        queue.pushed += 1;
        if queue.renewals != renewals {
            // A commit noticed since then is before the registration in the queue, and the state
            // that the registration read may lack it.
            queue.waiting.push_back((now, Item::Foreign));
            queue.pushed += 1;
        }
    }

    /// Queues work that depends on no state which was read before, and the calls that follow from
    /// it.
    pub fn add_work(&self, work: Registration) {
        self.registering.fetch_add(1, Ordering::AcqRel);
        let item = (Instant::now(), Item::Registration(work));
        let mut queue = self.lock();
        queue.waiting.push_back(item);
        queue.pushed += 1;
    }

    /// Queues rows that other programs have written.
    pub fn reread(&self, rows: RereadSet) {
        let mut queue = self.lock();
        queue.overtaken = queue.overtaken.max(rows.seq);
        queue.renewals += 1;
        let item = (Instant::now(), Item::Reread(rows));
        queue.waiting.push_back(item);
        queue.pushed += 1;
    }

    /// Queues the calls that follow from a foreign write, which was not made before the commit
    /// `seq`.
    pub fn renew(&self, seq: CommitSeq) {
        let item = (Instant::now(), Item::Foreign);
        let mut queue = self.lock();
        // Order: a thread that notices a foreign write later may have looked earlier, so the larger
        // commit number is kept.
        queue.overtaken = queue.overtaken.max(CommitSeq(seq.0 + 1));
        queue.renewals += 1;
        // Calls that have not been made yet are made for this foreign write, too.
        if !matches!(queue.waiting.back(), Some((_, Item::Foreign))) {
            queue.waiting.push_back(item);
            queue.pushed += 1;
        }
    }
}
