//! Answers the exchanges of another program.

use std::io;

use dflat_history::steps::notice;
use dflat_history::sync::{Duplex, Server, SyncLimits};

use super::versioned;
use crate::arguments::ServeArguments;
use crate::failure::{Found, Outcome, note};
use crate::file::OpenFile;
use crate::session::Session;

/// Answers on standard input and output, until the input ends.
pub(crate) fn serve(arguments: &ServeArguments, session: &Session) -> Outcome {
    let input = session.stdin("let `dflat sync --through` start `dflat serve`")?;
    let file = OpenFile::write(&arguments.file, arguments.dry_run)?;
    let tables = versioned(&file)?;
    let engine = file.workspace.engine();
    notice(engine, &tables)?;
    let server = Server {
        engine,
        tables: &tables,
        allowed: &tables,
        takes_pushes: arguments.accept_pushes,
        accepts_forgotten: arguments.accept_forgotten,
        limits: SyncLimits::default(),
    };
    let mut stream = Duplex {
        reader: input,
        writer: io::stdout(),
    };
    let served = server.serve(&mut stream)?;
    file.close()?;
    note(&format!(
        "{} pulls, {} pushes, {} refused",
        served.pulls, served.pushes, served.refused
    ));
    Ok(Found::Yes)
}
