//! A program that shows long output page by page.

use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// The options of `less`: colours are shown, and text stays on the terminal.
const LESS: &str = "-RX";

/// Keeps output until it is longer than the terminal, and then starts the pager.
pub(super) struct Pager {
    program: String,
    /// The lines that the terminal shows without a pager.
    lines: usize,
    state: State,
}

enum State {
    /// The output so far.
    Kept(Vec<u8>),
    Running(Child),
    /// There is no such program: everything goes to standard output.
    Without,
}

impl Pager {
    /// `None` if standard output is no terminal, or no pager is wished. The pager is that of the
    /// environment: `DFLAT_PAGER`, else `PAGER`, else `less`.
    pub(super) fn new() -> Option<Self> {
        let (_, height) = terminal_size::terminal_size_of(io::stdout())?;
        let set = env::var("DFLAT_PAGER").or_else(|_| env::var("PAGER"));
        let program = set.unwrap_or_else(|_| "less".to_owned());
        if program.trim().is_empty() {
            return None;
        }
        Some(Self {
            program,
            // The prompt needs a line.
            lines: usize::from(height.0).saturating_sub(1),
            state: State::Kept(Vec::new()),
        })
    }

    fn start(&mut self, kept: &[u8]) -> io::Result<()> {
        let mut words = self.program.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("less"));
        command.args(words).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            command.env("LESS", LESS);
        }
        let Ok(mut child) = command.spawn() else {
            self.state = State::Without;
            return io::stdout().write_all(kept);
        };
        let written = match &mut child.stdin {
            Some(input) => input.write_all(kept),
            None => Ok(()),
        };
        self.state = State::Running(child);
        written
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Kept(kept) => {
                kept.extend_from_slice(bytes);
                let lines = kept.iter().filter(|byte| **byte == b'\n').count();
                if lines > self.lines {
                    let kept = std::mem::take(kept);
                    self.start(&kept)?;
                }
                Ok(bytes.len())
            }
            State::Running(child) => match &mut child.stdin {
                Some(input) => input.write(bytes),
                None => Ok(bytes.len()),
            },
            State::Without => io::stdout().write(bytes),
        }
    }

    /// Output that is kept stays so until the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shows the rest, and waits until the user has left the pager.
impl Drop for Pager {
    fn drop(&mut self) {
        match &mut self.state {
            State::Kept(kept) => {
                let mut out = io::stdout().lock();
                // If the terminal is gone, the output cannot be shown anywhere.
                let _ = out.write_all(kept);
                let _ = out.flush();
            }
            State::Running(child) => {
                drop(child.stdin.take());
                // An interruption ends the command, not the pager: its user leaves it.
                let _ = child.wait();
            }
            State::Without => {}
        }
    }
}
