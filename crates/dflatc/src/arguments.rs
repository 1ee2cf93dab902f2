//! The arguments of the command line.

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
  Write src/generated/post.rs, for `mod generated { pub mod post; }`:
    dflatc compile -o src/generated schemas/post.fbs

  Compile two schemas, with the files they include, to src/schema.rs:
    dflatc compile -o src --name schema -I schemas/shared schemas/post.fbs schemas/user.fbs

  Fail if src/generated/post.rs is not the output for the current schema:
    dflatc compile --check -o src/generated schemas/post.fbs

  Write the descriptor of each stored type, such as out/Post.descriptor, for other languages:
    dflatc compile --descriptor -o out schemas/post.fbs

  Write src/post_generated.swift and three more files, for Swift:
    dflatc compile --swift -o src schemas/post.fbs

  Use the types of equipment.fbs from another crate:
    dflatc compile --external equipment.fbs=::equipment::schema schemas/monster.fbs

If there is an error, nothing is written. A file that would not change is not written.";

const CHECK_EXAMPLES: &str = "\
Examples:
  dflatc check schemas/*.fbs

  Fail if the schema cannot read the objects that a release stored:
    dflatc check --against v1.0 schemas/post.fbs";

const DIFF_EXAMPLES: &str = "\
Examples:
  dflatc diff released/post.fbs schemas/post.fbs

Changes that break stored objects are errors, and make the exit status 1. Warnings are safe but have
consequences; notes are safe.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Generates Rust code for schema files and all files they include.
    #[command(after_help = COMPILE_EXAMPLES)]
    Compile(CompileArguments),
    /// Reports errors in schema files, and writes nothing.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Reports what the changes between two versions of a schema mean for stored objects.
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
    /// The output folder, which is created if it does not exist.
    #[arg(short, long = "out-dir", value_name = "DIR", default_value = ".")]
    pub(crate) out_dir: PathBuf,
    /// The name of the output file, without `.rs` [default: the name of the first FILE].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Writes the descriptor of each stored type to TYPE.descriptor, and no Rust code; for programs
    /// that learn of types when they run.
    #[arg(long, conflicts_with_all = ["name", "payload_only", "external", "crate_path"])]
    pub(crate) descriptor: bool,
    /// Writes Swift code for the library in `swift/`, four files for each FILE, and no Rust code;
    /// for included files, run this on them.
    #[arg(long, conflicts_with_all = ["name", "payload_only", "external", "crate_path", "descriptor"])]
    pub(crate) swift: bool,
    /// Protocols that Swift types conform to, besides those that they always do, such as Hashable.
    #[arg(
        long,
        value_name = "PROTOCOLS",
        value_delimiter = ',',
        requires = "swift"
    )]
    pub(crate) conform: Vec<String>,
    /// Also writes the Swift declarations of the schema's namespaces, which generated code extends.
    #[arg(long, value_name = "FILE", requires = "swift")]
    pub(crate) namespaces: Option<PathBuf>,
    /// Writes nothing, and fails if the output file is not current; use it for committed code.
    #[arg(long, conflicts_with = "depfile")]
    pub(crate) check: bool,
    /// Also writes the list of files that the output depends on, for make and ninja.
    #[arg(long, value_name = "FILE")]
    pub(crate) depfile: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// Also compares FILE with an older version: a schema file, or a git revision.
    #[arg(long, value_name = "OLD")]
    pub(crate) against: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The schema of the stored objects.
    pub(crate) old: String,
    /// The schema that will read them.
    pub(crate) new: String,
    /// A folder to look up included files in, after the folder of the file that includes them.
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    pub(crate) include_dirs: Vec<PathBuf>,
    /// Compares FlatBuffers types only; no primary key is needed.
    #[arg(long)]
    pub(crate) payload_only: bool,
    /// The format of changes on standard output and of errors on standard error.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
}

#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// Schema files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// A folder to look up included files in, after the folder of the file that includes them.
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    pub(crate) include_dirs: Vec<PathBuf>,
    /// The path of the crate `dflat` in the generated code [default: ::dflat].
    #[arg(long, value_name = "PATH")]
    pub(crate) crate_path: Option<String>,
    /// An included file whose types are compiled already, and the Rust module that has them: with
    /// storage, unless this code has none.
    #[arg(long, value_name = "FILE=PATH", value_parser = external)]
    pub(crate) external: Vec<External>,
    /// Generates FlatBuffers types only, without storage and queries.
    #[arg(long)]
    pub(crate) payload_only: bool,
    /// The format of diagnostics on standard error; `json` is one object on each line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text with the relevant lines of the schema.
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
