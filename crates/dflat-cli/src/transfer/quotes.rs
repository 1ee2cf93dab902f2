//! The quotes of CSV, watched while the input is read: the reader of CSV takes the end of the input
//! as the end of an open quote.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use super::line::LINE_MAX;

/// The place in a line, as the reader of CSV sees it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// At the beginning of a value.
    #[default]
    Start,
    /// In a value, where a quote is a character.
    Plain,
    /// Between two quotes.
    Quoted,
    /// After a quote that ends the value, unless another one follows.
    Closed,
}

impl Place {
    const fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Start | Self::Closed, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::Closed,
            (Self::Quoted, _) => Self::Quoted,
            (_, b',' | b'\n' | b'\r') => Self::Start,
            _ => Self::Plain,
        }
    }
}

/// Tells whether the end of an input was reached inside a quote.
#[derive(Clone, Default)]
pub(super) struct Quotes(Rc<Cell<bool>>);

impl Quotes {
    pub(super) fn is_one_open_at_end(&self) -> bool {
        self.0.get()
    }
}

/// An input whose quotes are watched.
pub(super) struct Watched {
    input: Box<dyn Read>,
    quotes: Quotes,
    place: Place,
    /// The bytes since the last end of a line that is outside of quotes.
    line_bytes: u64,
}

impl Watched {
    pub(super) fn new(input: Box<dyn Read>, quotes: &Quotes) -> Self {
        Self {
            input,
            quotes: quotes.clone(),
            place: Place::default(),
            line_bytes: 0,
        }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            self.quotes.0.set(self.place == Place::Quoted);
        }
        for &byte in buffer.get(..read).unwrap_or_default() {
            self.place = self.place.after(byte);
            self.line_bytes += 1;
            if self.place == Place::Start && byte != b',' {
                self.line_bytes = 0;
            }
            if self.line_bytes >= LINE_MAX {
                let most = LINE_MAX >> 20;
                let message = format!("a line is too long: at most {most} MiB are allowed");
                return Err(io::Error::other(message));
            }
        }
        Ok(read)
    }
}
