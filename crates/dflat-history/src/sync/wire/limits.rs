//! The limits of an exchange with a peer.

use std::time::Duration;

/// The limits of what one exchange takes from a peer, which may be hostile. An exchange beyond a
/// limit fails, and moves no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncLimits {
    /// The maximum number of commits.
    pub commits: usize,
    /// The maximum number of changed objects in all commits together.
    pub changes: u64,
    /// The maximum number of bytes of the messages, and of the objects that they give.
    pub bytes: u64,
    /// The maximum number of bytes of one object.
    pub object_bytes: usize,
    /// The time after which no further message is taken. It is compared after each message, so the
    /// caller sets how long a read of the connection may take.
    pub time: Duration,
}

impl Default for SyncLimits {
    /// 100,000 commits, 10,000,000 changes, 4 GiB, 16 MiB for an object, and an hour.
    fn default() -> Self {
        Self {
            commits: 100_000,
            changes: 10_000_000,
            bytes: 4 << 30,
            object_bytes: 16 << 20,
            time: Duration::from_secs(3600),
        }
    }
}
