//! The transaction that a handler works with.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use dflat_model::{CommitSeq, Query, RowId, Table, Value};

use super::write_set::WriteSet;
use crate::change_set::ChangeSet;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::Object;
use crate::storage::{Backend, Snapshot, View, WriteTransaction};

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
        base: &'a Object,
        /// The new bytes.
        payload: &'a [u8],
    },
    /// Insert an object, or replace the values of the one with its key.
    Upsert {
        /// The object's bytes.
        payload: &'a [u8],
    },
    /// Delete an object that was looked up in this transaction.
    Delete {
        /// The object as it was found.
        base: &'a Object,
    },
}

/// What a change did.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A new object.
    Inserted(Object),
    /// An object with new values.
    Updated(Object),
    /// An object whose values were those already: nothing was written, nobody is told.
    Identity(Object),
    /// The object with this row id is gone.
    Deleted(RowId),
}

/// A transaction, on the thread of its handler.
///
/// No transaction of the backend exists before the first change: a handler that changes nothing
/// touches no file, and handlers of disjoint tables run side by side until then.
pub struct Transaction {
    backend: Arc<dyn Backend>,
    tables: Vec<Table>,
    seq: CommitSeq,
    pub(super) stage: RefCell<Stage>,
    pub(super) changes: RefCell<WriteSet>,
    failure: RefCell<Option<Error>>,
    aborted: Cell<bool>,
}

/// How far a transaction has come.
pub(super) enum Stage {
    /// It has read nothing yet.
    Fresh,
    /// It reads.
    Reading(Box<dyn Snapshot>),
    /// It has made its first change. The tables are those prepared for writing.
    Writing(Box<dyn WriteTransaction>, Vec<Table>),
}

impl Stage {
    /// The reader, given what opens one.
    fn reader(&mut self, backend: &Arc<dyn Backend>) -> Result<&mut dyn Snapshot> {
        if matches!(self, Self::Fresh) {
            *self = Self::Reading(Arc::clone(backend).snapshot(View::Pinned)?);
        }
        match self {
            Self::Reading(snapshot) => Ok(snapshot.as_mut()),
            Self::Writing(writer, _) => Ok(writer.as_mut()),
            Self::Fresh => Err(Error::new(ErrorKind::Backend, "cannot read: no snapshot")),
        }
    }

    /// The writer, given what opens one.
    pub(super) fn writer(
        &mut self,
        backend: &Arc<dyn Backend>,
    ) -> Result<(&mut dyn WriteTransaction, &mut Vec<Table>)> {
        if !matches!(self, Self::Writing(..)) {
            // Order: the reader is given back first, so that waiting for the writer holds nothing.
            *self = Self::Fresh;
            *self = Self::Writing(Arc::clone(backend).begin()?, Vec::new());
        }
        match self {
            Self::Writing(writer, prepared) => Ok((writer.as_mut(), prepared)),
            _ => Err(Error::new(
                ErrorKind::Backend,
                "cannot write: no transaction",
            )),
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Transaction>>> = const { RefCell::new(None) };
}

/// The transaction whose handler runs on this thread, if it belongs to this backend.
#[must_use]
pub fn current(backend: &Arc<dyn Backend>) -> Option<Rc<Transaction>> {
    CURRENT.with_borrow(|current| {
        let current = current.as_ref()?;
        Arc::ptr_eq(&current.backend, backend).then(|| Rc::clone(current))
    })
}

impl Transaction {
    /// A transaction over these tables, when `seq` was the latest commit.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, tables: Vec<Table>, seq: CommitSeq) -> Self {
        Self {
            backend,
            tables,
            seq,
            stage: RefCell::new(Stage::Fresh),
            changes: RefCell::default(),
            failure: RefCell::default(),
            aborted: Cell::new(false),
        }
    }

    /// Runs `handler` with the transaction as this thread's current one.
    pub fn enter<R>(self: &Rc<Self>, handler: impl FnOnce(&Rc<Self>) -> R) -> R {
        struct Left;
        impl Drop for Left {
            fn drop(&mut self) {
                CURRENT.set(None);
            }
        }
        CURRENT.set(Some(Rc::clone(self)));
        let _left = Left;
        handler(self)
    }

    /// Fetches the objects of a query, the transaction's own changes included.
    ///
    /// # Errors
    /// [`ErrorKind::UndeclaredType`] for a table not declared; else as [`fetch::fetch`].
    pub fn fetch(&self, table: &Table, query: &Query) -> Result<Vec<Object>> {
        self.read(table, |snapshot, seq| {
            fetch::fetch(snapshot, table, query, seq)
        })
    }

    /// Fetches the object with a primary key, the transaction's own changes included.
    ///
    /// # Errors
    /// As [`Transaction::fetch`].
    pub fn get(&self, table: &Table, key: &[Value]) -> Result<Option<Object>> {
        self.read(table, |snapshot, seq| fetch::get(snapshot, table, key, seq))
    }

    /// Finds the latest state of an object by its row id.
    ///
    /// # Errors
    /// As [`Transaction::fetch`].
    pub fn find(&self, table: &Table, row_id: RowId) -> Result<Option<Object>> {
        if let Some(latest) = self.changes.borrow().latest(table, row_id) {
            return Ok(latest.cloned());
        }
        self.read(table, |snapshot, seq| {
            fetch::find(snapshot, table, row_id, seq)
        })
    }

    fn read<R>(
        &self,
        table: &Table,
        read: impl FnOnce(&mut dyn Snapshot, CommitSeq) -> Result<R>,
    ) -> Result<R> {
        self.declared("fetch", table)?;
        self.usable("fetch", table)?;
        let mut stage = self.stage.borrow_mut();
        // What a transaction has changed is part of no commit yet: such objects are always out of
        // date.
        let seq = match *stage {
            Stage::Writing(..) => CommitSeq::default(),
            _ => self.seq,
        };
        read(stage.reader(&self.backend)?, seq)
    }

    /// Undoes everything, before and after: true the first time.
    pub fn abort(&self) -> bool {
        !self.aborted.replace(true)
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub(super) fn declared(&self, operation: &str, table: &Table) -> Result<()> {
        if self
            .tables
            .iter()
            .any(|declared| declared.name == table.name)
        {
            return Ok(());
        }
        let message = format!(
            "cannot {operation} {}: the transaction does not name it; add it to perform_changes",
            table.type_name
        );
        Err(Error::new(ErrorKind::UndeclaredType, message))
    }

    /// Refuses further work after an abort or an error that lost the transaction.
    pub(super) fn usable(&self, operation: &str, table: &Table) -> Result<()> {
        let what = format!("cannot {operation} {}", table.type_name);
        if let Some(first) = &*self.failure.borrow() {
            let message = format!("{what}: the transaction was lost before");
            return Err(Error::with_source(
                ErrorKind::Aborted,
                message,
                first.clone(),
            ));
        }
        if self.aborted.get() {
            let message = format!("{what}: the transaction was aborted");
            return Err(Error::new(ErrorKind::Aborted, message));
        }
        Ok(())
    }

    /// Notes an error after which nothing of the transaction can be kept.
    pub(super) fn lose(&self, error: &Error) {
        self.failure
            .borrow_mut()
            .get_or_insert_with(|| error.clone());
    }

    /// Ends the transaction: commits if the handler succeeded and nothing went wrong, else rolls
    /// back. `next_seq` is asked for the commit's number while no other transaction can commit.
    ///
    /// # Errors
    /// The handler's; the first that lost the transaction; or as the commit.
    pub fn finish(
        &self,
        handler: Result<()>,
        next_seq: impl FnOnce() -> CommitSeq,
    ) -> Result<Option<ChangeSet>> {
        let stage = self.stage.replace(Stage::Fresh);
        let failed = self.failure.borrow().clone();
        let aborted = self.aborted.get().then(|| {
            Error::new(
                ErrorKind::Aborted,
                "the transaction was aborted by its handler",
            )
        });
        let outcome = failed.or(aborted).map_or(handler, Err);
        match (outcome, stage) {
            (Ok(()), Stage::Writing(writer, _)) => {
                let seq = next_seq();
                writer.commit()?;
                Ok(self.changes.take().into_change_set(seq))
            }
            (Ok(()), _) => Ok(None),
            (Err(error), Stage::Writing(writer, _)) => {
                writer.rollback();
                Err(error)
            }
            (Err(error), _) => Err(error),
        }
    }
}
