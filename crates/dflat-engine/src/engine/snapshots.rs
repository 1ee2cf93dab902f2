//! Held snapshots. Each shows one state, and the log from that state on cannot be truncated while
//! the snapshot is held, so the engine checks the ages of snapshots.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use dflat_model::{CommitSeq, Table};

use super::{Engine, made_by_parent, shut_down};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Origin;
use crate::storage::Snapshot;
use crate::telemetry::Telemetry;
use crate::transaction::NotedTables;

/// All snapshots of an engine. A held snapshot keeps later commits from being checkpointed, so ages
/// are checked when a commit is published. Because other programs may commit too, ages are also
/// checked when a snapshot is taken and in [`Engine::refresh`].
#[derive(Default)]
pub(super) struct Snapshots {
    cells: Mutex<Vec<Weak<SnapshotCell>>>,
    /// Whether there may be snapshots.
    is_any: AtomicBool,
    /// How long each may be held.
    age_max: Option<Duration>,
}

impl Snapshots {
    pub(super) fn new(age_max: Option<Duration>) -> Self {
        Self {
            age_max,
            ..Self::default()
        }
    }

    pub(super) fn hold(&self, cell: &Arc<SnapshotCell>) {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|cell| cell.strong_count() > 0);
        cells.push(Arc::downgrade(cell));
        self.is_any.store(true, Ordering::Release);
    }

    /// Checks for snapshots that have been held for long: each is reported once, and is ended if it
    /// may not be held any longer.
    pub(super) fn look(&self, telemetry: &Telemetry) {
        if !self.is_any.load(Ordering::Acquire) {
            return;
        }
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|cell| cell.strong_count() > 0);
        self.is_any.store(!cells.is_empty(), Ordering::Release);
        let held: Vec<_> = cells.iter().filter_map(Weak::upgrade).collect();
        drop(cells);
        for cell in held {
            let age = cell.age();
            if !cell.is_reported.load(Ordering::Relaxed) && telemetry.old_snapshot(age) {
                cell.is_reported.store(true, Ordering::Relaxed);
            }
            // A snapshot that is being read is checked at a later commit, or at its next read.
            if self.is_too_old(age)
                && let Ok(mut reader) = cell.reader.try_lock()
            {
                cell.expire(&mut reader);
            }
        }
    }

    fn is_too_old(&self, age: Duration) -> bool {
        self.age_max.is_some_and(|max| age >= max)
    }
}

/// The content of a snapshot, for as long as the snapshot has not ended.
pub(super) struct SnapshotCell {
    /// `None` once it has ended.
    reader: Mutex<Option<Pinning>>,
    since: Instant,
    /// Whether its age was reported.
    is_reported: AtomicBool,
    /// Whether it has ended because it was held for too long.
    is_expired: AtomicBool,
}

struct Pinning {
    reader: Box<dyn Snapshot>,
    /// The latest commit before the first read.
    seq: Option<CommitSeq>,
    /// The tables whose indexes its reads have requested.
    requested: NotedTables,
}

impl SnapshotCell {
    pub(super) fn new(reader: Box<dyn Snapshot>) -> Self {
        let pinning = Pinning {
            reader,
            seq: None,
            requested: NotedTables::default(),
        };
        Self {
            reader: Mutex::new(Some(pinning)),
            since: Instant::now(),
            is_reported: AtomicBool::new(false),
            is_expired: AtomicBool::new(false),
        }
    }

    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether it has ended because it was held for too long.
    pub(super) fn is_expired(&self) -> bool {
        self.is_expired.load(Ordering::Relaxed)
    }

    /// Ends the snapshot.
    pub(super) fn release(&self) {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn expire(&self, reader: &mut Option<Pinning>) {
        if reader.take().is_some() {
            self.is_expired.store(true, Ordering::Relaxed);
        }
    }
}

/// A view of one state: all its fetches agree. Fetches from several threads take turns. Clones are
/// the same snapshot, which is held until the last of them is dropped.
#[derive(Clone)]
pub struct EngineSnapshot {
    cell: Arc<SnapshotCell>,
    engine: Engine,
}

impl EngineSnapshot {
    pub(super) const fn new(cell: Arc<SnapshotCell>, engine: Engine) -> Self {
        Self { cell, engine }
    }

    /// The client that took the snapshot.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Reads a table in this state. `read` must not call user code.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`] after shutdown; [`ErrorKind::DeadlineExceeded`] if it has been held
    /// for longer than a snapshot may be; otherwise as `read`.
    pub fn read<R>(
        &self,
        table: &Table,
        read: impl FnOnce(&mut dyn Snapshot, Origin) -> Result<R>,
    ) -> Result<R> {
        let indexer = &self.engine.inner.reader.indexer;
        self.with(|pinning, origin| {
            let Pinning {
                reader, requested, ..
            } = pinning;
            indexer.read_held(table, reader.as_mut(), requested, |snapshot| {
                read(snapshot, origin)
            })
        })
    }

    /// Fixes the state that is read.
    pub(super) fn pin(&self) -> Result<()> {
        self.with(|pinning, _| pinning.reader.pin().map(drop))
    }

    fn with<R>(&self, read: impl FnOnce(&mut Pinning, Origin) -> Result<R>) -> Result<R> {
        let cell = &self.cell;
        let inner = &self.engine.inner;
        if self.engine.is_of_parent() {
            return Err(made_by_parent(format_args!("read a snapshot")));
        }
        let mut reader = cell.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.snapshots.age_max.is_some() && inner.snapshots.is_too_old(cell.age()) {
            cell.expire(&mut reader);
        }
        let Some(pinning) = reader.as_mut() else {
            return Err(if cell.is_expired() {
                let message = "cannot read a snapshot: it was held for longer than its maximum age";
                Error::new(ErrorKind::DeadlineExceeded, message)
            } else {
                shut_down(format_args!("read a snapshot"))
            });
        };
        let seq = *pinning.seq.get_or_insert_with(|| inner.reader.committed());
        let origin = inner.reader.origin(seq);
        inner
            .telemetry
            .query("of a snapshot", || read(pinning, origin))
    }
}
