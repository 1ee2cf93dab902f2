//! A connection of two halves.

use std::io::{self, Read, Write};

/// A reader and a writer as one connection, such as the standard input and output of a program.
#[derive(Debug)]
pub struct Duplex<R, W> {
    /// The half from which bytes come.
    pub reader: R,
    /// The half to which bytes go.
    pub writer: W,
}

impl<R: Read, W> Read for Duplex<R, W> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.reader.read(bytes)
    }
}

impl<R, W: Write> Write for Duplex<R, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
