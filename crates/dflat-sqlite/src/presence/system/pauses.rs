//! Waits without file events: a follower looks at intervals.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::Woken;

/// Waits that end early only if the thread is to end.
pub(in super::super) struct Pauses(Receiver<Infallible>);

/// Ends [`Pauses`] when it is dropped.
pub(in super::super) type End = Sender<Infallible>;

impl Pauses {
    pub(super) fn new() -> (Self, End) {
        let (end, ending) = channel();
        (Self(ending), end)
    }

    /// Fails.
    pub(super) fn watch_presence() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits for `timeout`.
    pub(super) fn wait(&self, timeout: Duration) -> Woken {
        let waited = self.0.recv_timeout(timeout);
        Woken {
            is_ending: matches!(waited, Err(RecvTimeoutError::Disconnected)),
            ..Woken::default()
        }
    }
}
