//! The arguments of commands that generate files for shells and readers.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  dflat completions bash > ~/.local/share/bash-completion/completions/dflat
  dflat completions fish > ~/.config/fish/completions/dflat.fish
";

const MAN_EXAMPLES: &str = "\
Examples:
  dflat man ~/.local/share/man/man1
  dflat man . && man ./dflat-query.1
";

/// Prints a script that completes this command line in a shell, with the types, fields, values and
/// keys of the file.
#[derive(Debug, Args)]
#[command(before_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Writes man pages of all commands into a folder.
#[derive(Debug, Args)]
#[command(before_help = MAN_EXAMPLES)]
pub(crate) struct ManArguments {
    /// The folder, which is created if it does not exist.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
