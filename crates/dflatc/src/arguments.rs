//! The command line's grammar.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dflat_codegen::External;

/// Compiles FlatBuffers schemas to typed, stored objects.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  dflatc compile -o src/generated schemas/post.fbs
  dflatc check schemas/*.fbs
  dflatc check --against main schemas/post.fbs
  dflatc explain E0090";

const COMPILE_EXAMPLES: &str = "\
Examples:
  Write src/generated/post.rs, for `include!`:
    dflatc compile -o src/generated schemas/post.fbs

  Compile two schemas, with what they include, to src/schema.rs:
    dflatc compile -o src --name schema -I schemas/shared schemas/post.fbs schemas/user.fbs

  Fail if src/generated/post.rs was not made from the schema as it is:
    dflatc compile --check -o src/generated schemas/post.fbs

  Use the types of equipment.fbs from another crate:
    dflatc compile --external equipment.fbs=::equipment::schema schemas/monster.fbs

Nothing is written if there is an error; a file that would not change is not touched.";

const CHECK_EXAMPLES: &str = "\
Examples:
  dflatc check schemas/*.fbs

  Fail if objects stored by a release could not be read any more:
    dflatc check --against v1.0 schemas/post.fbs";

const DIFF_EXAMPLES: &str = "\
Examples:
  dflatc diff released/post.fbs schemas/post.fbs

Changes that break what is stored are errors, and make the exit status 1. Warnings are free and have
consequences, notes are free.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Writes Rust code for schema files and all they include.
    #[command(after_help = COMPILE_EXAMPLES)]
    Compile(CompileArguments),
    /// Reports what is wrong with schema files, and writes nothing.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Says what two versions of a schema mean for objects that are stored.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArguments),
    /// Explains a diagnostic.
    Explain {
        /// The diagnostic's code, such as E0090.
        code: String,
    },
    /// Prints a script that completes this command line in a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CompileArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// The folder to write to; it is made if it does not exist.
    #[arg(short, long = "out-dir", value_name = "DIR", default_value = ".")]
    pub(crate) out_dir: PathBuf,
    /// The name of the file to write, without `.rs` [default: that of the first FILE].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Writes nothing, and fails if the output is not what would be written: for committed code.
    #[arg(long, conflicts_with = "depfile")]
    pub(crate) check: bool,
    /// Also writes which files the output depends on, for make and ninja.
    #[arg(long, value_name = "FILE")]
    pub(crate) depfile: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// Also compares with an older version: a schema file, or a git revision of FILE.
    #[arg(long, value_name = "OLD")]
    pub(crate) against: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The schema that objects are stored with.
    pub(crate) old: String,
    /// The schema that is to read them.
    pub(crate) new: String,
    /// A folder where included files are looked up, after that of the file that includes them.
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    pub(crate) include_dirs: Vec<PathBuf>,
    /// Compares FlatBuffers types only; no primary key is needed.
    #[arg(long)]
    pub(crate) payload_only: bool,
    /// How changes are written to standard output, and errors to standard error.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
}

#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// Schema files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// A folder where included files are looked up, after that of the file that includes them.
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    pub(crate) include_dirs: Vec<PathBuf>,
    /// The path of the crate `dflat` where the code is compiled [default: ::dflat].
    #[arg(long, value_name = "PATH")]
    pub(crate) crate_path: Option<String>,
    /// An included file whose types are compiled already, and the Rust module they are in.
    #[arg(long, value_name = "FILE=PATH", value_parser = external)]
    pub(crate) external: Vec<External>,
    /// Makes FlatBuffers types only, nothing that is stored or queried.
    #[arg(long)]
    pub(crate) payload_only: bool,
    /// How diagnostics are written to standard error; `json` is one object a line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text with the lines in question.
    Human,
    /// JSON.
    Json,
}

fn external(text: &str) -> Result<External, String> {
    match text.split_once('=') {
        Some((file, path)) if !file.is_empty() && !path.is_empty() => Ok(External {
            file: file.to_owned(),
            path: path.to_owned(),
        }),
        _ => Err("expected FILE=PATH, such as equipment.fbs=::equipment::schema".to_owned()),
    }
}
