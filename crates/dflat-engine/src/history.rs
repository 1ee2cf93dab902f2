//! The history that an engine writes to: a step for each transaction on a versioned type.
//!
//! The crate `dflat-history` keeps the history. A program without it has none of its code, and an
//! engine without a history refuses to write to versioned types.

use std::fmt;

use dflat_model::Table;

use crate::error::Result;
use crate::storage::WriteTransaction;

/// Keeps the history of versioned types.
pub trait KeepHistory: fmt::Debug + Send + Sync + 'static {
    /// Whether the changes of the objects in a table are to be kept from the next write on; `None`
    /// to go on as the file says.
    fn is_wanted(&self, table: &str) -> Option<bool>;

    /// Has the changes of the objects in a table kept from its next write on, or no longer kept.
    fn want(&self, table: &Table, versioned: bool);

    /// Has the file decide again whether the changes of the objects in a table are kept: another
    /// program may have begun to keep them.
    fn follow_file(&self, table: &Table);

    /// The tables whose changes the program [wants](Self::want) to be kept.
    fn wanted(&self) -> Vec<Table>;

    /// The handle to an equal descriptor that this was called with before; `table` itself the first
    /// time. An engine remembers much about a handle, so a program should not make a new one for
    /// each transaction.
    fn same(&self, table: Table) -> Table;

    /// Prepares a versioned table for writing. Called before the first write to the table, and
    /// again before the first write after which another program may have written to it.
    /// `was_versioned` says whether the file had the table as a versioned one before.
    ///
    /// # Errors
    /// Errors after which the transaction must not write to the table.
    fn prepare(
        &self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
        was_versioned: bool,
    ) -> Result<()>;

    /// Ends the history of a table, because the program no longer wants it: the writes of this
    /// transaction and those after it are in no step. Called with the first such write.
    ///
    /// # Errors
    /// Errors after which the transaction must not write to the table.
    fn end(&self, writer: &mut dyn WriteTransaction, table: &Table) -> Result<()>;

    /// Appends the step of a transaction immediately before its commit. `record` is its change
    /// record, or a part of it; `note` is what
    /// [`set_history_note`](crate::transaction::Transaction::set_history_note) was given.
    ///
    /// # Errors
    /// Errors that lose the transaction.
    fn append(
        &self,
        writer: &mut dyn WriteTransaction,
        note: Option<&[u8]>,
        record: &[u8],
    ) -> Result<()>;
}
