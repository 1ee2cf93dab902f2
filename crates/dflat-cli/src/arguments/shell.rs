//! The arguments of the shell.

use clap::Args;

use super::FileArguments;

const SHELL_EXAMPLES: &str = "\
Examples:
  dflat shell tasks.db
  dflat shell tasks.db --schema tasks.fbs < commands.txt
";

/// Reads commands on one file, one after the other, without `dflat` and without FILE.
///
/// Commands that write work here, too. `.help` lists the commands, Tab completes, and Ctrl-C ends
/// a command, not the shell. Lines that were typed are kept in the file that the variable
/// `DFLAT_HISTORY` names; long output goes to the program of `DFLAT_PAGER`, `PAGER`, or `less`. If
/// standard input is no terminal, the shell ends at the first mistake.
#[derive(Debug, Args)]
#[command(before_help = SHELL_EXAMPLES)]
pub(crate) struct ShellArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
}
