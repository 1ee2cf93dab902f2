//! Groups of changes inside a transaction, each kept or undone as a whole.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Transaction;
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
    /// None for what is kept; what is undone is written back, row by row.
    pub fn nested<R>(&self, changes: impl FnOnce() -> Result<R>) -> Result<R> {
        self.going_on(format_args!("nest changes"))?;
        let mark = self.mark();
        // The panic goes on below: nothing is seen half done that the caller could not undo.
        let outcome = catch_unwind(AssertUnwindSafe(changes));
        let ended = match &outcome {
            Ok(Ok(_)) => {
                self.release(mark.as_ref());
                Ok(())
            }
            _ => self.undo_to(mark),
        };
        match outcome {
            Ok(outcome) => ended.and(outcome),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Marks what was changed so far; `None` if that is nothing.
    fn mark(&self) -> Option<Mark> {
        self.is_writing().then(|| self.groups().lock().mark())?
    }

    fn release(&self, mark: Option<&Mark>) {
        if mark.is_some() {
            self.groups().lock().release_mark();
        }
    }

    fn undo_to(&self, mark: Option<Mark>) -> Result<()> {
        if !self.is_writing() || self.going_on(format_args!("undo changes")).is_err() {
            // Nothing was changed, or all is undone.
            return Ok(());
        }
        self.distrust_reads();
        let is_marked = mark.is_some();
        let mut open = self.groups().lock();
        let undone = open.undo_to(&mark.unwrap_or_default());
        if is_marked {
            open.release_mark();
        }
        undone.map_err(|error| {
            let error = error.context("cannot undo changes");
            // Half of it may be undone: only beginning anew gets rid of the rest.
            self.groups().restart(&mut open);
            self.lose_with(&mut open, &error);
            error
        })
    }
}
