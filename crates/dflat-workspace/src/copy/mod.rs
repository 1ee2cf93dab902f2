//! Copying objects from one workspace into another, wherever each of them stores its objects.

mod batch;
mod compare;
mod dictionary;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use dflat_engine::callback;
use dflat_engine::dictionary::TABLE as DICTIONARY;
use dflat_engine::engine::EngineSnapshot;
use dflat_model::Table;

use crate::{Error, ErrorKind, Fetch, Result, Source, Workspace};

/// The largest number of objects of a transaction.
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(1000).expect("it is not 0");

/// The number of bytes of objects after which a transaction gets no further object.
const BATCH_BYTES: usize = 4 << 20;

/// The object to keep if a workspace has an object with the key of one that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The new one, which replaces the other one with all its values.
    Replace,
    /// That of the workspace.
    Keep,
    /// None: the work fails.
    Fail,
}

/// The counts of a copy, of objects and of values of the dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Those that were inserted.
    pub inserted: u64,
    /// Those that replaced another one with the same key.
    pub replaced: u64,
    /// Those that were equal to the ones with their keys, and were to replace them.
    pub unchanged: u64,
    /// Those that were left out, because the target has their keys, or unique values of them.
    pub kept: u64,
}

impl Copied {
    /// Adds the counts of a transaction.
    fn add(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.replaced += other.replaced;
        self.unchanged += other.unchanged;
        self.kept += other.kept;
    }
}

/// The part of a copy that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPhase {
    /// Objects are written to the target.
    Writing,
    /// The objects of both workspaces are compared.
    Comparing,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CopyState {
    /// The part that runs.
    pub phase: CopyPhase,
    /// The number of objects and values that were written or left out, or compared, in this part.
    pub done: u64,
    /// The number of all objects and values of this part.
    pub total: u64,
}

/// A copy of objects into another workspace.
///
/// The copy reads one snapshot, and other threads and programs may go on reading and writing both
/// workspaces. Changes of the source after the snapshot are not copied. Objects keep their bytes
/// and the order in which they were inserted; they get new row ids.
///
/// Memory is bounded. Each transaction has a batch of objects, so subscribers of the target are
/// notified, and an interrupted copy is completed by another run with [`OnConflict::Keep`].
#[derive(Clone, Debug)]
pub struct WorkspaceCopy {
    tables: Vec<Table>,
    has_dictionary: bool,
    on_conflict: OnConflict,
    batch_size: NonZeroUsize,
    compares: bool,
}

/// A function that is told how far a copy is, and ends the copy by returning `Break`.
pub(crate) type OnState<'p> = &'p mut dyn FnMut(CopyState) -> ControlFlow<()>;

impl WorkspaceCopy {
    /// A copy of the objects of these tables. If the target has the key of an object, the copy
    /// keeps the target's object. At the end, the copy is compared.
    #[must_use]
    pub fn new(tables: Vec<Table>) -> Self {
        Self {
            tables,
            has_dictionary: false,
            on_conflict: OnConflict::Keep,
            batch_size: BATCH_SIZE,
            compares: true,
        }
    }

    /// Adds the objects of a table.
    pub fn add(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds the values of the dictionary, of all namespaces.
    pub fn add_dictionary(&mut self) {
        self.has_dictionary = true;
    }

    /// Sets the object to keep if the target has the key of an object. Defaults to
    /// [`OnConflict::Keep`].
    pub fn set_on_conflict(&mut self, on_conflict: OnConflict) {
        self.on_conflict = on_conflict;
    }

    /// Sets the largest number of objects of a transaction. Defaults to 1,000. A transaction gets
    /// no further object after 4 MiB of objects.
    pub fn set_batch_size(&mut self, objects: NonZeroUsize) {
        self.batch_size = objects;
    }

    /// Sets whether each object of the snapshot is compared with that of the target after the
    /// objects were written. Defaults to yes.
    pub fn set_compares(&mut self, compares: bool) {
        self.compares = compares;
    }

    /// Makes the copy on this thread. `progress` is called after each batch, as a callback: calls
    /// that wait are refused inside.
    ///
    /// # Errors
    /// An error ends the copy. Objects that earlier transactions have written stay.
    /// - [`Cancelled`](ErrorKind::Cancelled) if `progress` breaks.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if the target has the key of an object and
    ///   [`OnConflict::Fail`] was set, or if an object of the target has a unique value of another
    ///   one of the source and is not to be kept, or if the comparison finds an object with other
    ///   values in the target.
    /// - [`NotFound`](ErrorKind::NotFound) if the comparison does not find an object in the target:
    ///   another program has deleted it, or another object has a unique value of it.
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if source and target are workspaces on one
    ///   file: the copy could undo changes that are made meanwhile. Also if an object of the source
    ///   lacks a part of its key; only other programs write such an object.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - Otherwise the errors of reading the source, and of [`Workspace::perform_blocking`] on the
    ///   target.
    pub fn run(
        &self,
        from: &Workspace,
        to: &Workspace,
        progress: &mut dyn FnMut(CopyState) -> ControlFlow<()>,
    ) -> Result<Copied> {
        callback::forbid_blocking("copy objects")?;
        if from.engine().is_same(to.engine()) {
            let message = "cannot copy objects: the target is the source";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if self.has_dictionary {
            from.dictionary().synchronize()?;
        }
        let snapshot = from.engine().snapshot()?;
        let mut total = 0;
        for table in self.tables_read() {
            total += Fetch::new(Source::Snapshot(&snapshot), table).count()? as u64;
        }
        let mut panicked = None;
        let mut report = |state| {
            let called = callback::run("copy objects: the callback for the progress", || {
                progress(state)
            });
            called.unwrap_or_else(|error| {
                panicked = Some(error);
                ControlFlow::Break(())
            })
        };
        let outcome = self.copy((&snapshot, total), to, &mut report);
        panicked.map_or(outcome, Err)
    }

    /// The tables whose rows are read.
    fn tables_read(&self) -> impl Iterator<Item = Table> {
        let dictionary = self.has_dictionary.then_some(DICTIONARY);
        self.tables.iter().cloned().chain(dictionary)
    }

    fn copy(
        &self,
        (snapshot, total): (&EngineSnapshot, u64),
        to: &Workspace,
        report: OnState<'_>,
    ) -> Result<Copied> {
        let mut counter = Counter::new(CopyPhase::Writing, total);
        let mut copied = Copied::default();
        for table in &self.tables {
            batch::write(self, table, (snapshot, to), &mut copied, &mut |done| {
                counter.add(done, report)
            })?;
        }
        if self.has_dictionary {
            dictionary::write(self, (snapshot, to), &mut copied, &mut |done| {
                counter.add(done, report)
            })?;
            to.dictionary().synchronize()?;
        }
        if self.compares {
            let mut counter = Counter::new(CopyPhase::Comparing, total);
            let found = to.engine().snapshot()?;
            for table in self.tables_read() {
                compare::compare(&table, (snapshot, &found), &mut |done| {
                    counter.add(done, report)
                })?;
            }
        }
        Ok(copied)
    }
}

/// Counts the objects of a part of a copy.
struct Counter(CopyState);

impl Counter {
    const fn new(phase: CopyPhase, total: u64) -> Self {
        Self(CopyState {
            phase,
            done: 0,
            total,
        })
    }

    /// Counts further objects, and fails if the copy is to end.
    fn add(&mut self, objects: usize, report: OnState<'_>) -> Result<()> {
        self.0.done += objects as u64;
        match report(self.0) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::new(
                ErrorKind::Cancelled,
                "the copy was cancelled; objects that were written stay",
            )),
        }
    }
}
