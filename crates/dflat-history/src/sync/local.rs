//! An exchange between two files of one process.

use std::io::{self, pipe};
use std::panic::resume_unwind;
use std::thread;

use dflat_engine::{Error, ErrorKind, Result};

use super::duplex::Duplex;
use super::server::Server;
use super::wire::Stream;

impl Server<'_> {
    /// Answers the requests of `ask` on a thread of its own.
    ///
    /// # Errors
    /// That of the server, unless `ask` has ended the connection; otherwise that of `ask`.
    pub fn serve_here<R>(&self, ask: impl FnOnce(&mut dyn Stream) -> Result<R>) -> Result<R> {
        let ends = pipe().and_then(|there| Ok((there, pipe()?)));
        let ((of_server, to_server), (of_client, to_client)) =
            ends.map_err(|error| failed(&error))?;
        let mut client = Duplex {
            reader: of_client,
            writer: to_server,
        };
        let mut server = Duplex {
            reader: of_server,
            writer: to_client,
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("dflat-sync".to_owned());
            let thread = thread.spawn_scoped(scope, move || {
                // Dropping the end tells the client that no answer comes.
                self.serve(&mut server)
            });
            let thread = thread.map_err(|error| failed(&error))?;
            let asked = ask(&mut client);
            drop(client);
            let served = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            match (asked, served) {
                (Err(_), Err(served)) if served.kind() != ErrorKind::Io => Err(served),
                (asked, _) => asked,
            }
        })
    }
}

fn failed(error: &io::Error) -> Error {
    let message = format!("cannot sync within the process: {error}");
    Error::new(ErrorKind::Io, message)
}
