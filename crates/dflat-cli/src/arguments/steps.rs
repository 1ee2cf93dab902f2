//! The arguments of commands on the history of a file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FileArguments, FormatArguments, WriteArguments, file_alone};

const LOG_EXAMPLES: &str = "\
Examples:
  dflat log tasks.db --limit 20
  dflat log tasks.db --type Task --label import --json
  dflat log tasks.db --commits
";

const SHOW_EXAMPLES: &str = "\
Examples:
  dflat show tasks.db 7
  dflat show tasks.db @3fa9c1 --json
";

const COMMIT_EXAMPLES: &str = "\
Examples:
  dflat commit tasks.db
  dflat commit tasks.db 'before the import'
";

const BRANCH_EXAMPLES: &str = "\
Examples:
  dflat branch tasks.db
  dflat branch tasks.db draft
  dflat branch tasks.db draft --checkout
";

const MERGE_EXAMPLES: &str = "\
Examples:
  dflat merge tasks.db draft
  dflat merge tasks.db draft --keep theirs
";

const SYNC_EXAMPLES: &str = "\
Examples:
  dflat sync tasks.db /mnt/stick/tasks.db
  dflat sync tasks.db --through 'ssh host dflat serve tasks.db --accept-pushes'
";

const SERVE_EXAMPLES: &str = "\
Examples:
  dflat serve tasks.db
  dflat serve tasks.db --accept-pushes
";

const FORGET_EXAMPLES: &str = "\
Examples:
  dflat forget tasks.db Task 7
  dflat forget tasks.db Task 7 8 --yes
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
#[command(before_help = LOG_EXAMPLES, mut_args(file_alone))]
pub(crate) struct LogArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// Only steps that have changed objects of this type.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// Only steps of transactions with this label.
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Prints the commits of the current branch in place of the steps.
    #[arg(long, conflicts_with_all = ["type_name", "label"])]
    pub(crate) commits: bool,
    /// The largest number of steps or commits.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Prints the objects that a step or a commit has changed, with their values before and after.
///
/// The changes of a commit are those since its first parent.
#[derive(Debug, Args)]
#[command(before_help = SHOW_EXAMPLES, mut_args(file_alone))]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The number of a step, `@` and the first digits of a commit, or the name of a branch.
    #[arg(value_name = "VERSION")]
    pub(crate) version: String,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Writes: commits the present state of all versioned types, and prints the commit.
///
/// Without a change since the last commit, makes no commit and prints the last one.
#[derive(Debug, Args)]
#[command(before_help = COMMIT_EXAMPLES, mut_args(file_alone))]
pub(crate) struct CommitArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The label of the commit.
    #[arg(value_name = "LABEL")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: creates, checks out or deletes a branch. Without a name, prints the branches.
///
/// A new branch has the present state of all versioned types. Changes since the last commit are
/// committed first.
#[derive(Debug, Args)]
#[command(before_help = BRANCH_EXAMPLES, mut_args(file_alone))]
pub(crate) struct BranchArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The name of the branch to create.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Makes the branch the current one: the file gets the objects of the branch.
    #[arg(long, requires = "name", conflicts_with = "delete")]
    pub(crate) checkout: bool,
    /// Deletes the branch in place of creating it. Its commits stay.
    #[arg(long, requires = "name")]
    pub(crate) delete: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// The side whose objects a merge keeps.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Keep {
    /// Those of the current branch.
    Ours,
    /// Those of the other branch.
    Theirs,
}

/// Writes: merges a branch into the current one, by fields.
///
/// If both have changed the same fields of an object to different values, nothing is changed: the
/// objects are printed, and the exit code is 1.
#[derive(Debug, Args)]
#[command(before_help = MERGE_EXAMPLES, mut_args(file_alone))]
pub(crate) struct MergeArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The branch to merge.
    #[arg(value_name = "BRANCH")]
    pub(crate) branch: String,
    /// Keeps the objects of one side where both are in conflict.
    #[arg(long, value_enum, value_name = "SIDE")]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: exchanges the commits of a branch with another file, and merges them.
///
/// Receives the commits that the other file has, merges them into the current branch, and sends the
/// result. Both files then have the same last commit. If both have changed the same fields of an
/// object to different values, nothing is merged or sent: the objects are printed, and the exit
/// code is 1. A file without types gets those that the other one has versioned.
#[derive(Debug, Args)]
#[command(before_help = SYNC_EXAMPLES, mut_args(file_alone))]
pub(crate) struct SyncArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The other file.
    #[arg(value_name = "OTHER", required_unless_present = "through")]
    pub(crate) other: Option<PathBuf>,
    /// Runs this command in the place of the other file, and talks to `dflat serve` through it.
    #[arg(long, value_name = "COMMAND", conflicts_with = "other")]
    pub(crate) through: Option<String>,
    /// The name under which the branches of the other file are kept. Without it, that of the file
    /// without its extension, or `peer`.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Receives and merges, and sends nothing.
    #[arg(long, conflicts_with = "push")]
    pub(crate) pull: bool,
    /// Sends, and receives nothing. Refused if the other file has commits that this one lacks.
    #[arg(long)]
    pub(crate) push: bool,
    /// Takes commits some of whose objects were forgotten on the other side, without these objects,
    /// and forgets them in this file, too. Such a commit cannot be checked, so the other side must
    /// be trusted.
    #[arg(long)]
    pub(crate) accept_forgotten: bool,
    /// Keeps the objects of one side where both are in conflict.
    #[arg(long, value_enum, value_name = "SIDE")]
    pub(crate) keep: Option<Keep>,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

impl SyncArguments {
    /// The name under which the branches of the other file are kept.
    pub(crate) fn remote_name(&self) -> String {
        let stem = self.other.as_ref().and_then(|path| path.file_stem());
        let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
        self.name
            .clone()
            .or(stem)
            .unwrap_or_else(|| "peer".to_owned())
    }
}

/// Writes: answers `dflat sync --through` on standard input and output.
///
/// A user who can run the command can read the objects of the file's versioned types, and change
/// them if `--accept-pushes` is given.
#[derive(Debug, Args)]
#[command(before_help = SERVE_EXAMPLES, mut_args(file_alone))]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// Takes pushes. Without it, they are refused.
    #[arg(long)]
    pub(crate) accept_pushes: bool,
    /// Takes pushed commits some of whose objects were forgotten on the other side, and forgets
    /// these objects in this file, too.
    #[arg(long)]
    pub(crate) accept_forgotten: bool,
    /// Works on a temporary copy of the file, so that pushes change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Writes: undoes the latest change that is not undone, or a step.
///
/// The undo is a step, too. If an object was changed since, nothing is undone; the message names
/// the objects and the later steps. Exits with 1 if there is nothing to undo.
#[derive(Debug, Args)]
#[command(before_help = UNDO_EXAMPLES, mut_args(file_alone))]
pub(crate) struct UndoArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The number of the step, as `log` prints it. Without it, the latest change of any program
    /// that keeps a history.
    #[arg(value_name = "STEP")]
    pub(crate) step: Option<i64>,
    /// Undoes the rest if some objects were changed since.
    #[arg(long)]
    pub(crate) rest: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: deletes objects from the whole history, by their keys.
///
/// The objects themselves must be deleted before. Steps and commits stay, with their ids, but the
/// roots of commits that had the objects can no longer be checked. A mark stays, so that no `sync`
/// brings the objects back. The deleted bytes stay in unused pages until `purge`. Prints how many
/// changes and commits had the objects. Asks before it deletes.
#[derive(Debug, Args)]
#[command(before_help = FORGET_EXAMPLES, mut_args(file_alone))]
pub(crate) struct ForgetArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: String,
    /// The values of the primary key; those of several objects one after the other.
    #[arg(value_name = "KEY", allow_negative_numbers = true, required = true)]
    pub(crate) keys: Vec<String>,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}
