//! How a command runs: on its own, or inside of the shell, which holds the file open, shows long
//! output in a pager, and can end the command before its end.

mod output;
mod pager;

use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use dflat_engine::fetch::{Cancellation, Control};
use dflat_model::Table;
use dflat_workspace::{Fetch, Source};

use crate::arguments::FileArguments;
use crate::failure::Failure;
use crate::file::OpenFile;
use output::Rest;

pub(crate) use output::Output;

/// The time between two looks whether a command that waits is interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// The run of one command.
#[derive(Default)]
pub(crate) struct Session {
    is_shell: bool,
    cancellation: Cancellation,
    /// The file that the shell holds open for reading.
    reader: Option<Rc<OpenFile>>,
    rest: Rc<Rest>,
}

impl Session {
    /// A command inside of the shell.
    pub(crate) fn of_shell(cancellation: Cancellation, reader: Option<Rc<OpenFile>>) -> Self {
        Self {
            is_shell: true,
            cancellation,
            reader,
            rest: Rc::default(),
        }
    }

    pub(crate) const fn is_shell(&self) -> bool {
        self.is_shell
    }

    /// Opens the file for reading only, unless the shell holds it open.
    pub(crate) fn read(&self, arguments: &FileArguments) -> Result<Reading, Failure> {
        match &self.reader {
            Some(reader) if reader.path == arguments.path => Ok(Reading::Shared(Rc::clone(reader))),
            _ => OpenFile::read(arguments).map(Reading::Own),
        }
    }

    /// Standard output. Inside of the shell, what is longer than the terminal goes to a pager.
    pub(crate) fn out(&self) -> Output {
        Output::new(&self.rest, self.is_shell, self.cancellation.clone())
    }

    /// Standard output without a pager, for output without an end.
    pub(crate) fn stream(&self) -> Output {
        Output::new(&self.rest, false, self.cancellation.clone())
    }

    /// Forgets the output of a command that begins anew, unless some of it was written already.
    pub(crate) fn take_back(&self) -> bool {
        self.rest.take_back()
    }

    /// Writes the output that a command that failed has left.
    pub(crate) fn write_rest(&self) -> Result<(), Failure> {
        Ok(self.rest.write()?)
    }

    /// A query that ends if the command is interrupted.
    pub(crate) fn fetch<'f>(&self, source: Source<'f>, table: &Table) -> Fetch<'f> {
        let mut fetch = Fetch::new(source, table.clone());
        fetch.control = self.control();
        fetch
    }

    pub(crate) fn control(&self) -> Control {
        Control {
            cancellation: Some(self.cancellation.clone()),
            ..Control::default()
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Fails if the command is interrupted.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.is_interrupted() {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }

    /// The next item of a channel. `None` if the command is interrupted, or nothing follows.
    pub(crate) fn next<T>(&self, items: &Receiver<T>) -> Option<T> {
        // Items that never cease do not keep an interrupted command.
        while !self.is_interrupted() {
            match items.recv_timeout(LOOK) {
                Ok(item) => return Some(item),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    /// Standard input, which the shell needs for itself.
    pub(crate) fn stdin(&self, instead: &str) -> Result<io::Stdin, Failure> {
        match self.is_shell {
            true => Err(Failure::usage(format!(
                "standard input is that of the shell\nhelp: {instead}"
            ))),
            false => Ok(io::stdin()),
        }
    }
}

/// A file that is open for reading.
pub(crate) enum Reading {
    Own(OpenFile),
    /// The file of the shell, which stays open.
    Shared(Rc<OpenFile>),
}

impl Reading {
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self {
            Self::Own(file) => file.close(),
            Self::Shared(_) => Ok(()),
        }
    }
}

impl Deref for Reading {
    type Target = OpenFile;

    fn deref(&self) -> &OpenFile {
        match self {
            Self::Own(file) => file,
            Self::Shared(file) => file,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use dflat_engine::fetch::Cancellation;

    use super::Session;

    #[test]
    fn interrupted_command_takes_no_more_items() {
        let cancellation = Cancellation::new();
        let session = Session::of_shell(cancellation.clone(), None);
        let (sender, items) = channel();
        for item in 0..3 {
            sender.send(item).unwrap();
        }
        assert_eq!(session.next(&items), Some(0));
        cancellation.cancel();
        assert_eq!(session.next(&items), None);
    }
}
