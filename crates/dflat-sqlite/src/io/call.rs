//! The kinds of files and of calls that are counted.

use std::fmt;

/// The kind of a file of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// The database itself.
    Main,
    /// The write-ahead log.
    Log,
    /// The index of the write-ahead log, in shared memory.
    LogIndex,
    /// The rollback journal.
    Journal,
    /// A file without a name. SQLite puts in it the data that its cache does not hold: the undo
    /// data of a statement, or the content of a file that is written anew.
    Temporary,
    /// Any other file with a name.
    Other,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Main,
        Self::Log,
        Self::LogIndex,
        Self::Journal,
        Self::Temporary,
        Self::Other,
    ];
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Main => "main",
            Self::Log => "wal",
            Self::LogIndex => "shm",
            Self::Journal => "journal",
            Self::Temporary => "temp",
            Self::Other => "other",
        })
    }
}

/// A call to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Open a file.
    Open,
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Cut a file to a length.
    Truncate,
    /// Wait until a file's content is on the device: a sync.
    Flush,
    /// Wait until the names in a directory are on the device.
    FlushDirectory,
    /// Remove a file.
    Delete,
    /// Take a lock.
    Lock,
    /// Map shared memory.
    Map,
    /// Get a file's length.
    Size,
    /// Find out whether a file exists.
    Access,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 11] = [
        Self::Open,
        Self::Read,
        Self::Write,
        Self::Truncate,
        Self::Flush,
        Self::FlushDirectory,
        Self::Delete,
        Self::Lock,
        Self::Map,
        Self::Size,
        Self::Access,
    ];
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Flush => "sync",
            Self::FlushDirectory => "directory sync",
            Self::Delete => "delete",
            Self::Lock => "lock",
            Self::Map => "map",
            Self::Size => "size",
            Self::Access => "access",
        })
    }
}
