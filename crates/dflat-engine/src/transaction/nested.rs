//! Groups of changes inside a transaction, each kept or undone as a whole.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::context::Transaction;
use super::write_set::Mark;
use crate::error::Result;

impl Transaction {
    /// Runs `changes`; if it returns an error or panics, what was changed in it is undone, and the
    /// transaction goes on from what it was.
    ///
    /// # Errors
    /// Those of `changes`; [`ErrorKind::Aborted`](crate::ErrorKind::Aborted), without a call of
    /// `changes`, after an abort or a loss; and what goes wrong while undoing, which loses the
    /// transaction.
    ///
    /// # Cost
    /// A list of all that is changed in it, for as long as it runs; what is undone is written back,
    /// row by row.
    pub fn nested<R>(&self, changes: impl FnOnce() -> Result<R>) -> Result<R> {
        self.going_on(format_args!("nest changes"))?;
        let mark = self.mark();
        self.nesting.set(self.nesting.get() + 1);
        // The panic goes on below: nothing is seen half done that the caller could not undo.
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

    /// Marks what was changed so far. Where that is nothing, the mark is set with the first change.
    fn mark(&self) -> Mark {
        if !self.is_writing() {
            return Mark::default();
        }
        self.groups().lock().mark().unwrap_or_default()
    }

    /// Sets the marks of the groups in which the first change is made.
    pub(super) fn mark_groups(&self) {
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
            // Nothing was changed, or all is undone.
            return Ok(());
        }
        self.distrust_reads();
        let mut open = self.groups().lock();
        let undone = open.undo_to(mark);
        open.release_mark();
        undone.map_err(|error| {
            let error = error.context("cannot undo changes");
            // Half of it may be undone: only beginning anew gets rid of the rest.
            self.groups().restart(&mut open);
            self.lose_with(&mut open, &error);
            error
        })
    }
}
