//! The arguments of commands that change objects and values.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{FileArguments, FormatArguments};

const INSERT_EXAMPLES: &str = "\
Examples:
  dflat insert tasks.db Task '{\"id\": 7, \"title\": \"buy milk\"}'
  dflat insert tasks.db Task --schema tasks.fbs --from tasks.jsonl
";

const UPSERT_EXAMPLES: &str = "\
Examples:
  dflat upsert tasks.db Task '{\"id\": 7, \"title\": \"buy bread\"}'
  dflat query other.db Task 'done == false' --json | dflat upsert tasks.db Task
";

const SET_EXAMPLES: &str = "\
Examples:
  dflat set tasks.db Task 7 done=true priority=100
  dflat set tasks.db Task 7 spot.x=1.5 content.Note.text='call first' due=null
";

const DELETE_EXAMPLES: &str = "\
Examples:
  dflat delete tasks.db Task 7 8
  dflat delete tasks.db Task --where 'done == true' --yes
";

const DICT_EXAMPLES: &str = "\
Examples:
  dflat dict set tasks.db volume 0.7
  dflat dict keys tasks.db
";

const DICT_GET_EXAMPLES: &str = "\
Examples:
  dflat dict get tasks.db volume
  dflat dict get tasks.db volume language --json
";

const DICT_SET_EXAMPLES: &str = "\
Examples:
  dflat dict set tasks.db volume 0.7
  dflat dict set tasks.db zip '\"01067\"' --space addresses
";

const DICT_REMOVE_EXAMPLES: &str = "\
Examples:
  dflat dict remove tasks.db volume
  dflat dict remove tasks.db volume language --yes
";

const DICT_WATCH_EXAMPLES: &str = "\
Examples:
  dflat dict watch tasks.db volume
  dflat dict watch tasks.db window. --prefix --json
";

const DICT_KEYS_EXAMPLES: &str = "\
Examples:
  dflat dict keys tasks.db
  dflat dict keys tasks.db window. --json
";

/// How a command that writes goes about it.
#[derive(Clone, Debug, Args)]
pub(crate) struct WriteArguments {
    /// Changes nothing: carries the command out on a temporary copy of the file, and reports.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// JSON objects, in the form of `flatc --json`.
#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: String,
    /// Objects, or arrays of objects. Without one, they are read from standard input.
    #[arg(value_name = "JSON")]
    pub(crate) objects: Vec<String>,
    /// Reads the objects from a file instead; `-` is standard input.
    #[arg(long, value_name = "PATH", conflicts_with = "objects")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: inserts objects in one transaction. An existing key is a conflict.
#[derive(Debug, Args)]
#[command(before_help = INSERT_EXAMPLES)]
pub(crate) struct InsertArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
}

/// Writes: inserts objects in one transaction, or replaces those with the same keys.
#[derive(Debug, Args)]
#[command(before_help = UPSERT_EXAMPLES)]
pub(crate) struct UpsertArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
}

/// Writes: sets fields of one object.
#[derive(Debug, Args)]
#[command(before_help = SET_EXAMPLES)]
pub(crate) struct SetArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: String,
    /// The values of the primary key, and then assignments `path=value`. A path leads through
    /// tables, structs and members of unions. A value is a number, a name of an enum's value, a
    /// text, or JSON; `null` removes the value.
    #[arg(value_names = ["KEY", "PATH=VALUE"], required = true, num_args = 2..)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) rest: Vec<String>,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Writes: deletes objects by their keys, or those that meet a condition.
///
/// Asks before it deletes. Exits with 1 if there is no object with one of the keys.
#[derive(Debug, Args)]
#[command(before_help = DELETE_EXAMPLES)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: String,
    /// The values of the primary key; those of several objects one after the other.
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    #[arg(required_unless_present = "condition", conflicts_with = "condition")]
    pub(crate) keys: Vec<String>,
    /// Deletes the objects that meet this condition.
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) condition: Option<String>,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Reads and writes the dictionary: small values by key.
#[derive(Debug, Args)]
#[command(before_help = DICT_EXAMPLES)]
pub(crate) struct DictArguments {
    #[command(subcommand)]
    pub(crate) command: DictCommand,
}

/// A command on the dictionary.
#[derive(Debug, Subcommand)]
pub(crate) enum DictCommand {
    /// Prints values as JSON. Exits with 1 if there is none for one of the keys.
    ///
    /// With `--json` and `--format csv`, each value has its key beside it.
    #[command(before_help = DICT_GET_EXAMPLES)]
    Get {
        #[command(flatten)]
        place: DictPlace,
        /// The keys.
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        #[command(flatten)]
        format: FormatArguments,
    },
    /// Writes: sets a value: `true`, `false`, a number, or a text. A text that looks like one of
    /// the others stands in quotes, `'"7"'`.
    #[command(before_help = DICT_SET_EXAMPLES)]
    Set {
        #[command(flatten)]
        place: DictPlace,
        /// The key.
        #[arg(value_name = "KEY")]
        key: String,
        /// The value.
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        write: WriteArguments,
    },
    /// Writes: removes keys. Asks before it removes.
    #[command(before_help = DICT_REMOVE_EXAMPLES)]
    Remove {
        #[command(flatten)]
        place: DictPlace,
        /// The keys.
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        /// Does not ask.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        write: WriteArguments,
    },
    /// Prints the value of a key, and then each new value of it. Ctrl-C ends the command.
    #[command(before_help = DICT_WATCH_EXAMPLES)]
    Watch {
        #[command(flatten)]
        place: DictPlace,
        /// The key, or the beginning of keys with `--prefix`.
        #[arg(value_name = "KEY")]
        key: String,
        /// Watches all keys that begin with KEY.
        #[arg(long)]
        prefix: bool,
        /// Ends after this number of values.
        #[arg(long, value_name = "COUNT")]
        deliveries: Option<u64>,
        #[command(flatten)]
        format: FormatArguments,
    },
    /// Lists the keys and their values.
    #[command(before_help = DICT_KEYS_EXAMPLES)]
    Keys {
        #[command(flatten)]
        place: DictPlace,
        /// Lists the keys that begin with this text only.
        #[arg(value_name = "PREFIX", default_value = "")]
        prefix: String,
        #[command(flatten)]
        format: FormatArguments,
    },
}

/// A namespace of the dictionary of a file.
#[derive(Debug, Args)]
pub(crate) struct DictPlace {
    /// The database file, or the address of a PostgreSQL server.
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// The namespace of the keys.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) space: String,
    /// The pack on which the file stands.
    #[arg(long, value_name = "PACK")]
    pub(crate) on: Option<PathBuf>,
}
