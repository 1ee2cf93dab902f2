//! A batch of objects, imported in one transaction.

use dflat_engine::dictionary::TABLE;
use dflat_engine::engine::PerformOptions;
use dflat_engine::transaction::Outcome as Submitted;
use dflat_model::Table;
use dflat_workspace::{Error, ErrorKind, Operation, TransactionContext};

use super::position::{Position, Stored};
use crate::arguments::OnConflict;
use crate::failure::Failure;
use crate::file::OpenFile;

/// An object of a batch.
pub(super) struct Item {
    /// Its line in the input, if it is from one.
    pub(super) line: Option<u64>,
    pub(super) text: String,
    pub(super) table: Table,
    pub(super) payload: Vec<u8>,
}

/// The end of the submission of one object.
enum Submission {
    Done(Submitted),
    Skipped,
    /// Another object has a unique value, for the reason given.
    Rejected(String),
}

/// The ends of a batch that was committed.
pub(super) struct Committed {
    /// The objects that were not imported: the position in the batch, and the reason.
    pub(super) rejected: Vec<(usize, String)>,
    /// The counts after the batch.
    pub(super) position: Position,
}

/// Imports a batch.
pub(super) struct Importer<'f> {
    pub(super) file: &'f OpenFile,
    pub(super) tables: Vec<Table>,
    pub(super) on_conflict: OnConflict,
    /// Whether objects may be rejected; otherwise the import fails.
    pub(super) may_reject: bool,
    /// The place of the position; `None` if the import cannot be continued.
    pub(super) stored: Option<Stored>,
}

impl Importer<'_> {
    /// Commits a batch, and the position after it. `finish` is called with the rejected objects
    /// and the counts inside of the transaction, before its commit.
    pub(super) fn commit(
        &self,
        items: &[Item],
        position: &Position,
        is_last: bool,
        finish: &mut dyn FnMut(&mut Committed) -> Result<(), Failure>,
    ) -> Result<Committed, Failure> {
        let options = PerformOptions { write_first: true };
        let tables = self.tables.iter().cloned().chain([TABLE]);
        let mut failure = None;
        let performed = self
            .file
            .workspace
            .perform_blocking(tables, options, |context| {
                let mut committed = Committed {
                    rejected: Vec::new(),
                    position: position.clone(),
                };
                for (index, item) in items.iter().enumerate() {
                    let submission = self.submit(&context, item)?;
                    let counts = &mut committed.position;
                    match submission {
                        Submission::Done(Submitted::Inserted(_)) => counts.inserted += 1,
                        Submission::Done(Submitted::Identity(_)) => counts.unchanged += 1,
                        Submission::Done(_) => counts.updated += 1,
                        Submission::Skipped => counts.skipped += 1,
                        Submission::Rejected(reason) => {
                            counts.rejected += 1;
                            committed.rejected.push((index, reason));
                        }
                    }
                }
                if let Err(error) = finish(&mut committed) {
                    failure = Some(error);
                    return Err(Error::new(
                        ErrorKind::Aborted,
                        "the batch cannot be finished",
                    ));
                }
                if let Some(stored) = &self.stored {
                    let rest = (!is_last).then_some(&committed.position);
                    let value = Stored::value(rest);
                    context
                        .keys(stored.space())
                        .set(stored.key(), value.as_ref())?;
                }
                Ok(committed)
            });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(performed?),
        }
    }

    fn submit(
        &self,
        context: &TransactionContext,
        item: &Item,
    ) -> dflat_workspace::Result<Submission> {
        let payload = &item.payload;
        let operation = match self.on_conflict {
            OnConflict::Replace => Operation::Upsert { payload },
            OnConflict::Fail | OnConflict::Skip => Operation::Create { payload },
        };
        match context.submit(&item.table, operation, None) {
            Ok(done) => Ok(Submission::Done(done)),
            Err(error) => match (error.kind(), self.on_conflict) {
                (ErrorKind::AlreadyExists, OnConflict::Skip) => Ok(Submission::Skipped),
                (ErrorKind::AlreadyExists, OnConflict::Fail) => Err(at(item, &error)),
                (ErrorKind::AlreadyExists | ErrorKind::InvalidArgument, _) if self.may_reject => {
                    Ok(Submission::Rejected(error.to_string()))
                }
                _ => Err(at(item, &error)),
            },
        }
    }
}

/// An error with the line of its object.
fn at(item: &Item, error: &Error) -> Error {
    match item.line {
        Some(line) => Error::new(error.kind(), format!("line {line}: {error}")),
        None => error.clone(),
    }
}
