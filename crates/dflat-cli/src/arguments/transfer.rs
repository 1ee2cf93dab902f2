//! The arguments of commands that move objects.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FileArguments, FormatArguments, WriteArguments};

const EXPORT_EXAMPLES: &str = "\
Examples:
  dflat export tasks.db > tasks.jsonl
  dflat export tasks.db Task --format csv > tasks.csv
";

const IMPORT_EXAMPLES: &str = "\
Examples:
  dflat import tasks.db --from tasks.jsonl
  dflat import tasks.db Task --from tasks.csv --on-conflict skip --rejects rejects.jsonl
";

const COPY_EXAMPLES: &str = "\
Examples:
  dflat copy tasks.db archive.db
  dflat copy tasks.db postgres://app@db.example/app --dictionary
";

const DIFF_EXAMPLES: &str = "\
Examples:
  dflat diff tasks.db backup.db
  dflat diff tasks.db backup.db Task --json
";

/// A form of moved objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MoveFormat {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values with a line of names.
    Csv,
}

/// Prints objects in order of insertion, all of one state of the file.
///
/// With one TYPE, each line is an object. Otherwise, each line names its type:
/// `{"type": "Task", "object": {..}}`.
#[derive(Debug, Args)]
#[command(before_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The types; all types of the file if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// The form of the output. Comma-separated values need one TYPE.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: MoveFormat,
    /// Short for `--format jsonl`.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

/// The reaction to an object whose key, or whose unique value, another object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// Ends the import; the batch of the object is not kept.
    Fail,
    /// Leaves the stored object as it is.
    Skip,
    /// Replaces the object with the same key. A unique value of another object is rejected.
    /// The command asks before it begins.
    Replace,
}

/// Writes: inserts objects that `export` has printed, in batches.
///
/// If an import from a file is interrupted, the same command continues it: each batch is one
/// transaction, which also stores the position in the file.
#[derive(Debug, Args)]
#[command(before_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type of all objects. Without it, each line names its type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// The file to read; without it, standard input is read, and an import cannot be continued.
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,
    /// The form of the input [default: csv for files that end in .csv, otherwise jsonl].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<MoveFormat>,
    /// The reaction to a key or a unique value that exists already.
    #[arg(long, value_enum, value_name = "REACTION", default_value = "fail")]
    pub(crate) on_conflict: OnConflict,
    /// Writes the lines that are no objects of their type to this file, as JSON lines with their
    /// numbers and reasons, and goes on. Without it, such a line ends the import. A new import
    /// refuses a file that is not empty.
    #[arg(long, value_name = "PATH")]
    pub(crate) rejects: Option<PathBuf>,
    /// The number of objects in a batch.
    #[arg(long, value_name = "COUNT", default_value = "10000")]
    pub(crate) batch: NonZeroUsize,
    /// Forgets the position of an interrupted import, and begins at the first line.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Short for `--format jsonl`.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Changes nothing: carries the command out on a temporary copy of the file, and reports. A
    /// file of rejects is written nevertheless.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Writes: copies objects from one file or server to another, in batches.
///
/// The types are those of the first one, which may be written meanwhile: the copy has one state of
/// it. At the end, each object is compared with its copy, except with `--on-conflict skip`. An
/// interrupted copy is completed by the same command with `--on-conflict skip --compare`.
#[derive(Debug, Args)]
#[command(before_help = COPY_EXAMPLES)]
pub(crate) struct CopyArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The file that gets the objects, or the address of a server. A file is created if it does not
    /// exist.
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    /// The types; all types of the file if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// The reaction to a key or a unique value that exists already.
    #[arg(long, value_enum, value_name = "REACTION", default_value = "fail")]
    pub(crate) on_conflict: OnConflict,
    /// Compares each object with its copy at the end, with `--on-conflict skip`, too.
    #[arg(long)]
    pub(crate) compare: bool,
    /// Copies the values of the dictionary, too.
    #[arg(long)]
    pub(crate) dictionary: bool,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Prints the objects in which two files differ, or with `--from` two states of one file. Exits
/// with 1 if they differ.
///
/// A state of a history is given by the number of the step that led to it, by `@` and the first
/// digits of its commit, or by the name of a branch, which means its last commit.
///
/// `-` marks an object of the first file alone, `+` one of the second, and `~` one with other
/// values, with the fields that differ. A field that only one of the schemas has counts as absent
/// in the other file. In CSV, each field that differs is a line.
#[derive(Debug, Args)]
#[command(before_help = DIFF_EXAMPLES)]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The file to compare with, or the address of a server; with `--from`, a type.
    #[arg(value_name = "OTHER", required_unless_present = "from")]
    pub(crate) other: Option<PathBuf>,
    /// The types; all types of both files if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Compares a state of the file's history with a later one.
    #[arg(long, value_name = "VERSION")]
    pub(crate) from: Option<String>,
    /// The state to compare with; the present one if it is not given.
    #[arg(long, value_name = "VERSION", requires = "from")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}
