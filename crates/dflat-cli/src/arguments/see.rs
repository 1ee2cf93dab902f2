//! The arguments of commands that read.

use clap::Args;

use super::{FileArguments, FormatArguments};

const INFO_EXAMPLES: &str = "\
Examples:
  dflat info tasks.db
  dflat info tasks.db --json
";

const TYPES_EXAMPLES: &str = "\
Examples:
  dflat types tasks.db
  dflat types tasks.db --json
";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  dflat schema tasks.db > tasks.fbs
  dflat schema tasks.db Task
";

const STATS_EXAMPLES: &str = "\
Examples:
  dflat stats tasks.db
  dflat stats tasks.db Task --json
";

const GET_EXAMPLES: &str = "\
Examples:
  dflat get tasks.db Task 7
  dflat get tasks.db Task 7 8 9 --json
";

const QUERY_EXAMPLES: &str = "\
Examples:
  dflat query tasks.db Task 'done == false && priority > 100' --order 'title desc' --limit 20
  dflat query tasks.db Task --select title,priority --format csv > tasks.csv
";

const COUNT_EXAMPLES: &str = "\
Examples:
  dflat count tasks.db Task
  dflat count tasks.db Task 'done == false'
";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  dflat explain tasks.db Task 'priority > 100' --limit 20
  dflat explain tasks.db Task --order 'title desc'
";

const WATCH_EXAMPLES: &str = "\
Examples:
  dflat watch tasks.db Task 'done == false'
  dflat watch tasks.db Task --order 'priority desc' --limit 10 --select id,title --json
";

/// Summarizes a file: its types, their objects, its indexes and its space.
#[derive(Debug, Args)]
#[command(before_help = INFO_EXAMPLES)]
pub(crate) struct InfoArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Lists the types with their keys, objects and bytes.
#[derive(Debug, Args)]
#[command(before_help = TYPES_EXAMPLES)]
pub(crate) struct TypesArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Prints the types as the text of a schema, which compiles to the same descriptors.
#[derive(Debug, Args)]
#[command(before_help = SCHEMA_EXAMPLES)]
pub(crate) struct SchemaArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The types; all types of the file if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
}

/// Shows how large the objects are, with bars.
#[derive(Debug, Args)]
#[command(before_help = STATS_EXAMPLES)]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The types; all types of the file if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Prints objects by their keys. Exits with 1 if one of them does not exist.
#[derive(Debug, Args)]
#[command(before_help = GET_EXAMPLES)]
pub(crate) struct GetArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: String,
    /// The values of the primary key, in its order; those of several objects one after the other.
    #[arg(value_name = "KEY", required = true, allow_negative_numbers = true)]
    pub(crate) keys: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// A condition on the objects of a type.
#[derive(Debug, Args)]
pub(crate) struct ConditionArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The type.
    #[arg(value_name = "TYPE")]
    pub(crate) type_name: String,
    /// The condition, such as `priority > 100 && color == Red`; all objects if there is none.
    #[arg(value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) condition: Option<String>,
}

/// The order and the window of a result.
#[derive(Debug, Args)]
pub(crate) struct WindowArguments {
    /// The order, such as `priority desc, title`.
    #[arg(long, value_name = "FIELDS")]
    pub(crate) order: Option<String>,
    /// The largest number of objects.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// The number of objects to skip.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) offset: usize,
}

/// Prints the objects that meet a condition.
#[derive(Debug, Args)]
#[command(before_help = QUERY_EXAMPLES)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) condition: ConditionArguments,
    #[command(flatten)]
    pub(crate) window: WindowArguments,
    /// The fields and computed values to print, such as `title, priority * 2`.
    #[arg(long, value_name = "FIELDS")]
    pub(crate) select: Option<String>,
    /// Exits with 1 if there is no object.
    #[arg(long)]
    pub(crate) exit_status: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Counts the objects that meet a condition.
#[derive(Debug, Args)]
#[command(before_help = COUNT_EXAMPLES)]
pub(crate) struct CountArguments {
    #[command(flatten)]
    pub(crate) condition: ConditionArguments,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Shows which rows a query would read, without running it.
#[derive(Debug, Args)]
#[command(before_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) condition: ConditionArguments,
    #[command(flatten)]
    pub(crate) window: WindowArguments,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}

/// Prints the objects that meet a condition, and then each change of this result.
///
/// The marks are `+` for an object that is new in the result, `-` for one that left it, `~` for new
/// values, and `>` for new values that give it another place. Commits of other processes are shown,
/// too. Ctrl-C ends the command.
#[derive(Debug, Args)]
#[command(before_help = WATCH_EXAMPLES)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    pub(crate) condition: ConditionArguments,
    #[command(flatten)]
    pub(crate) window: WindowArguments,
    /// The fields and computed values to print, such as `title, priority * 2`.
    #[arg(long, value_name = "FIELDS")]
    pub(crate) select: Option<String>,
    /// Ends after this number of deliveries; the first one is the result at the beginning.
    #[arg(long, value_name = "COUNT")]
    pub(crate) deliveries: Option<u64>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}
