//! Commands that change objects and values, each in one transaction.

mod assign;
mod delete;
mod dict;
mod input;
mod insert;
mod set;

pub(crate) use delete::delete;
pub(crate) use dict::dict;
pub(crate) use insert::{insert, upsert};
pub(crate) use set::set;

use dflat_engine::engine::PerformOptions;
use dflat_model::Table;
use dflat_workspace::{TransactionContext, Workspace};

use crate::arguments::WriteArguments;
use crate::failure::Failure;
use crate::record;

/// Runs one transaction over a table. It holds write access from its start, so that no other
/// process commits between its reads and its changes.
fn perform<R>(
    workspace: &Workspace,
    table: &Table,
    mut handler: impl FnMut(&TransactionContext) -> dflat_workspace::Result<R>,
) -> Result<R, Failure> {
    let options = PerformOptions { write_first: true };
    let tables = [table.clone()];
    Ok(workspace.perform_blocking(tables, options, |context| handler(&context))?)
}

/// Prints the counts of a command.
fn report(arguments: &WriteArguments, counts: &[(&str, u64)]) -> Result<(), Failure> {
    record::report(arguments.format.get(), arguments.dry_run, counts)
}
