//! The thread that builds indexes, in batches between the commits of transactions.

use std::collections::{HashMap, VecDeque};
use std::ops::{Bound, ControlFlow};

use dflat_model::{Direction, RowId, Table, Value};

use super::backfill::{Batch, fill};
use super::row::{entry_values, key_parts};
use crate::callback;
use crate::change_set::record_engine;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::storage::{Backend, IndexState, Indexes, Key, KeyScan, ScanPlan, Source, View};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, JoinHandle, Mutex, MutexGuard, PoisonError, thread};
use crate::telemetry::TARGET;

/// Limit of the objects that are reported as duplicates of an index: a list for a person to read,
/// which must not grow with the table.
const DUPLICATES_MAX: usize = 1000;

/// How far an index is built.
#[derive(Clone, Debug)]
pub struct IndexProgress {
    /// The type's full name.
    pub type_name: String,
    /// The readable name of the index.
    pub index: String,
    /// Whether it is unique.
    pub unique: bool,
    /// Number of rows that this process has processed for the index.
    pub rows_done: u64,
    /// Number of rows when the build began, or `rows_done` if that is larger.
    pub rows_total: u64,
    /// IndexerState of the build.
    pub state: BuildState,
    /// The first of the values of a unique index that several objects had when the index became
    /// ready.
    pub duplicates: Vec<Duplicate>,
}

/// IndexerState of the build of an index.
#[derive(Clone, Debug)]
pub enum BuildState {
    /// The index is being built, or waits to be built.
    Building,
    /// The index is ready.
    Ready,
    /// The index could not be built, because of this error.
    Failed(Error),
}

/// Values that should be unique, but belong to several objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Duplicate {
    /// The values of the index's fields.
    pub values: Vec<Value>,
    /// The primary keys of the objects that have these values.
    pub keys: Vec<Vec<Value>>,
}

/// Called when no index is being built any more, with the outcome of the builds.
pub type Ready = Box<dyn FnOnce(Result<()>) + Send>;

/// Builds indexes. Its thread runs while there are indexes to build.
pub struct Indexer {
    backend: Arc<dyn Backend>,
    /// Identifies the engine in change records.
    record_engine: u64,
    state: Mutex<IndexerState>,
    idle: Condvar,
    /// Whether another program has written, and the commit groups have not noticed it yet.
    foreign_write: AtomicBool,
}

#[derive(Default)]
struct IndexerState {
    /// Tables with indexes to build.
    wanted: VecDeque<Table>,
    /// Whether one of these tables was requested again since the latest batch began.
    wanted_again: bool,
    builds: Vec<Build>,
    /// By the names of tables, the foreign rows that the latest batch has left out of the indexes
    /// because it could not read them.
    left: HashMap<String, Vec<RowId>>,
    working: bool,
    closed: bool,
    /// Whether the indexer was closed before all requested indexes were built.
    cut_short: bool,
    thread: Option<JoinHandle<()>>,
    waiting: Vec<Ready>,
}

struct Build {
    table: String,
    storage_key: String,
    progress: IndexProgress,
}

impl Indexer {
    /// Builds the indexes of an engine of the process.
    pub(super) fn new(backend: Arc<dyn Backend>, engine: u64) -> Arc<Self> {
        Arc::new(Self {
            backend,
            record_engine: record_engine(engine),
            state: Mutex::default(),
            idle: Condvar::new(),
            foreign_write: AtomicBool::new(false),
        })
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

    /// Requests that the table's indexes are built if a read has found that one of them lacks rows.
    /// Unlike a write, a read does not try again what has failed, because a file that cannot be
    /// written to may be read any number of times.
    pub(crate) fn note_read(self: &Arc<Self>, table: &Table, indexes: &Indexes) {
        let is_ready = |state: &IndexState| matches!(state, IndexState::Ready);
        let are_ready = indexes.states.iter().all(is_ready);
        if are_ready && indexes.foreign.is_empty() {
            return;
        }
        let state = self.lock();
        let is_left = are_ready && state.left_of(table) == indexes.foreign;
        if is_left || state.has_failed(table) {
            return;
        }
        drop(state);
        self.want(table, false);
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
            writer.append_record(&batch.change_record(self.record_engine))?;
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

impl IndexerState {
    fn of<'s>(&'s self, table: &'s Table) -> impl Iterator<Item = &'s Build> {
        self.builds.iter().filter(|b| b.table == table.name)
    }

    fn find(&mut self, table: &Table, storage_key: &str) -> Option<&mut Build> {
        let mut builds = self.builds.iter_mut();
        builds.find(|b| b.table == table.name && b.storage_key == storage_key)
    }

    fn is_building(&self, table: &Table) -> bool {
        self.of(table)
            .any(|build| matches!(build.progress.state, BuildState::Building))
    }

    fn has_damage(&self, table: &Table) -> bool {
        self.of(table).any(|build| {
            matches!(&build.progress.state, BuildState::Failed(error)
                if error.kind() == ErrorKind::Corrupt)
        })
    }

    fn has_failed(&self, table: &Table) -> bool {
        self.of(table)
            .any(|build| matches!(build.progress.state, BuildState::Failed(_)))
    }

    fn left_of(&self, table: &Table) -> &[RowId] {
        self.left
            .get(table.name.as_ref())
            .map_or(&[], Vec::as_slice)
    }

    fn start(&mut self, table: &Table, rows_total: u64) {
        for index in table.indexes.iter() {
            let storage_key = index.storage_key();
            let progress = IndexProgress {
                type_name: table.type_name.to_string(),
                index: index.to_string(),
                unique: index.unique,
                rows_done: 0,
                rows_total,
                state: BuildState::Building,
                duplicates: Vec::new(),
            };
            match self.find(table, &storage_key) {
                Some(build) => build.progress = progress,
                None => self.builds.push(Build {
                    table: table.name.to_string(),
                    storage_key,
                    progress,
                }),
            }
        }
    }

    fn advance(&mut self, batch: &Batch) {
        let left = batch.left.clone();
        self.left.insert(batch.table.name.to_string(), left);
        for (position, index) in batch.table.indexes.iter().enumerate() {
            let is_filled = batch.indexes.contains(&position);
            if let Some(build) = self.find(&batch.table, &index.storage_key())
                && is_filled
            {
                let progress = &mut build.progress;
                progress.rows_done += batch.rows;
                // Rows that were written meanwhile are processed too.
                progress.rows_total = progress.rows_total.max(progress.rows_done);
            }
        }
    }

    fn fail(&mut self, table: &Table, error: &Error) {
        if self.of(table).next().is_none() {
            self.start(table, 0);
        }
        let type_name = table.type_name.as_ref();
        tracing::warn!(target: TARGET, type_name, %error, "backfill failed");
        for build in self.builds.iter_mut().filter(|b| b.table == table.name) {
            if matches!(build.progress.state, BuildState::Building) {
                build.progress.state = BuildState::Failed(error.clone());
            }
        }
    }

    /// The first error of a build, if any; otherwise an error if the indexer was closed before all
    /// requested indexes were built.
    fn outcome(&self) -> Result<()> {
        let failed = self.builds.iter().find_map(|b| match &b.progress.state {
            BuildState::Failed(error) => Some(error.clone()),
            _ => None,
        });
        let cut_short = || {
            let message = "cannot build all indexes: the workspace was shut down";
            Error::new(ErrorKind::ShutDown, message)
        };
        failed
            .or_else(|| self.cut_short.then(cut_short))
            .map_or(Ok(()), Err)
    }
}

/// The values of a unique index that more than one object has.
fn duplicates(
    backend: &Arc<dyn Backend>,
    table: &Table,
    position: usize,
) -> Result<Vec<Duplicate>> {
    let Some(index) = table.indexes.get(position) else {
        return Ok(Vec::new());
    };
    let plan = ScanPlan {
        table,
        source: Source::Key(KeyScan {
            key: Key::Index(position),
            prefix: &[],
            lower: Bound::Excluded(&Value::Null),
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            after: None,
        }),
        payload: true,
    };
    let mut found: Vec<Duplicate> = Vec::new();
    let mut before: Option<Duplicate> = None;
    let mut count = 0;
    let mut failure = None;
    let mut snapshot = Arc::clone(backend).snapshot(View::Pinned)?;
    snapshot.scan(&plan, &mut |row| {
        let read = || {
            let values = entry_values(table, index, row.payload).ok()?;
            let key = key_parts(table, row.payload).ok()?;
            let key: Vec<Value> = key.as_slice().iter().map(|part| part.to_value()).collect();
            Some((values, key))
        };
        let Some((values, key)) = read() else {
            failure = Some(fetch::corrupt(table, row.row_id));
            return ControlFlow::Break(());
        };
        let Some(values) = values.to_values().filter(|_| values.can_conflict()) else {
            return ControlFlow::Continue(());
        };
        match &mut before {
            Some(same) if same.values == values => {
                count += 1;
                same.keys.push(key);
            }
            _ => {
                let next = Duplicate {
                    values,
                    keys: vec![key],
                };
                let last = before.replace(next);
                found.extend(last.filter(|last| last.keys.len() > 1));
            }
        }
        if count >= DUPLICATES_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    found.extend(before.filter(|last| last.keys.len() > 1));
    failure.map_or(Ok(found), Err)
}
