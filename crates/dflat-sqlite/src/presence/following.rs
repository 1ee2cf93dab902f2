//! How a process learns of commits.

/// How a process learns of the commits of other processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Following {
    /// It does not look for them: nothing is subscribed to, or following is turned off.
    #[default]
    Off,
    /// Other processes notify it.
    Notified,
    /// It looks at intervals of half a second, because the presence file can't be made or locked,
    /// or the system reports no file events to this process.
    Intervals,
}

impl Following {
    pub(super) const ALL: [Self; 3] = [Self::Off, Self::Notified, Self::Intervals];
}
