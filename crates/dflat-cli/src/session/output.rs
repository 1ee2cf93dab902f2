//! Standard output, which an interruption ends, and which a command that begins anew takes back.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use dflat_engine::fetch::Cancellation;

use super::pager::Pager;
use crate::failure::Interrupted;

/// The bytes that are written at a time.
const BUFFER: usize = 1 << 16;

/// The output that a command has left in its buffers.
#[derive(Default)]
pub(super) struct Rest {
    bytes: RefCell<Vec<u8>>,
    /// Whether something was written to standard output.
    has_written: Cell<bool>,
}

impl Rest {
    /// Forgets the output, unless some of it was written already.
    pub(super) fn take_back(&self) -> bool {
        let can = !self.has_written.get();
        if can {
            self.bytes.borrow_mut().clear();
        }
        can
    }

    /// Writes the output.
    pub(super) fn write(&self) -> io::Result<()> {
        let mut bytes = self.bytes.take();
        if bytes.is_empty() {
            return Ok(());
        }
        self.has_written.set(true);
        let mut out = io::stdout().lock();
        out.write_all(&bytes)?;
        // The buffer is used again, so that it need not grow again.
        bytes.clear();
        self.bytes.replace(bytes);
        out.flush()
    }
}

/// The output of a command.
pub(crate) struct Output {
    to: To,
    cancellation: Cancellation,
}

enum To {
    Stdout(Rc<Rest>),
    Pager(Pager),
}

impl Output {
    pub(super) fn new(rest: &Rc<Rest>, with_pager: bool, cancellation: Cancellation) -> Self {
        let pager = if with_pager { Pager::new() } else { None };
        let to = match pager {
            Some(pager) => To::Pager(pager),
            None => To::Stdout(Rc::clone(rest)),
        };
        Self { to, cancellation }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cancellation.is_cancelled() {
            return Err(io::Error::other(Interrupted));
        }
        match &mut self.to {
            To::Stdout(rest) => {
                rest.bytes.borrow_mut().extend_from_slice(bytes);
                if rest.bytes.borrow().len() >= BUFFER {
                    rest.write()?;
                }
                Ok(bytes.len())
            }
            To::Pager(pager) => pager.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(rest) => rest.write(),
            To::Pager(pager) => pager.flush(),
        }
    }
}
