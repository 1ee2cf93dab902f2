//! Locks and file events, as far as the operating system has them.

#[cfg_attr(
    not(all(
        any(target_os = "linux", target_os = "android"),
        target_pointer_width = "64"
    )),
    path = "elsewhere.rs"
)]
#[cfg_attr(
    all(
        any(target_os = "linux", target_os = "android"),
        target_pointer_width = "64"
    ),
    path = "linux.rs"
)]
mod reported;

mod events;
mod pauses;

pub(super) use events::{Alarm, Events};
pub(super) use reported::{is_locked_by_others, lock_alone, lock_shared, unlock};

/// The events for which a wait ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// Changes of the presence file.
    Notices,
    /// Changes of the presence file, of the database and of its log.
    All,
}

/// Why a wait ended. If nothing is set, its time was over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Woken {
    /// The thread is to end.
    pub(super) is_ending: bool,
    /// The presence file was changed: another process has committed.
    pub(super) by_notice: bool,
    /// The database or its log was changed, by any process.
    pub(super) by_write: bool,
    /// A presence file was created, deleted or replaced.
    pub(super) by_presence: bool,
}

impl Woken {
    /// Whether a file was changed.
    pub(super) fn is_change(self) -> bool {
        self.by_notice || self.by_write || self.by_presence
    }
}
