//! Completions for shells, and man pages.

use std::fs;
use std::io::{Write, stdout};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::{Failure, Found, Outcome};

/// Prints a script that completes the command line in a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "dflat", &mut script);
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
