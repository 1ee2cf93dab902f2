//! The arguments of commands that care for files.

use std::path::PathBuf;

use clap::Args;

use super::{FileArguments, FormatArguments, WriteArguments, file_alone};

const BACKUP_EXAMPLES: &str = "\
Examples:
  dflat backup tasks.db backup.db
  dflat backup tasks.db \"tasks-$(date +%F).db\"
";

const COMPACT_EXAMPLES: &str = "\
Examples:
  dflat compact tasks.db --yes
  dflat compact tasks.db --dry-run
";

const PURGE_EXAMPLES: &str = "\
Examples:
  dflat purge tasks.db --yes
  dflat purge tasks.db --dry-run
";

const CHECK_EXAMPLES: &str = "\
Examples:
  dflat check tasks.db
  dflat check tasks.db --json
";

const REPAIR_EXAMPLES: &str = "\
Examples:
  dflat repair tasks.db --dry-run
  dflat repair tasks.db
";

const SALVAGE_EXAMPLES: &str = "\
Examples:
  dflat salvage damaged.db saved.db
  dflat salvage damaged.db saved.db --schema tasks.fbs
";

/// Writes: copies a file into a new one, while other programs use the file.
///
/// The file itself is only read.
#[derive(Debug, Args)]
#[command(before_help = BACKUP_EXAMPLES, mut_args(file_alone))]
pub(crate) struct BackupArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The new file, which must not exist.
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) copy: CopyOnlyArguments,
}

/// How a command that writes a new file goes about it.
#[derive(Debug, Args)]
pub(crate) struct CopyOnlyArguments {
    /// Keeps nothing: writes the new file into a temporary folder, and reports.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Writes: writes the whole file anew, without unused space and without bytes of deleted objects.
///
/// Asks before it begins, because a deleted object can be recovered from the old bytes alone.
#[derive(Debug, Args)]
#[command(before_help = COMPACT_EXAMPLES, mut_args(file_alone))]
pub(crate) struct CompactArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: removes the bytes of deleted objects from the file and its write-ahead log.
///
/// Asks before it begins, because nothing brings these bytes back.
#[derive(Debug, Args)]
#[command(before_help = PURGE_EXAMPLES, mut_args(file_alone))]
pub(crate) struct PurgeArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Checks every page, object and index entry. Exits with 3 if the file is damaged.
#[derive(Debug, Args)]
#[command(before_help = CHECK_EXAMPLES, mut_args(file_alone))]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Writes: builds indexes anew, and moves unreadable rows to the table `dflat__unreadable`.
///
/// An object whose key differs from the key that is stored beside it is moved, too. Exits with 3 if
/// problems remain.
#[derive(Debug, Args)]
#[command(before_help = REPAIR_EXAMPLES, mut_args(file_alone))]
pub(crate) struct RepairArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: saves the readable objects of a damaged file, which no program may use, into a new file.
///
/// The damaged file itself is only read.
#[derive(Debug, Args)]
#[command(before_help = SALVAGE_EXAMPLES, mut_args(file_alone))]
pub(crate) struct SalvageArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The new file, which must not exist.
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) copy: CopyOnlyArguments,
}
