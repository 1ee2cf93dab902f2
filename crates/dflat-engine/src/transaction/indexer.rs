//! The thread that builds indexes, in batches between the commits of transactions.

mod duplicates;
mod reads;
mod state;

use std::ops::ControlFlow;

use dflat_model::Table;

use super::backfill::{Batch, fill};
use crate::callback;
use crate::change_set::record_engine;
use crate::error::Result;
use crate::storage::{Backend, ScanPlan, Source, View};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, thread};
use crate::telemetry::TARGET;

pub use duplicates::Duplicate;
use duplicates::duplicates;
pub use reads::NotedTables;
use reads::ReadTables;
use state::IndexerState;
pub use state::{BuildState, IndexProgress};

/// Called when no index is being built any more, with the outcome of the builds.
pub type Ready = Box<dyn FnOnce(Result<()>) + Send>;

/// Builds indexes. Its thread runs while there are indexes to build.
pub struct Indexer {
    backend: Arc<dyn Backend>,
    /// Identifies the engine among the engines of the process.
    engine: u64,
    /// The tables that were read; `None` if reads build no indexes.
    read_tables: Option<ReadTables>,
    state: Mutex<IndexerState>,
    idle: Condvar,
    /// Whether another program has written, and the commit groups have not noticed it yet.
    foreign_write: AtomicBool,
}

impl Indexer {
    /// Builds the indexes of an engine of the process. With `on_read`, reads start builds too.
    #[must_use]
    pub(crate) fn new(backend: Arc<dyn Backend>, engine: u64, on_read: bool) -> Arc<Self> {
        Arc::new(Self {
            backend,
            engine,
            read_tables: on_read.then(ReadTables::default),
            state: Mutex::default(),
            idle: Condvar::new(),
            foreign_write: AtomicBool::new(false),
        })
    }

    pub(super) const fn engine(&self) -> u64 {
        self.engine
    }

    pub(super) const fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    fn lock(&self) -> MutexGuard<'_, IndexerState> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that the table's indexes are built. With `again`, also those whose build failed
    /// because a stored row is damaged.
    pub(crate) fn want(self: &Arc<Self>, table: &Table, again: bool) {
        let mut state = self.lock();
        let is_wanted = state.wanted.iter().any(|other| other.is_same(table));
        if is_wanted {
            // The last batch of the table may be done, and its storage may have changed since.
            state.wanted_again = true;
        }
        if state.closed || is_wanted || (!again && state.has_damage(table)) {
            return;
        }
        state.wanted.push_back(table.clone());
        if state.working {
            return;
        }
        let this = Arc::clone(self);
        let thread = thread::Builder::new().name("dflat-index".to_owned());
        // Without the thread, the next write of the type tries again.
        let spawned = thread.spawn(move || this.run());
        state.working = spawned.is_ok();
        match spawned {
            Ok(thread) => state.thread = Some(thread),
            Err(_) => state.wanted.clear(),
        }
    }

    /// The progress of each index that is being built, or was built since this engine was created.
    pub(crate) fn progress(&self) -> Vec<IndexProgress> {
        let state = self.lock();
        state.builds.iter().map(|b| b.progress.clone()).collect()
    }

    /// Waits until no index is being built.
    pub(crate) fn wait(&self) {
        let working = |state: &mut IndexerState| state.working;
        let waited = self.idle.wait_while(self.lock(), working);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Calls `ready` when no index is being built any more; if none is being built now, calls it at
    /// once.
    pub(crate) fn when_ready(&self, ready: Ready) {
        let mut state = self.lock();
        if state.working {
            state.waiting.push(ready);
            return;
        }
        let outcome = state.outcome();
        drop(state);
        ready(outcome);
    }

    /// Ends the thread after the batch that is being written. With `wait`, returns after the thread
    /// has ended.
    pub(super) fn close(&self, wait: bool) {
        let mut state = self.lock();
        state.closed = true;
        let thread = state.thread.take();
        drop(state);
        if let Some(thread) = thread
            && wait
            && thread.thread().id() != thread::current().id()
        {
            // The thread does not panic: a panic of `ready` is caught.
            let _ = thread.join();
        }
    }

    /// Whether the indexer has noticed a foreign write since the last call of this method.
    pub(super) fn take_foreign_write(&self) -> bool {
        self.foreign_write.swap(false, Ordering::AcqRel)
    }

    /// Whether the indexer has noticed a foreign write since the last call of
    /// [`take_foreign_write`](Self::take_foreign_write).
    pub(super) fn has_foreign_write(&self) -> bool {
        self.foreign_write.load(Ordering::Acquire)
    }

    fn run(&self) {
        while let Some(table) = self.next() {
            let mut batch = self.begin(&table).and_then(|()| self.batch(&table));
            if let Ok(batch) = &mut batch {
                batch.is_last &= !self.lock().wanted_again;
            }
            let is_last = batch.as_ref().map_or(true, |batch| batch.is_last);
            let outcome = match &batch {
                Ok(batch) => self.note(batch),
                Err(error) => Err(error.clone()),
            };
            let mut state = self.lock();
            if let Err(error) = outcome {
                state.fail(&table, &error);
            }
            if is_last && !(batch.is_ok() && state.wanted_again) {
                state.wanted.retain(|wanted| !wanted.is_same(&table));
            }
        }
    }

    /// The next table to fill a batch of; `None` if there is none, after every waiting `ready` was
    /// called.
    fn next(&self) -> Option<Table> {
        loop {
            let mut state = self.lock();
            if state.closed {
                state.cut_short |= !state.wanted.is_empty();
                state.wanted.clear();
            }
            let next = state.wanted.front().cloned();
            state.wanted_again = false;
            if next.is_some() {
                return next;
            }
            let waiting = std::mem::take(&mut state.waiting);
            if waiting.is_empty() {
                state.working = false;
                drop(state);
                self.idle.notify_all();
                return None;
            }
            let outcome = state.outcome();
            drop(state);
            for ready in waiting {
                let _ = callback::run("a function that waits for indexes", || {
                    ready(outcome.clone())
                });
            }
        }
    }

    /// Counts the rows, before the first batch of a table.
    fn begin(&self, table: &Table) -> Result<()> {
        if self.lock().is_building(table) {
            return Ok(());
        }
        let mut rows_total = 0;
        let mut snapshot = Arc::clone(&self.backend).snapshot(View::Latest)?;
        let plan = ScanPlan {
            table,
            source: Source::Rows,
            payload: false,
        };
        snapshot.scan(&plan, &mut |_| {
            rows_total += 1;
            ControlFlow::Continue(())
        })?;
        let type_name = table.type_name.as_ref();
        tracing::debug!(target: TARGET, type_name, rows = rows_total, "backfill started");
        self.lock().start(table, rows_total);
        Ok(())
    }

    fn batch(&self, table: &Table) -> Result<Batch> {
        let type_name = table.type_name.as_ref();
        let span = tracing::debug_span!(target: TARGET, "backfill", type_name);
        let _in = span.enter();
        let mut writer = Arc::clone(&self.backend).begin(self.backend.durability())?;
        if !writer.base().is_own {
            self.foreign_write.store(true, Ordering::Release);
        }
        let batch = fill(writer.as_mut(), table)?;
        if writer.is_followed() {
            writer.append_record(&batch.change_record(record_engine(self.engine)))?;
        }
        writer.commit()?;
        Ok(batch)
    }

    /// Notes the result of a batch.
    fn note(&self, batch: &Batch) -> Result<()> {
        let table = &batch.table;
        self.lock().advance(batch);
        if !batch.is_last {
            return Ok(());
        }
        let type_name = table.type_name.as_ref();
        tracing::debug!(target: TARGET, type_name, "backfill finished");
        for (position, index) in table.indexes.iter().enumerate() {
            let storage_key = index.storage_key();
            let duplicates = match index.unique {
                true if self.lock().find(table, &storage_key).is_some() => {
                    duplicates(&self.backend, table, position)?
                }
                _ => Vec::new(),
            };
            for duplicate in &duplicates {
                let (values, keys) = (&duplicate.values, &duplicate.keys);
                tracing::warn!(target: TARGET, type_name, %index, ?values, ?keys,
                    "several objects have the same value of a unique index");
            }
            if let Some(build) = self.lock().find(table, &storage_key) {
                build.progress.duplicates = duplicates;
                build.progress.state = BuildState::Ready;
            }
        }
        Ok(())
    }
}
