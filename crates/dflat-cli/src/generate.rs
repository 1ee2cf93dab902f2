//! Completions for shells, and man pages.

use std::fs;
use std::io::{Write, stdout};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::arguments::Arguments;
use crate::failure::{Failure, Found, Outcome};

/// Prints a script with which a shell asks this program to complete a command line.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell.to_string()) else {
        return Err(Failure::usage(format!("cannot complete in {shell}")));
    };
    let mut script = Vec::new();
    completer.write_registration("COMPLETE", "dflat", "dflat", "dflat", &mut script)?;
    stdout().write_all(&script)?;
    Ok(Found::Yes)
}

/// Writes a man page for the program and for each command into a folder.
pub(crate) fn man(folder: &Path) -> Outcome {
    let failed = |error: std::io::Error| {
        Failure::file(format!("cannot write to {}: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
    Ok(Found::Yes)
}
