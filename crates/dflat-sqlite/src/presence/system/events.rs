//! The events of a follower: those that the system reports, or none.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dflat_engine::telemetry::TARGET;

use super::pauses::{End, Pauses};
use super::{Awaited, Woken, reported};

/// The events of the database, of its log and of the presence file.
pub(in super::super) enum Events {
    Reported(reported::Events),
    /// The system reports none, or not to this process: its user may have too many watches, or may
    /// not list the directory.
    Unreported(Pauses),
}

/// Ends the waits of [`Events`] when it is dropped.
#[allow(dead_code, reason = "dropped")]
pub(in super::super) enum Alarm {
    Reported(reported::Alarm),
    Unreported(End),
}

impl Events {
    /// Watches the files `written`, and the directory of the file `presence`, if that is possible.
    pub(in super::super) fn new(written: [PathBuf; 3], presence: &Path) -> (Self, Alarm) {
        match reported::Events::new(written, presence) {
            Ok((events, alarm)) => (Self::Reported(events), Alarm::Reported(alarm)),
            Err(error) => {
                let path = presence.display();
                tracing::warn!(target: TARGET, %path, %error, "changes are not reported");
                let (pauses, end) = Pauses::new();
                (Self::Unreported(pauses), Alarm::Unreported(end))
            }
        }
    }

    /// Waits for changes of the presence file at `path`, too. Fails if nothing is reported.
    pub(in super::super) fn watch_presence(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Reported(events) => events.watch_presence(path),
            Self::Unreported(_) => Pauses::watch_presence(),
        }
    }

    /// Waits for a change, at most for `timeout`.
    pub(in super::super) fn wait(&self, awaited: Awaited, timeout: Duration) -> Woken {
        match self {
            Self::Reported(events) => events.wait(awaited, timeout),
            Self::Unreported(pauses) => pauses.wait(timeout),
        }
    }

    /// Notes the changes that no wait was ended by.
    pub(in super::super) fn take_changes(&self, woken: &mut Woken) {
        if let Self::Reported(events) = self {
            events.take_changes(woken);
        }
    }
}
