//! The arguments of all commands.

mod change;
mod generate;
mod pack;
mod see;
mod shell;
mod steps;
mod transfer;
mod upkeep;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Args, Parser, Subcommand, ValueEnum};

pub(crate) use change::{
    DeleteArguments, DictArguments, DictCommand, DictPlace, InputArguments, InsertArguments,
    SetArguments, UpsertArguments, WriteArguments,
};
pub(crate) use generate::{CompletionsArguments, ManArguments};
pub(crate) use pack::{Compress, PackArguments, UnpackArguments, VerifyArguments};
pub(crate) use see::{
    ConditionArguments, CountArguments, ExplainArguments, GetArguments, InfoArguments,
    QueryArguments, SchemaArguments, StatsArguments, TypesArguments, WatchArguments,
    WindowArguments,
};

pub(crate) use shell::ShellArguments;
pub(crate) use steps::{
    BranchArguments, CommitArguments, ForgetArguments, Keep, LogArguments, MergeArguments,
    ServeArguments, ShowArguments, SyncArguments, UndoArguments,
};
pub(crate) use transfer::{
    CopyArguments, DiffArguments, ExportArguments, ImportArguments, MoveFormat, OnConflict,
};
pub(crate) use upkeep::{
    BackupArguments, CheckArguments, CompactArguments, CopyOnlyArguments, PurgeArguments,
    RepairArguments, SalvageArguments,
};

const EXAMPLES: &str = "\
Examples:
  dflat tasks.db
  dflat query tasks.db Task 'done == false' --order 'title desc' --limit 20
";

/// Looks into files of the Dflat object database, changes and moves objects, and mends files.
///
/// `dflat FILE` is short for `dflat info FILE`; write `./get` for a file named `get`.
///
/// Exit codes: 0 done; 1 there is no object or value for a key, `query --exit-status` found none,
/// `diff` found differences, `undo` found no change, or `merge` or `sync` found conflicts; 2 wrong
/// usage; 3 the file is damaged, or cannot be read or written; 4 a key or a unique value exists
/// already, no key is left to assign, or an object has changed since the step to undo.
#[derive(Debug, Parser)]
#[command(name = "dflat", version, before_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(InfoArguments),
    Types(TypesArguments),
    Schema(SchemaArguments),
    Stats(StatsArguments),
    Get(GetArguments),
    Query(QueryArguments),
    Count(CountArguments),
    Explain(ExplainArguments),
    Watch(WatchArguments),
    Insert(InsertArguments),
    Upsert(UpsertArguments),
    Set(SetArguments),
    Delete(DeleteArguments),
    Dict(DictArguments),
    Export(ExportArguments),
    Import(ImportArguments),
    Copy(CopyArguments),
    Diff(DiffArguments),
    Pack(PackArguments),
    Unpack(UnpackArguments),
    Verify(VerifyArguments),
    Log(LogArguments),
    Show(ShowArguments),
    Undo(UndoArguments),
    Commit(CommitArguments),
    Branch(BranchArguments),
    Merge(MergeArguments),
    Sync(SyncArguments),
    Serve(ServeArguments),
    Forget(ForgetArguments),
    Backup(BackupArguments),
    Compact(CompactArguments),
    Check(CheckArguments),
    Repair(RepairArguments),
    Salvage(SalvageArguments),
    Purge(PurgeArguments),
    Shell(ShellArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// The file, and where its types come from.
#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// The database file, or the address of a PostgreSQL server, such as postgres://user@host/name.
    /// A command that only reads takes a pack, too.
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// A schema for types that the file does not describe; may be given several times. Without it,
    /// the schemas (.fbs) beside the file are tried.
    #[arg(long = "schema", value_name = "SCHEMA")]
    pub(crate) schemas: Vec<PathBuf>,
    /// The pack on which the file stands: unchanged objects are read from the pack.
    #[arg(long, value_name = "PACK")]
    pub(crate) on: Option<PathBuf>,
}

impl FileArguments {
    /// A file alone.
    pub(crate) const fn of(path: PathBuf) -> Self {
        Self {
            path,
            schemas: Vec::new(),
            on: None,
        }
    }
}

/// Changes the help of FILE, for a command that takes no server and no pack.
fn file_alone(argument: Arg) -> Arg {
    match argument.get_id() == "path" {
        true => argument.help("The database file"),
        false => argument,
    }
}

/// The form of the output.
#[derive(Clone, Debug, Args)]
pub(crate) struct FormatArguments {
    /// The form of the output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Short for `--format jsonl`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArguments {
    pub(crate) const fn get(&self) -> Format {
        match self.json {
            true => Format::Jsonl,
            false => self.format,
        }
    }
}

/// A form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people.
    Table,
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values with a line of names.
    Csv,
}

/// Puts `info` before a first argument that names a file and no command.
pub(crate) fn with_info(command: &clap::Command, mut given: Vec<OsString>) -> Vec<OsString> {
    let is_file = |name: &OsStr| {
        let Some(text) = name.to_str() else {
            return true;
        };
        let is_command = text == "help"
            || command
                .get_subcommands()
                .any(|known| known.get_name() == text);
        let looks_like_file = || text.contains(['/', '.', '\\']) || PathBuf::from(name).exists();
        !text.starts_with('-') && !is_command && looks_like_file()
    };
    if given.get(1).is_some_and(|first| is_file(first)) {
        given.insert(1, OsString::from("info"));
    }
    given
}
