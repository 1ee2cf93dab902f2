//! The arguments of commands on packs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CopyOnlyArguments, FileArguments, FormatArguments, OnConflict, WriteArguments};

const PACK_EXAMPLES: &str = "\
Examples:
  dflat pack tasks.db packs
  dflat pack tasks.db packs Task List --json
  dflat pack tasks.db packs --compress zstd
";

const UNPACK_EXAMPLES: &str = "\
Examples:
  dflat unpack tasks.pack tasks.db
  dflat unpack tasks.pack tasks.db Task --on-conflict skip
";

const VERIFY_EXAMPLES: &str = "\
Examples:
  dflat verify tasks.pack
  dflat verify packs --json
";

/// Writes: makes a pack of objects, a file that is named by its content and never changes.
///
/// Prints the path of the pack. Objects in any order give the same file. The file appears when it
/// is whole and on the device.
#[derive(Debug, Args)]
#[command(before_help = PACK_EXAMPLES)]
pub(crate) struct PackArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The folder of the pack. It is created if it does not exist.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The types; all types of the file if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Compresses the pack. Its name stays the same, because it depends on the objects alone.
    #[arg(long, value_name = "HOW")]
    pub(crate) compress: Option<Compress>,
    #[command(flatten)]
    pub(crate) copy: CopyOnlyArguments,
}

/// How a pack is compressed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Compress {
    /// Fast.
    Lz4,
    /// Smaller, and slower to read.
    Zstd,
}

/// Writes: imports the objects of a pack into a file, in batches.
///
/// The pack describes the types. An interrupted import is completed by the same command with
/// `--on-conflict skip`.
#[derive(Debug, Args)]
#[command(before_help = UNPACK_EXAMPLES)]
pub(crate) struct UnpackArguments {
    /// The pack.
    #[arg(value_name = "PACK")]
    pub(crate) pack: PathBuf,
    /// The file that gets the objects. It is created if it does not exist.
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    /// The types; all types of the pack if there is none.
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// The reaction to a key or a unique value that exists already.
    #[arg(long, value_enum, value_name = "REACTION", default_value = "fail")]
    pub(crate) on_conflict: OnConflict,
    /// Does not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) write: WriteArguments,
}

/// Checks each byte, object and index entry of packs. Exits with 3 if a pack is damaged.
///
/// A pack that is sound has the objects that its digest names. Of a damaged pack, each damaged
/// block is named, and of each type the first object that does not fit.
#[derive(Debug, Args)]
#[command(before_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArguments {
    /// Packs, and folders, whose files that end in `.pack` are checked.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
}
