//! Answers the exchanges of another program.

use std::io::{self, Read, Stdin, Stdout, Write};

use dflat_history::steps::notice;
use dflat_history::sync::{Server, SyncLimits};

use super::versioned;
use crate::arguments::ServeArguments;
use crate::failure::{Found, Outcome, note};
use crate::file::OpenFile;

/// Standard input and output as a connection.
struct Standard {
    input: Stdin,
    output: Stdout,
}

impl Read for Standard {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.input.read(bytes)
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Answers on standard input and output, until the input ends.
pub(crate) fn serve(arguments: &ServeArguments) -> Outcome {
    let file = OpenFile::write(&arguments.file, arguments.dry_run)?;
    let tables = versioned(&file)?;
    let engine = file.workspace.engine();
    notice(engine, &tables)?;
    let server = Server {
        engine,
        tables: &tables,
        allowed: &tables,
        takes_pushes: arguments.accept_pushes,
        limits: SyncLimits::default(),
    };
    let mut stream = Standard {
        input: io::stdin(),
        output: io::stdout(),
    };
    let served = server.serve(&mut stream)?;
    file.close()?;
    note(&format!(
        "{} pulls, {} pushes, {} refused",
        served.pulls, served.pushes, served.refused
    ));
    Ok(Found::Yes)
}
