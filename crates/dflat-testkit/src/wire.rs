//! Connections that count, cut and record what passes them, and messages by hand.

use std::io::{self, Read, Write};
use std::thread;

use dflat::Workspace;
use dflat::history::{Pulled, Served};

/// One end of a connection within the test.
#[derive(Debug)]
pub struct End {
    reader: io::PipeReader,
    writer: io::PipeWriter,
    /// The bytes that were received.
    pub received: Vec<u8>,
    /// The bytes that were sent.
    pub sent: Vec<u8>,
    /// The number of bytes after which nothing more arrives.
    pub cut: Option<usize>,
}

/// Both ends of a connection.
///
/// # Panics
/// Panics if the system has no pipe.
pub fn connection() -> (End, End) {
    let (to_one, from_other) = io::pipe().unwrap();
    let (to_other, from_one) = io::pipe().unwrap();
    let end = |reader, writer| End {
        reader,
        writer,
        received: Vec::new(),
        sent: Vec::new(),
        cut: None,
    };
    (end(to_one, from_one), end(to_other, from_other))
}

impl Read for End {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.cut.map_or(usize::MAX, |cut| cut - self.received.len());
        let length = bytes.len().min(left);
        let read = self.reader.read(&mut bytes[..length])?;
        self.received.extend(&bytes[..read]);
        Ok(read)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.sent.extend(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Runs a server of a workspace that takes pushes, and `ask` at the other end of the connection.
///
/// # Errors
/// That of the server, beside the result of `ask`.
///
/// # Panics
/// Panics if the server does.
pub fn served<R>(other: &Workspace, ask: impl FnOnce(&mut End) -> R) -> (R, dflat::Result<Served>) {
    let (mut here, mut there) = connection();
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let served = other.history().server().accept_pushes().serve(&mut there);
            drop(there);
            served
        });
        let asked = ask(&mut here);
        drop(here);
        (asked, server.join().unwrap())
    })
}

/// A pull of the branch `main` and the bytes that came.
///
/// # Panics
/// Panics if the pull fails.
#[must_use]
pub fn recorded(here: &Workspace, there: &Workspace) -> (Pulled, Vec<u8>) {
    let (pulled, served) = served(there, |end| {
        let pulled = here.history().remote("peer").pull(end, "main");
        (pulled.unwrap(), std::mem::take(&mut end.received))
    });
    served.unwrap();
    pulled
}

/// A peer that sends these bytes, whatever it is asked.
#[derive(Debug)]
pub struct Script<'s>(pub &'s [u8]);

impl Read for Script<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A message.
///
/// # Panics
/// Panics if the content has more than 4 GiB.
#[must_use]
pub fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    [&[kind], &length.to_le_bytes()[..], content].concat()
}

/// The messages of a recording: the kind and the content of each.
///
/// # Panics
/// Panics if the recording is cut.
#[must_use]
pub fn messages(bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut messages, mut rest) = (Vec::new(), bytes);
    while let [kind, a, b, c, d, after @ ..] = rest {
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        messages.push((*kind, after[..length].to_vec()));
        rest = &after[length..];
    }
    messages
}

/// The kind of the message that offers commits.
pub const OFFER: u8 = 4;
/// The kind of the message with the descriptor of a type.
pub const DESCRIPTOR: u8 = 6;
/// The kind of the message with a commit.
pub const COMMIT: u8 = 7;
/// The kind of the message with changes of a commit.
pub const CHANGES: u8 = 8;
/// The kind of the message at the end of the commits.
pub const DONE: u8 = 9;
/// The kind of the message with marks of forgotten objects.
pub const MARKS: u8 = 12;
/// The kind of the message with the tree of a commit that has lost objects.
pub const REST: u8 = 13;
