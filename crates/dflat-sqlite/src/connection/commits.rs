//! Tells the commits of others from those of this backend.
//!
//! SQLite counts the commits to a file: in the index of its write-ahead log, or, without one, in
//! the file's header. Each write transaction compares the count at its start with the one after
//! this backend's commit before: if they differ, somebody else has committed, and the count says
//! which commit was the latest. A state that was read earlier is overtaken if its count is smaller.
//! Checkpoints, whoever makes them, are not counted, and neither do they change what is stored.
//!
//! A log that is deleted when its last connection closes takes its count with it. The next one is
//! told from it by its salt. One that is empty has none: there the file tells whether somebody has
//! written in between.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dflat_engine::storage::StateId;

use crate::ffi::{Connection, LogCount};

/// What the header of a file says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileHeader {
    /// The commits that it has seen without a log.
    pub(crate) count: u32,
    /// It has a log.
    pub(crate) has_log: bool,
}

impl FileHeader {
    /// Reads the header, past all locks and logs; that of an empty file is all zero.
    pub(crate) fn read(connection: &Connection) -> Option<Self> {
        // The version by which the file is to be read says that there is a log: SQLite goes by
        // that, even if the version by which it is to be written is another.
        const READ_VERSION: usize = 19;
        const LOG_VERSION: u8 = 2;
        let head = connection.read_head::<28>().ok()?;
        Some(head.map_or_else(Self::default, |head| Self {
            count: head.last_chunk().copied().map_or(0, u32::from_be_bytes),
            has_log: head[READ_VERSION] == LOG_VERSION,
        }))
    }
}

/// The counts of the header between which a connection was opened to write, and which name the same
/// contents: the file was begun and got its log, if it had none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpeningCounts {
    before: u32,
    after: u32,
}

impl OpeningCounts {
    /// Given the counts before and after. One that is not explained by beginning the file and
    /// giving it its log shows commits of others: then nothing is known of what was before.
    pub(crate) fn new(before: u32, after: u32) -> Self {
        /// What it costs to begin a file and to give it its log, and the latter alone.
        const BEGUN: u32 = 2;
        const GIVEN: u32 = 1;
        let expected = if before == 0 {
            BEGUN
        } else {
            before.wrapping_add(GIVEN)
        };
        let is_explained = after == before || after == expected;
        Self {
            before: if is_explained { before } else { after },
            after,
        }
    }

    /// Whether nothing was committed between a count and the opening. Who could not open the log
    /// may have seen the last one, too.
    fn has(self, count: u32) -> bool {
        count.wrapping_sub(self.before) <= self.after.wrapping_sub(self.before)
    }
}

/// How many commits a file has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitCount {
    /// By the file's header, if there is no log.
    File(u32),
    /// By the index of the log.
    Log(LogCount),
}

impl CommitCount {
    /// Whether this is what follows `earlier`, or something after that.
    fn follows(self, earlier: Self) -> bool {
        self.is_of_log(earlier) && !is_after(earlier.number(), self.number())
    }

    /// Whether both were counted by the same log, or both without one.
    fn is_of_log(self, other: Self) -> bool {
        /// How often a log may have begun anew between the two.
        const RESETS_MAX: u32 = 1 << 16;
        match (self, other) {
            (Self::File(_), Self::File(_)) => true,
            (Self::Log(a), Self::Log(b)) => {
                let resets = a.salt.wrapping_sub(b.salt);
                let is_near = resets.min(resets.wrapping_neg()) < RESETS_MAX;
                is_near || a.salt == 0 || b.salt == 0
            }
            _ => false,
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::File(number) => number,
            Self::Log(log) => log.commits,
        }
    }

    /// The count after one more commit.
    fn next(self) -> Self {
        match self {
            Self::File(number) => Self::File(number.wrapping_add(1)),
            Self::Log(log) => Self::Log(LogCount {
                commits: log.commits.wrapping_add(1),
                ..log
            }),
        }
    }
}

/// Whether a count that may have wrapped is larger.
fn is_after(count: u32, than: u32) -> bool {
    let difference = count.wrapping_sub(than);
    difference != 0 && difference < 1 << 31
}

/// What a backend knows of the commits to its file.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    known: Mutex<KnownCommits>,
}

#[derive(Debug, Default)]
struct KnownCommits {
    /// The count when this backend's latest write transaction ended.
    last: Option<CommitCount>,
    /// The count after the latest commit of somebody else that was noticed.
    last_foreign: u32,
    /// Counts how often counting began anew, as after the crash of another process.
    era: u32,
    /// The log whose count was seen last, and has begun.
    log: Option<LogCount>,
    /// What the file was like when a connection was opened that found an empty log.
    file: Option<u64>,
    /// How this backend first opened the file to write.
    opening: Option<OpeningCounts>,
    /// Somebody else may have committed, and nobody was told yet.
    foreign_write: bool,
    /// This backend may have committed since `last`, and not noted it yet.
    writes: bool,
}

/// Where a write transaction stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitBase {
    count: CommitCount,
    last_foreign: u32,
    era: u32,
    opening: OpeningCounts,
    follows_own: bool,
}

impl KnownCommits {
    /// Notes a count that is seen: a log that somebody else has begun counts anew.
    fn see(&mut self, count: CommitCount) {
        // While this backend writes, nobody else does: a log that begins then is its own.
        if let CommitCount::Log(log) = count
            && log.salt != 0
            && !self.writes
        {
            let before = self.log.replace(log).map(CommitCount::Log);
            if before.is_some_and(|before| !count.is_of_log(before)) {
                self.era = (self.era + 1) & StateNumber::ERA_MAX;
            }
        }
    }
}

impl Commits {
    fn lock(&self) -> MutexGuard<'_, KnownCommits> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the file was opened to write.
    pub(crate) fn note_open(&self, opening: OpeningCounts) {
        self.lock().opening.get_or_insert(opening);
    }

    /// Notes what the file is like on which a connection was opened that found an empty log.
    pub(crate) fn note_empty_log(&self, file: u64) {
        let mut known = self.lock();
        if known
            .file
            .replace(file)
            .is_some_and(|before| before != file)
        {
            // Somebody has written, maybe this backend: all connections were closed meanwhile.
            known.era = (known.era + 1) & StateNumber::ERA_MAX;
            known.last = None;
        }
    }

    /// Notes the start of a write transaction, during which nobody else commits.
    pub(crate) fn note_begin(&self, count: CommitCount) -> CommitBase {
        let mut known = self.lock();
        known.see(count);
        known.writes = true;
        let is_last = |last: CommitCount| last.number() == count.number() && last.is_of_log(count);
        let follows_own = known.last.is_some_and(is_last);
        if !follows_own {
            known.foreign_write = true;
            if known.last.is_some_and(|last| !count.follows(last)) {
                known.era = (known.era + 1) & StateNumber::ERA_MAX;
            }
            known.last_foreign = count.number();
            known.last = Some(count);
        }
        CommitBase {
            count,
            last_foreign: known.last_foreign,
            era: known.era,
            opening: known.opening.unwrap_or_default(),
            follows_own,
        }
    }

    /// Notes the start of a write transaction that does not know where it stands.
    pub(crate) fn note_doubt(&self) {
        let mut known = self.lock();
        known.foreign_write = true;
        known.last = None;
    }

    /// Whether somebody else may have committed since this was last asked, upkeep of the file or
    /// not in between; at first, too.
    pub(crate) fn take_foreign_write(&self) -> bool {
        std::mem::take(&mut self.lock().foreign_write)
    }

    /// Notes that a commit outside of a write transaction is about to be made.
    pub(crate) fn note_alone(&self) {
        self.lock().writes = true;
    }

    /// Notes that what was begun has ended, after its commit is noted.
    pub(crate) fn note_end(&self) {
        self.lock().writes = false;
    }

    /// Whether somebody else may have committed after the state `since`, and before that with this
    /// count, which was current a moment ago.
    pub(crate) fn is_overtaken(&self, count: CommitCount, since: StateId) -> bool {
        let mut known = self.lock();
        known.see(count);
        if StateNumber::at(count, known.era).id() == since {
            return false;
        }
        let Some(last) = known.last else { return true };
        let latest = if known.writes { last.next() } else { last };
        let commit_base = CommitBase {
            count,
            last_foreign: known.last_foreign,
            era: known.era,
            opening: known.opening.unwrap_or_default(),
            follows_own: false,
        };
        !latest.follows(count) || commit_base.is_overtaken(since)
    }

    /// Notes the commit of a write transaction that wrote something, and which log has it.
    pub(crate) fn note_commit(&self, commit_base: CommitBase, now: Option<CommitCount>) {
        let mut last = commit_base.count.next();
        // Only the commit begins a log that has no salt yet. Its count may be of another's by now.
        if let (CommitCount::Log(log), Some(CommitCount::Log(LogCount { salt, .. }))) =
            (&mut last, now)
        {
            log.salt = salt;
        }
        let mut known = self.lock();
        known.last = Some(last);
        if let CommitCount::Log(log) = last
            && log.salt != 0
        {
            known.log = Some(log);
        }
    }

    /// Forgets what was known when all connections are closed: the log and its count end then.
    pub(crate) fn begin_anew(&self) {
        let mut known = self.lock();
        *known = KnownCommits {
            era: (known.era + 1) & StateNumber::ERA_MAX,
            foreign_write: true,
            ..KnownCommits::default()
        };
    }

    /// Names the state with this count.
    pub(crate) fn state(&self, count: Option<CommitCount>) -> StateId {
        let Some(count) = count else {
            return StateNumber::Unknown.id();
        };
        let mut known = self.lock();
        known.see(count);
        StateNumber::at(count, known.era).id()
    }
}

impl CommitBase {
    /// Whether nobody else has committed since this backend's transaction before.
    pub(crate) fn follows_own(self) -> bool {
        self.follows_own
    }

    /// Names the state on which the transaction stands.
    pub(crate) fn state(self) -> StateId {
        StateNumber::at(self.count, self.era).id()
    }

    /// Whether somebody else has committed since a state was current.
    pub(crate) fn is_overtaken(self, since: StateId) -> bool {
        match (StateNumber::of(since), self.count) {
            (StateNumber::Unknown, _) => false,
            // The file got its log, and the count began anew, when it was opened to write.
            (StateNumber::NoFile, _) => self.last_foreign != 0 || !self.opening.has(0),
            (StateNumber::File(then), CommitCount::Log(_)) => {
                self.last_foreign != 0 || !self.opening.has(then)
            }
            (StateNumber::File(then), CommitCount::File(_)) => is_after(self.last_foreign, then),
            (StateNumber::Log { .. }, CommitCount::File(_)) => true,
            (StateNumber::Log { era, count }, CommitCount::Log(_)) => {
                era != self.era || is_after(self.last_foreign, count)
            }
        }
    }
}

/// What the number of a state says.
enum StateNumber {
    NoFile,
    File(u32),
    Log { era: u32, count: u32 },
    Unknown,
}

impl StateNumber {
    const ERA_MAX: u32 = (1 << 30) - 1;

    fn at(count: CommitCount, era: u32) -> Self {
        match count {
            CommitCount::File(count) => Self::File(count),
            CommitCount::Log(log) => Self::Log {
                era,
                count: log.commits,
            },
        }
    }

    fn id(&self) -> StateId {
        let (kind, era, count) = match *self {
            Self::NoFile => (0, 0, 0),
            Self::File(count) => (1, 0, count),
            Self::Log { era, count } => (2, era, count),
            Self::Unknown => return StateId::UNKNOWN,
        };
        StateId(kind << 62 | u64::from(era) << 32 | u64::from(count))
    }

    fn of(StateId(id): StateId) -> Self {
        // The upper and the lower half.
        let (high, count) = ((id >> 32) as u32, (id & 0xFFFF_FFFF) as u32);
        let era = high & Self::ERA_MAX;
        match high >> 30 {
            0 => Self::NoFile,
            1 => Self::File(count),
            2 => Self::Log { era, count },
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests;
