//! Committed states: how they are named, seen, and kept.

use std::time::Duration;

/// The failures that a commit survives, in ascending order. The default is
/// [`Normal`](Self::Normal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of the process. After a loss of power the last commits may be lost: each of them
    /// whole, and no commit without the commits after it.
    #[default]
    Normal,
    /// A loss of power. Each commit waits until the device has stored it; on Apple's systems, until
    /// the device has emptied its cache.
    Full,
}

/// The states that a snapshot sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Each scan sees the latest committed state: the cheapest way to scan once.
    Latest,
    /// All scans see the state that the first scan saw.
    Pinned,
}

/// The outcome of a look for commits of other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// Another process has committed.
    New,
    /// No other process has committed since the look before.
    Known,
    /// It is not known whether another process has committed.
    Failed,
}

/// Names a committed state of a backend. The meaning of the number is private to the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateId(pub u64);

impl StateId {
    /// A state that the backend cannot identify. A reader of this state counts as overtaken by
    /// every later state.
    pub const UNKNOWN: Self = Self(u64::MAX);
}

/// Work to do when a backend is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseOptions {
    /// Leave one file, without a write-ahead log beside it.
    pub truncate: bool,
    /// Give unused space back to the file system.
    pub vacuum: bool,
}

/// The state on which a write transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseState {
    /// The committed state.
    pub id: StateId,
    /// Whether the backend is certain that only its own transactions have written to the storage
    /// since its previous transaction. False if the backend cannot tell.
    pub is_own: bool,
}

/// Whether change records account for every commit between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// They do, and all of them were visited.
    Complete,
    /// Commits have no records, but only such ones of programs other than this library. All records
    /// were visited, and maybe some of earlier commits. The rows that those programs have written
    /// are known for the tables whose [`Indexes::is_noted`](super::Indexes::is_noted) is true: they
    /// are foreign now, or are listed as foreign in one of the records.
    Noted,
    /// A commit has no records, or its records were deleted or damaged, or the backend does not
    /// know, or the visitor has ended the visit.
    Broken,
}

/// How old the state can be that reads see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// Reads see the last commit.
    Current,
    /// Reads see a state that was the last one at most so long ago, by the clocks of both machines.
    AtMost(Duration),
    /// Reads see an earlier state, and it is not known how old it is.
    Unknown,
}
