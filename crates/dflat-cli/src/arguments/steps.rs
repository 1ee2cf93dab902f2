//! The arguments of commands on the history of a file.

use clap::Args;

use super::{FileArguments, FormatArguments, WriteArguments};

const LOG_EXAMPLES: &str = "\
Examples:
  dflat log tasks.db --limit 20
  dflat log tasks.db --type Task --label import --json
";

const SHOW_EXAMPLES: &str = "\
Examples:
  dflat show tasks.db 7
  dflat show tasks.db 7 --json
";

const UNDO_EXAMPLES: &str = "\
Examples:
  dflat undo tasks.db
  dflat undo tasks.db 7 --dry-run
";

/// Prints the steps of the history, the latest one first.
///
/// A step is a transaction on versioned types. `+`, `~` and `-` stand before the numbers of
/// inserted, updated and deleted objects. Changes that other programs have made since the last
/// step, without a history, are not among them.
#[derive(Debug, Args)]
#[command(before_help = LOG_EXAMPLES)]
pub(crate) struct LogArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// Only steps that have changed objects of this type.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// Only steps of transactions with this label.
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// The most steps to print.
    #[arg(long, value_name = "STEPS")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Prints the objects that a step has changed, with their values before and after.
#[derive(Debug, Args)]
#[command(before_help = SHOW_EXAMPLES)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The number of the step, as `log` prints it.
    #[arg(value_name = "STEP")]
    pub(crate) step: i64,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Writes: undoes the latest change that is not undone, or a step.
///
/// The undo is a step, too. If an object was changed since, nothing is undone; the message names
/// the objects and the later steps. Exits with 1 if there is nothing to undo.
#[derive(Debug, Args)]
#[command(before_help = UNDO_EXAMPLES)]
pub(crate) struct UndoArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The number of the step, as `log` prints it. Without it, the latest change of any program.
    #[arg(value_name = "STEP")]
    pub(crate) step: Option<i64>,
    /// Undoes the rest if some objects were changed since.
    #[arg(long)]
    pub(crate) rest: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}
