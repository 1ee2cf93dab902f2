//! The end of a transaction.

use super::{Stage, Transaction};
use crate::change_set::Completion;
use crate::error::{Error, ErrorKind, Result};

impl Transaction {
    /// Ends the transaction. If the handler succeeded and nothing went wrong, its changes are
    /// committed with its commit group; otherwise they are undone. `completion` is called when all
    /// is done.
    pub fn finish(&self, handler: Result<()>, completion: Completion) {
        let stage = self.stage.replace(Stage::Fresh);
        let writing = matches!(stage, Stage::Writing);
        drop(stage);
        let seen = self.seen.take();
        let (look_ups, saved) = self.look_ups.get();
        self.groups.telemetry().note_look_ups(look_ups, saved);
        match (self.outcome(handler), writing) {
            (Ok(()), true) => {
                let note = self.note.take();
                self.groups.finish(seen.as_ref(), note, completion);
            }
            (outcome, writing) => {
                if writing {
                    self.groups.undo();
                }
                self.groups
                    .acknowledge(&self.tables, outcome, seen.as_ref(), completion);
            }
        }
    }

    /// Ends the transaction without a completion: its changes are undone.
    pub fn retire(&self) {
        let stage = self.stage.replace(Stage::Fresh);
        if matches!(stage, Stage::Writing) {
            self.groups.undo();
        }
    }

    /// The first error of the transaction, or the outcome of its handler.
    fn outcome(&self, handler: Result<()>) -> Result<()> {
        if let Some(failure) = self.failure.borrow_mut().take() {
            return Err(failure);
        }
        if self.aborted.get() {
            let message = "the transaction was aborted by its handler";
            return Err(Error::new(ErrorKind::Aborted, message));
        }
        handler
    }
}
