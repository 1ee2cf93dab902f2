//! The owner of all upkeep. Reads and writes notify it, and it makes the steps that are due on one
//! thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::connection::readers::ShardId;
use crate::io::WrittenRecords;
use crate::presence::Presence;
use crate::upkeep::checkpoint::{CheckpointLimits, checkpoint};
use crate::upkeep::free_pages::{PagesToReclaim, reclaim_step};
use crate::upkeep::kept_reads::{KEPT_MAX, KeptReads};
use crate::upkeep::log_file::{CutOutcome, cut_step};
use crate::upkeep::log_limit::{LogLimit, PAUSE, Urgency};
use crate::upkeep::marked::Strangers;
use crate::upkeep::prune::{PruneLimits, Pruned, prune_step};
use crate::upkeep::queue::{Queue, Step};
use crate::upkeep::reclaim::{NextReclaim, Reclaiming};

/// The pause between two steps that cut the log's file, in which transactions write.
const CUT_PAUSE: Duration = Duration::from_millis(5);

/// The upkeep of a file, with the connections to it.
pub(crate) struct Upkeep {
    /// The presence of the backend among the processes that use the file.
    // Order: its thread ends before the connections are closed.
    presence: Arc<Presence>,
    connections: Arc<Connections>,
    worker: Arc<Worker>,
    strangers: Strangers,
}

/// The state that the thread shares with readers and writers.
struct Worker {
    presence: Arc<Presence>,
    queue: Queue,
    log_limit: LogLimit,
    reclaiming: Reclaiming,
    kept_reads: KeptReads,
    /// The bytes of change records that were written since the change log was pruned.
    records: AtomicU64,
    /// All change records that were written: their number and their bytes.
    written: [AtomicU64; 2],
    /// Whether the age of the change records was looked at, or will be.
    looks_at_age: AtomicBool,
}

/// How long a transaction that wrote change records is waited for, before some are deleted.
const PRUNE_AFTER: Duration = Duration::from_secs(1);

impl Upkeep {
    pub(crate) fn new(connections: Arc<Connections>) -> Self {
        let options = connections.options();
        let presence = Arc::new(Presence::new(connections.path(), !options.read_only));
        let worker = Arc::new(Worker {
            presence: Arc::clone(&presence),
            queue: Queue::default(),
            log_limit: LogLimit::new(options.log_bytes_max),
            reclaiming: Reclaiming::new(options.reclaim),
            kept_reads: KeptReads::default(),
            records: AtomicU64::new(0),
            written: Default::default(),
            looks_at_age: AtomicBool::new(false),
        });
        Self {
            presence,
            connections,
            worker,
            strangers: Strangers::default(),
        }
    }

    pub(crate) fn presence(&self) -> &Presence {
        &self.presence
    }

    pub(crate) fn strangers(&self) -> &Strangers {
        &self.strangers
    }

    /// Whether a commit that is made now leaves change records.
    pub(crate) fn is_followed(&self) -> bool {
        self.worker.is_followed(&self.connections)
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Takes back a reader's connection, if it can be used again.
    pub(crate) fn return_reader(&self, place: ShardId, connection: Option<Box<FileConnection>>) {
        let keeps = self.connections.return_reader(place, connection);
        if keeps && !self.worker.kept_reads.is_ending() {
            self.worker.end_kept_reads(&self.connections);
        }
    }

    /// Gives back write access, and the connection if it can be used again.
    pub(crate) fn return_writer(&self, connection: Option<FileConnection>) {
        self.worker.return_writer(&self.connections, connection);
    }

    /// Notes that a snapshot has ended, which may have pinned the log.
    pub(crate) fn note_snapshot_end(&self) {
        if self.worker.log_limit.is_pinned() {
            self.worker
                .ask_for_checkpoint(&self.connections, Urgency::Usual);
        }
    }

    /// Holds a transaction back that is about to begin while the log is far too long.
    pub(crate) fn hold_back(&self) {
        self.worker.log_limit.hold_back();
    }

    /// Whether a reader kept the log from starting again when that was last tried.
    pub(crate) fn is_log_pinned(&self) -> bool {
        self.worker.log_limit.is_pinned()
    }

    /// The change records that were written.
    pub(crate) fn written_records(&self) -> WrittenRecords {
        let [count, bytes] = &self.worker.written;
        let [count, bytes] = [count, bytes].map(|number| number.load(Ordering::Relaxed));
        WrittenRecords { count, bytes }
    }

    /// How often a transaction was held back.
    pub(crate) fn held_count(&self) -> u64 {
        self.worker.log_limit.held_count()
    }

    /// Notes that the file, which could not give back pages, may be able to now.
    pub(crate) fn set_able(&self) {
        self.worker.reclaiming.set_able();
    }

    /// Waits for the step that is being made, and lets no other begin.
    pub(crate) fn close(&self) {
        self.stop();
        self.worker.queue.join();
    }

    fn stop(&self) {
        self.worker.queue.begin_closing();
        self.worker.log_limit.close();
    }

    /// Waits until none of these steps is pending, for tests. Returns whether one was made since
    /// the last call.
    #[cfg(test)]
    pub(crate) fn settle(&self, steps: &[Step]) -> bool {
        self.worker.queue.settle(steps)
    }

    #[cfg(test)]
    pub(crate) fn is_pending(&self, step: Step) -> bool {
        self.worker.queue.is_pending(step)
    }

    #[cfg(test)]
    pub(crate) fn reclaiming(&self) -> &Reclaiming {
        &self.worker.reclaiming
    }
}

/// A database that was not closed leaves no thread behind.
impl Drop for Upkeep {
    fn drop(&mut self) {
        self.presence.close();
        self.stop();
    }
}

impl Worker {
    /// Whether a commit that is made now leaves change records: if the caller asked for records, or
    /// another process follows the file.
    fn is_followed(&self, connections: &Connections) -> bool {
        connections.options().change_log || self.presence.has_others()
    }

    /// Puts a step into the queue; false if no thread can make it.
    fn add(self: &Arc<Self>, connections: &Arc<Connections>, step: Step, at: Instant) -> bool {
        let (worker, connections) = (Arc::clone(self), Arc::downgrade(connections));
        self.queue.add(step, at, move || worker.run(&connections))
    }

    #[cold]
    fn end_kept_reads(self: &Arc<Self>, connections: &Arc<Connections>) {
        let at = Instant::now() + KEPT_MAX;
        if self.kept_reads.begin() && !self.add(connections, Step::EndKeptReads, at) {
            // Without a thread no transaction would be ended in time: none is kept.
            self.kept_reads.stop();
            connections.pool().readers().end_kept();
        }
    }

    fn ask_for_checkpoint(self: &Arc<Self>, connections: &Arc<Connections>, urgency: Urgency) {
        let add = |at| self.add(connections, Step::Checkpoint, at);
        // Without a thread the log is left to the next commit.
        self.log_limit.ask(urgency, add);
    }

    /// Gives back write access, and puts the steps into the queue that are due after the write.
    fn return_writer(
        self: &Arc<Self>,
        connections: &Arc<Connections>,
        connection: Option<FileConnection>,
    ) {
        let sizes = connections.return_writer(connection);
        if let Some(urgency) = sizes.log.and_then(|log| self.log_limit.note_commit(log)) {
            self.ask_for_checkpoint(connections, urgency);
        }
        if sizes.log.is_some_and(|log| self.log_limit.take_cut(log)) {
            // Without a thread the file stays as long as it is until the log starts again.
            self.add(connections, Step::CutLog, Instant::now());
        }
        self.note_records(connections, sizes.records);
        let after = self.reclaiming.note_write(sizes.space);
        if let Some(after) = after.filter(|_| !self.queue.is_pending(Step::Reclaim))
            && let Some(at) = Instant::now().checked_add(after)
        {
            self.reclaiming.note_queued();
            // Without a thread the space stays unused until the next commit that leaves some.
            self.add(connections, Step::Reclaim, at);
        }
    }

    /// Counts change records that were committed, and puts their deletion into the queue.
    fn note_records(self: &Arc<Self>, connections: &Arc<Connections>, records: WrittenRecords) {
        let options = connections.options();
        let mut after = None;
        if records.count > 0 {
            let [count, bytes] = &self.written;
            count.fetch_add(records.count, Ordering::Relaxed);
            bytes.fetch_add(records.bytes, Ordering::Relaxed);
            if let Some(monitor) = connections.monitor() {
                monitor.note_records(records);
            }
            let unpruned = self.records.fetch_add(records.bytes, Ordering::Relaxed) + records.bytes;
            let is_much = unpruned > options.change_log_bytes_max / 2;
            after = is_much.then_some(PRUNE_AFTER);
        }
        if let Some(age_max) = options.change_log_age_max {
            // The file may have old records of other processes.
            let is_first = !self.looks_at_age.swap(true, Ordering::Relaxed);
            let of_age = match is_first {
                true => Some(PRUNE_AFTER),
                false => (records.count > 0).then(|| age_max.max(PRUNE_AFTER)),
            };
            after = [after, of_age].into_iter().flatten().min();
        }
        if let Some(at) = after.and_then(|after| Instant::now().checked_add(after)) {
            // Without a thread the records stay until a later commit.
            self.add(connections, Step::PruneChangeLog, at);
        }
    }

    /// Makes the steps that are in the queue; on the thread.
    fn run(self: &Arc<Self>, connections: &Weak<Connections>) {
        while let Some(step) = self.queue.next() {
            let Some(connections) = connections.upgrade() else {
                return self.queue.abandon();
            };
            match step {
                Step::EndKeptReads => self.make_end_of_kept_reads(&connections),
                Step::Checkpoint => self.make_checkpoint(&connections),
                Step::CutLog => self.make_cut(&connections),
                Step::Reclaim => self.make_reclaim(&connections),
                Step::CheckpointReclaimed => self.make_checkpoint_of_reclaimed(&connections),
                Step::PruneChangeLog => self.make_pruning(&connections),
            }
        }
    }

    fn make_end_of_kept_reads(&self, connections: &Connections) {
        if self.kept_reads.end(connections.pool().readers()) {
            self.queue
                .add_again(Step::EndKeptReads, Instant::now() + KEPT_MAX);
        }
    }

    fn make_checkpoint(&self, connections: &Connections) {
        if let Some(end) = self.log_limit.pause_end() {
            self.queue.add_again(Step::Checkpoint, end);
            return;
        }
        let Some(alone) = connections.try_lock_checkpoints() else {
            self.queue
                .add_again(Step::Checkpoint, Instant::now() + PAUSE);
            return;
        };
        // One that fails is tried again after a later commit.
        let limits = CheckpointLimits {
            bytes_max: self.log_limit.bytes_max(),
            is_overdue: self.log_limit.take_urgency() == Urgency::Overdue,
        };
        let outcome = checkpoint(connections, &alone, limits);
        match &outcome {
            Ok(outcome) => {
                if let Some(at) = self.log_limit.retry_of(outcome) {
                    self.queue.add_again(Step::Checkpoint, at);
                }
            }
            Err(_) => self.queue.remove(Step::Checkpoint),
        }
        let is_queued = || self.queue.is_queued(Step::Checkpoint);
        let path = connections.path();
        self.log_limit
            .note_outcome(path, outcome.as_ref().ok(), is_queued);
    }

    fn make_cut(self: &Arc<Self>, connections: &Arc<Connections>) {
        let return_writer = |connection| self.return_writer(connections, connection);
        // A step that fails leaves the rest to the next log that starts again.
        if let Ok(CutOutcome::More) = cut_step(connections, return_writer) {
            self.queue
                .add_again(Step::CutLog, Instant::now() + CUT_PAUSE);
        }
    }

    fn make_reclaim(self: &Arc<Self>, connections: &Arc<Connections>) {
        let mut next = self.reclaiming.begin();
        if let NextReclaim::Step(pages) = next {
            let return_writer = |connection| self.return_writer(connections, connection);
            let pages = PagesToReclaim {
                pages,
                is_followed: self.is_followed(connections),
            };
            let reclaimed = reclaim_step(connections, pages, return_writer);
            next = self.reclaiming.end(&reclaimed);
        }
        let now = Instant::now();
        match next {
            NextReclaim::Step(_) => self.queue.add_again(Step::Reclaim, now),
            NextReclaim::Wait(after) => {
                if let Some(at) = now.checked_add(after) {
                    self.queue.add_again(Step::Reclaim, at);
                }
            }
            NextReclaim::Checkpoint => self.queue.add_again(Step::CheckpointReclaimed, now),
            NextReclaim::Nothing => {}
        }
    }

    fn make_pruning(self: &Arc<Self>, connections: &Arc<Connections>) {
        let options = connections.options();
        let limits = PruneLimits {
            bytes_max: options.change_log_bytes_max,
            age_max: options.change_log_age_max,
            is_followed: self.is_followed(connections),
        };
        let return_writer = |connection| self.return_writer(connections, connection);
        let after = match prune_step(connections, limits, return_writer) {
            Ok(Pruned::Some) => Some(Duration::ZERO),
            Ok(Pruned::Waits) => Some(PRUNE_AFTER),
            Ok(Pruned::Done { next }) => {
                self.records.store(0, Ordering::Relaxed);
                next.map(|next| next.max(PRUNE_AFTER))
            }
            // A later commit tries again.
            Err(_) => {
                self.records.store(0, Ordering::Relaxed);
                self.looks_at_age.store(false, Ordering::Relaxed);
                None
            }
        };
        if let Some(at) = after.and_then(|after| Instant::now().checked_add(after)) {
            self.queue.add_again(Step::PruneChangeLog, at);
        }
    }

    fn make_checkpoint_of_reclaimed(&self, connections: &Connections) {
        match connections.try_lock_checkpoints() {
            // Without it the pages are gone from the file after a later checkpoint.
            Some(alone) => drop(checkpoint(connections, &alone, CheckpointLimits::COPY_ONLY)),
            None => {
                let at = Instant::now() + PAUSE;
                self.queue.add_again(Step::CheckpointReclaimed, at);
            }
        }
    }
}
