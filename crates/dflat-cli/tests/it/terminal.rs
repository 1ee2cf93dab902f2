//! The program in a terminal: a pseudo-terminal, whose other end is the test.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use crate::fixture::{PROGRAM, with_interrupts};

/// How long an output may take before the test fails: long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program in a terminal.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    /// The output that was not expected yet.
    shown: String,
}

/// Whether `setsid`, which gives the program its terminal, can be run. Says so if it cannot.
pub(crate) fn can_run() -> bool {
    let mut command = Command::new("setsid");
    let found = command.arg("--version").stdout(Stdio::null()).status();
    let can = found.is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: there is no `setsid`, which gives a program its terminal");
    }
    can
}

impl Terminal {
    /// Starts `dflat` in a terminal with this number of columns and 24 lines.
    pub(crate) fn start(arguments: &[&str], folder: &Path, columns: u16) -> Self {
        Self::start_program(PROGRAM, arguments, folder, columns)
    }

    /// Starts a program in such a terminal.
    pub(crate) fn start_program(
        program: &str,
        arguments: &[&str],
        folder: &Path,
        columns: u16,
    ) -> Self {
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(Some(&size), None).unwrap();
        let end = |end: &OwnedFd| end.try_clone().unwrap();
        let mut command = Command::new("setsid");
        // `--wait` ends as the program ends.
        command.args(["--ctty", "--wait"]).args(with_interrupts());
        command.arg(program).args(arguments);
        command.current_dir(folder);
        command
            .env("TERM", "xterm")
            .env("DFLAT_HISTORY", folder.join("history"))
            .env("DFLAT_PAGER", "cat")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR");
        command.stdin(end(&pair.slave)).stdout(end(&pair.slave));
        let child = command.stderr(pair.slave).spawn().unwrap();
        // The command holds the other end of the terminal, whose output ends with the last holder.
        drop(command);
        let mut screen = File::from(end(&pair.master));
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // When the program ends, reading fails.
            while let Ok(count) = screen.read(&mut bytes) {
                if count == 0 || sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keyboard: File::from(pair.master),
            output,
            shown: String::new(),
        }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until a text is shown, and returns what was shown up to its end.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(start) = self.shown.find(text) {
                let rest = self.shown.split_off(start + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{error}: expected {text:?} in {:?}", self.shown),
            }
        }
    }

    /// The output until the program ends, and how it ends.
    pub(crate) fn end(mut self) -> (String, ExitStatus) {
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("{error}: expected the end after {:?}", self.shown),
            }
        }
        let status = self.child.wait().unwrap();
        (std::mem::take(&mut self.shown), status)
    }
}

/// A test that fails leaves no program behind.
impl Drop for Terminal {
    fn drop(&mut self) {
        // The program may have ended. Without a terminal, it ends by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
