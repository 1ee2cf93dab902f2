//! Transactions of the engine, together with the workspace's dictionary.

mod copy;
mod operation;
mod perform;
mod write_by_query;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::dictionary::{Dictionary, HeldKeys, TransactionKeys};
use dflat_engine::transaction::Transaction;

use crate::{Result, Source};
pub use copy::{CopyProgress, TableCopy};
pub use operation::Operation;

/// A transaction, inside its handler: the engine's transaction, and the keys of the dictionary that
/// it holds.
///
/// It can't leave the handler's thread.
pub struct TransactionContext {
    transaction: Rc<Transaction>,
    dictionary: Arc<Dictionary>,
    holds: Arc<dyn AsRef<HeldKeys> + Send + Sync>,
}

impl TransactionContext {
    /// The engine's transaction.
    #[must_use]
    #[inline]
    pub fn transaction(&self) -> &Rc<Transaction> {
        &self.transaction
    }

    /// The workspace's dictionary.
    #[must_use]
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// The keys of a dictionary, or of one of its namespaces, inside the transaction: changes of
    /// their values are committed with the changes of objects. The transaction must declare the
    /// dictionary's [`TABLE`](dflat_engine::dictionary::TABLE).
    #[must_use]
    pub fn keys(&self, dictionary: &Dictionary) -> TransactionKeys<'_> {
        dictionary.inside(&self.transaction, self.holds())
    }

    /// The state that queries in the transaction read.
    #[must_use]
    #[inline]
    pub fn source(&self) -> Source<'_> {
        Source::Transaction(&self.transaction)
    }

    /// Runs `changes`. If it returns an error or panics, its changes are undone, including those of
    /// the dictionary, and the transaction goes on with the changes made before. Savepoints can be
    /// nested.
    ///
    /// # Errors
    /// - The errors of `changes`.
    /// - [`Aborted`](crate::ErrorKind::Aborted), without a call of `changes`, if the transaction
    ///   was aborted or lost.
    /// - An error while changes are undone, such as a full disk. The transaction is lost then.
    pub fn nested<R>(&self, changes: impl FnOnce() -> Result<R>) -> Result<R> {
        let (transaction, holds) = (&self.transaction, self.holds());
        let held_before = holds.len();
        // The panic is resumed below.
        let outcome = catch_unwind(AssertUnwindSafe(|| transaction.nested(changes)));
        let is_undone = !matches!(outcome, Ok(Ok(_)));
        let carried = if is_undone && holds.len() > held_before {
            holds.carry_again(held_before, transaction)
        } else {
            Ok(())
        };
        match outcome {
            Ok(outcome) => carried.and(outcome),
            Err(panic) => resume_unwind(panic),
        }
    }

    fn holds(&self) -> &HeldKeys {
        (*self.holds).as_ref()
    }
}

impl fmt::Debug for TransactionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionContext").finish_non_exhaustive()
    }
}
