//! The transaction that a handler works with.

mod end;
mod read;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use dflat_model::{CommitSeq, RowId, Table};

use super::group::{GroupOutcome, Groups, OpenGroup};
use super::indexer::NotedTables;
use super::recording::Note;
use super::replay::is_overtaken;
use super::tables::Tables;
use crate::error::{Error, ErrorKind, Result};
use crate::object::Object;
use crate::storage::{Backend, Durability, Snapshot, StateId};
use crate::sync::Arc;
use crate::telemetry::TARGET;

/// A change to one object, encoded.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// Insert an object; a conflict if its key exists.
    Create {
        /// The object's bytes.
        payload: &'a [u8],
    },
    /// Replace the values of an object that was looked up in this transaction.
    Update {
        /// The object as it was found.
        base: TransactionObject,
        /// The new bytes.
        payload: &'a [u8],
        /// Why the new bytes lack a required value, if they do. The update fails with this reason,
        /// unless newer code has stored a value there that the caller's schema does not know.
        lacking: Option<&'a str>,
    },
    /// Insert an object, or replace the values of the object with the same key.
    Upsert {
        /// The object's bytes.
        payload: &'a [u8],
    },
    /// Insert an object, or replace the object with the same key, with exactly these bytes. An
    /// update or an upsert keeps stored data that the caller's schema lacks; this change does not.
    Restore {
        /// The object's bytes, verified with the caller's schema.
        payload: &'a [u8],
    },
    /// Delete an object that was looked up in this transaction.
    Delete {
        /// The object as it was found.
        base: TransactionObject,
    },
}

/// An object as a transaction found it.
#[derive(Clone, Debug)]
pub struct TransactionObject {
    object: Object,
    transaction: u64,
}

impl TransactionObject {
    /// The object.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    pub(super) fn into_object(self) -> Object {
        self.object
    }
}

/// The result of a change.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A new object.
    Inserted(Object),
    /// An object with new values.
    Updated(Object),
    /// An object that had these values already: nothing was written, and no subscriber is notified.
    Identity(Object),
    /// The object with this row id was deleted.
    Deleted(RowId),
}

/// A transaction, on the thread of its handler.
///
/// A transaction writes nothing before its first change: a handler that changes nothing touches no
/// file, and handlers of disjoint tables run side by side until then. From its first change until
/// it ends, it holds the write access to the engine's open commit group.
pub struct Transaction {
    /// Distinguishes its reads from those of other transactions.
    id: u64,
    groups: Groups,
    tables: Tables,
    seq: CommitSeq,
    stage: RefCell<Stage>,
    /// The durability that it asks for.
    durability: Cell<Durability>,
    /// Its label and undo group in its change record.
    note: RefCell<Note>,
    /// The committed state of its first read, or the base state of the commit group that it read
    /// from.
    basis: Cell<Option<StateId>>,
    /// The outcome of the commit group whose uncommitted changes it may have seen.
    seen: RefCell<Option<GroupOutcome>>,
    failure: RefCell<Option<Error>>,
    aborted: Cell<bool>,
    /// Whether changes were undone, so that objects that were read before may be out of date.
    undone: Cell<bool>,
    /// Number of open savepoints, one inside the other.
    pub(super) nesting: Cell<usize>,
    /// Number of objects that it has looked up, and number of those that did not have to be read.
    look_ups: Cell<(u64, u64)>,
    /// The tables whose indexes its reads have requested.
    requested: RefCell<NotedTables>,
}

/// How far a transaction has come.
enum Stage {
    /// It has read nothing yet.
    Fresh,
    /// It reads the committed state.
    Committed(Box<dyn Snapshot>),
    /// It reads the writes of an open commit group's members.
    Group(u64),
    /// It has made its first change.
    Writing,
}

thread_local! {
    // A value that is dropped at the end of its thread could not be read by destructors that run
    // after that. `enter` drops the transaction.
    static CURRENT: RefCell<ManuallyDrop<Option<Rc<Transaction>>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// The transaction whose handler runs on this thread, if it belongs to this backend.
#[must_use]
pub fn current(backend: &Arc<dyn Backend>) -> Option<Rc<Transaction>> {
    CURRENT.with_borrow(|current| {
        let current = current.as_ref()?;
        Arc::ptr_eq(current.groups.backend(), backend).then(|| Rc::clone(current))
    })
}

fn set_current(transaction: Option<Rc<Transaction>>) {
    let before = CURRENT.replace(ManuallyDrop::new(transaction));
    drop(ManuallyDrop::into_inner(before));
}

impl Transaction {
    /// A transaction over these tables.
    #[must_use]
    pub fn new(groups: Groups, tables: Tables) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let seq = groups.committed();
        let durability = Cell::new(groups.backend().durability());
        Self {
            durability,
            note: RefCell::default(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            groups,
            tables,
            seq,
            stage: RefCell::new(Stage::Fresh),
            basis: Cell::default(),
            seen: RefCell::default(),
            failure: RefCell::default(),
            aborted: Cell::new(false),
            undone: Cell::new(false),
            nesting: Cell::new(0),
            look_ups: Cell::default(),
            requested: RefCell::default(),
        }
    }

    /// The span of its handler.
    #[must_use]
    pub fn span(&self) -> tracing::Span {
        let types = || -> Vec<&str> { self.tables.iter().map(|t| t.type_name.as_ref()).collect() };
        tracing::debug_span!(target: TARGET, "transaction", types = ?types())
    }

    /// Runs `handler` with the transaction as this thread's current one.
    pub fn enter<R>(self: &Rc<Self>, handler: impl FnOnce(&Rc<Self>) -> R) -> R {
        struct EndOfHandler;
        impl Drop for EndOfHandler {
            fn drop(&mut self) {
                set_current(None);
            }
        }
        set_current(Some(Rc::clone(self)));
        let _end = EndOfHandler;
        handler(self)
    }

    /// Takes the write access, unless it has it.
    #[inline]
    pub(super) fn start_writing(&self) {
        if !self.is_writing() {
            self.take_write_access();
            self.mark_savepoints();
        }
    }

    /// Takes the write access, and forgets the state of the first read: no handler has seen what
    /// was read.
    pub(super) fn start_writing_anew(&self) {
        self.basis.set(None);
        self.start_writing();
    }

    /// Whether it has read or written.
    pub(super) fn has_begun(&self) -> bool {
        self.is_writing() || self.basis.get().is_some()
    }

    fn take_write_access(&self) {
        let mut stage = self.stage.borrow_mut();
        // Order: the snapshot is released first, so that the transaction holds nothing while it
        // waits for the write access.
        *stage = Stage::Fresh;
        let (basis, durability) = (self.basis.get(), self.durability.get());
        let mut seen = self.seen.borrow_mut();
        self.groups
            .take_write_access(&self.tables, basis, durability, &mut seen);
        *stage = Stage::Writing;
    }

    #[inline]
    pub(super) fn is_writing(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Writing)
    }

    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Sets the durability of the commit, instead of the backend's. A commit group has the highest
    /// durability that its members ask for.
    pub fn set_durability(&self, durability: Durability) {
        self.durability.set(durability);
        if self.is_writing() {
            self.groups.set_durability(durability);
        }
    }

    /// Sets the label that the transaction has in its change record.
    pub fn set_label(&self, label: &str) {
        self.note.borrow_mut().label = Some(label.into());
    }

    /// Sets the undo group that the transaction has in its change record.
    pub fn set_undo_group(&self, group: u64) {
        self.note.borrow_mut().undo_group = Some(group);
    }

    /// Sets the note of the transaction's step in the history, which
    /// [`KeepHistory::append`](crate::history::KeepHistory::append) gets.
    pub fn set_history_note(&self, note: &[u8]) {
        self.note.borrow_mut().history = Some(note.into());
    }

    /// Aborts the transaction: all its changes are undone, before and after this call. Returns true
    /// the first time.
    pub fn abort(&self) -> bool {
        !self.aborted.replace(true)
    }

    /// Refuses to work on a table that was not declared, and all work after an abort or an error
    /// that lost the transaction.
    #[inline]
    pub(super) fn admit(&self, operation: &str, table: &Table) -> Result<()> {
        let is_declared = self.tables.iter().any(|declared| declared.is_same(table));
        if is_declared && self.failure.borrow().is_none() && !self.aborted.get() {
            return Ok(());
        }
        self.admit_other(operation, table)
    }

    /// As `admit`, also if the transaction declared another descriptor of the same table.
    fn admit_other(&self, operation: &str, table: &Table) -> Result<()> {
        if self.tables.iter().any(|other| other.name == table.name) {
            return self.going_on(format_args!("{operation} {}", table.type_name));
        }
        let name = table.type_name.as_ref();
        let message = format!(
            "cannot {operation} {name}: the transaction does not declare this type; add its \
             table ({}::TABLE in Rust) to those that the transaction is given",
            name.rsplit('.').next().unwrap_or(name)
        );
        Err(Error::new(ErrorKind::UndeclaredType, message))
    }

    /// Refuses any work after an abort or an error that lost the transaction.
    pub(super) fn going_on(&self, work: fmt::Arguments<'_>) -> Result<()> {
        let refused = |why: &str| format!("cannot {work}: {why}");
        if let Some(first) = &*self.failure.borrow() {
            let message = refused("the transaction was lost before");
            return Err(Error::with_source(
                ErrorKind::Aborted,
                message,
                first.clone(),
            ));
        }
        if self.aborted.get() {
            let message = refused("the transaction was aborted");
            return Err(Error::new(ErrorKind::Aborted, message));
        }
        Ok(())
    }

    /// Notes an error after which no change of the transaction can be kept.
    pub(super) fn lose(&self, error: &Error) {
        if self.is_writing() {
            self.lose_with(&mut self.groups.lock(), error);
        } else {
            self.failure
                .borrow_mut()
                .get_or_insert_with(|| error.clone());
        }
    }

    /// As `lose`, while the open commit group is locked: no other transaction may read from the
    /// group before it is whole again.
    pub(super) fn lose_with(&self, open: &mut OpenGroup, error: &Error) {
        self.failure
            .borrow_mut()
            .get_or_insert_with(|| error.clone());
        self.groups.lose(open, error);
    }

    /// Whether another process has committed since the first read, or the backend has ended the
    /// transaction because of another one. The transaction can't be committed then, but may succeed
    /// if its handler is run again.
    #[must_use]
    pub fn is_overtaken(&self) -> bool {
        if self.is_writing()
            && self.failure.borrow().is_none()
            && let Err(error) = self.groups.check_written()
        {
            self.lose(&error);
        }
        self.failure.borrow().as_ref().is_some_and(is_overtaken)
    }

    /// Starts to write before anything is read, so that no other process can commit between the
    /// first read and the commit. Does nothing if the transaction writes already.
    ///
    /// # Errors
    /// The errors of starting to write.
    pub fn write_first(&self) -> Result<()> {
        if self.is_writing() {
            return Ok(());
        }
        let (basis, durability) = (self.basis.get(), self.durability.get());
        // Order: as in `take_write_access`.
        *self.stage.borrow_mut() = Stage::Fresh;
        let taken = self
            .groups
            .take_write_access_alone(&self.tables, basis, durability);
        *self.stage.borrow_mut() = Stage::Writing;
        self.mark_savepoints();
        taken.inspect_err(|error| self.lose(error))
    }
}
