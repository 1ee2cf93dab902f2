//! Savepoints: parts of a transaction, each kept or undone as a whole.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::context::Transaction;
use super::write_set::Mark;
use crate::error::Result;

impl Transaction {
    /// Runs `changes` in a savepoint. If `changes` returns an error or panics, its changes are
    /// undone, and the transaction goes on from the state before.
    ///
    /// # Errors
    /// The errors of `changes`; [`ErrorKind::Aborted`](crate::ErrorKind::Aborted), without a call
    /// of `changes`, if the transaction was aborted or lost; and an error of undoing, which loses
    /// the transaction.
    ///
    /// # Cost
    /// Memory for a list of all changes in the savepoint, for as long as it runs. Undone changes
    /// are written back row by row.
    pub fn nested<R>(&self, changes: impl FnOnce() -> Result<R>) -> Result<R> {
        self.going_on(format_args!("nest changes"))?;
        let mark = self.mark();
        self.nesting.set(self.nesting.get() + 1);
        // The panic is resumed below, so no code goes on with a state that `changes` left half
        // done.
        let outcome = catch_unwind(AssertUnwindSafe(changes));
        self.nesting.set(self.nesting.get() - 1);
        let ended = match &outcome {
            Ok(Ok(_)) => {
                self.release();
                Ok(())
            }
            _ => self.undo_to(&mark),
        };
        match outcome {
            Ok(outcome) => ended.and(outcome),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Sets a mark on the changes so far. If there are none, the mark is set with the first change.
    fn mark(&self) -> Mark {
        if !self.is_writing() {
            return Mark::default();
        }
        self.groups().lock().mark().unwrap_or_default()
    }

    /// Sets the marks of the open savepoints, at the first change of the transaction.
    pub(super) fn mark_savepoints(&self) {
        for _ in 0..self.nesting.get() {
            self.mark();
        }
    }

    fn release(&self) {
        if self.is_writing() {
            self.groups().lock().release_mark();
        }
    }

    fn undo_to(&self, mark: &Mark) -> Result<()> {
        if !self.is_writing() || self.going_on(format_args!("undo changes")).is_err() {
            // Nothing was changed, or everything is undone already.
            return Ok(());
        }
        self.distrust_reads();
        let mut open = self.groups().lock();
        let undone = open.undo_to(mark);
        open.release_mark();
        undone.map_err(|error| {
            let error = error.context("cannot undo changes");
            // The changes may be undone in part: only a new transaction of the backend removes the
            // rest.
            self.groups().restart(&mut open);
            self.lose_with(&mut open, &error);
            error
        })
    }
}
