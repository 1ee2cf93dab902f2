//! Distinguishes foreign commits, made by other connections and processes, from commits of this
//! backend.
//!
//! SQLite counts the commits to a file: in the index of its write-ahead log, or, without one, in
//! the file's header. Each write transaction compares the count at its start with the one after
//! this backend's previous commit: if the counts differ, there was a foreign commit, and the count
//! is that of the latest one. A state that was read earlier is overtaken if its count is smaller.
//! Checkpoints are not counted, because they do not change the contents.
//!
//! A file that is read without its log's shared index has no count that can be relied on: not every
//! commit to a log changes the count in the header. Its size and its times tell its states apart.
//!
//! A log is deleted when its last connection closes, and its count is lost. The next log has
//! another salt. An empty log has no salt: then the size, the time and the header of the file show
//! whether there was a foreign commit in between.

mod count;
mod header;
mod state_number;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dflat_engine::storage::StateId;

use crate::ffi::LogCount;

pub(crate) use count::CommitCount;
use count::is_after;
pub(crate) use header::{FileHeader, OpeningCounts};
use state_number::StateNumber;
pub(crate) use state_number::short_digest;

/// The commits to a file, as far as a backend knows of them.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    known: Mutex<KnownCommits>,
}

#[derive(Debug, Default)]
struct KnownCommits {
    /// The count when this backend's latest write transaction ended.
    last: Option<CommitCount>,
    /// The count after the latest foreign commit that was noticed.
    last_foreign: u32,
    /// How often the counts of the file began anew, as after the crash of another process.
    era: u32,
    /// The log whose count was seen last, if the log has a salt.
    log: Option<LogCount>,
    /// A hash of the size, time and header of the file when a connection found an empty log.
    file: Option<u64>,
    /// The counts around the moment when this backend first opened the file to write.
    opening: Option<OpeningCounts>,
    /// There may have been a foreign commit that no transaction was notified of yet.
    foreign_write: bool,
    /// This backend may have committed since `last` without noting it yet.
    writes: bool,
    /// The latest runs of own commits, the latest one last.
    own_runs: VecDeque<OwnRun>,
}

/// The most runs of own commits that are known.
const OWN_RUNS_MAX: usize = 8;

/// Own commits without a foreign commit in between: those from one count up to another.
#[derive(Clone, Copy, Debug)]
struct OwnRun {
    era: u32,
    from: u32,
    to: u32,
}

impl OwnRun {
    /// Whether the commit after this count belongs to the run.
    fn contains(self, count: u32) -> bool {
        count.wrapping_sub(self.from) < self.to.wrapping_sub(self.from)
    }
}

/// A state of a file with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogState {
    /// The number of commits before it.
    pub(crate) commits: u32,
    /// The short digest of the log.
    pub(crate) digest: u32,
}

/// The state on which a write transaction is based.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitBase {
    count: CommitCount,
    last_foreign: u32,
    era: u32,
    opening: OpeningCounts,
    follows_own: bool,
}

impl KnownCommits {
    /// Notes a count that was read. A log that another process created counts anew.
    fn see(&mut self, count: CommitCount) {
        // While this backend writes, no other connection does: a log created then is its own.
        if let CommitCount::Log(log) = count
            && log.salt != 0
            && !self.writes
        {
            let before = self.log.replace(log).map(CommitCount::Log);
            if before.is_some_and(|before| !count.is_of_log(before)) {
                self.era = (self.era + 1) & StateNumber::ERA_MAX;
                // The next transaction must not take this log for another one once more.
                self.last = None;
            }
        }
    }
}

impl KnownCommits {
    /// Whether this is the count when this backend's latest write transaction ended.
    fn is_last(&self, count: CommitCount) -> bool {
        let is_last = |last: CommitCount| last.number() == count.number() && last.is_of_log(count);
        self.last.is_some_and(is_last)
    }

    /// Notes an own commit on a state.
    fn note_own(&mut self, base: CommitBase) {
        let (era, from) = (base.era, base.count.number());
        let to = from.wrapping_add(1);
        match self.own_runs.back_mut() {
            Some(run) if (run.era, run.to) == (era, from) => run.to = to,
            _ => {
                if self.own_runs.len() == OWN_RUNS_MAX {
                    self.own_runs.pop_front();
                }
                self.own_runs.push_back(OwnRun { era, from, to });
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

    /// Notes the hash of the file when a connection found an empty log.
    pub(crate) fn note_empty_log(&self, file: u64) {
        let mut known = self.lock();
        if known
            .file
            .replace(file)
            .is_some_and(|before| before != file)
        {
            // The file was changed, maybe by this backend, while all connections were closed.
            known.era = (known.era + 1) & StateNumber::ERA_MAX;
            known.last = None;
        }
    }

    /// Notes the start of a write transaction, during which no other connection commits.
    pub(crate) fn note_begin(&self, count: CommitCount) -> CommitBase {
        let mut known = self.lock();
        known.see(count);
        known.writes = true;
        let follows_own = known.is_last(count);
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

    /// Notes the start of a write transaction whose base state is unknown, so that a foreign commit
    /// is assumed.
    pub(crate) fn note_doubt(&self) {
        let mut known = self.lock();
        known.foreign_write = true;
        known.last = None;
    }

    /// Whether there may have been a foreign commit since the last call, or before the first one.
    pub(crate) fn take_foreign_write(&self) -> bool {
        std::mem::take(&mut self.lock().foreign_write)
    }

    /// The state with this count, which was read just now, if there was no foreign commit since
    /// this backend's latest write transaction began, and that transaction has ended and was
    /// notified of the foreign commits before it.
    pub(crate) fn own_state(&self, count: CommitCount) -> Option<StateId> {
        let known = self.lock();
        let is_certain = !known.writes && !known.foreign_write && known.is_last(count);
        is_certain.then(|| StateNumber::at(count, known.era).id())
    }

    /// Notes that a commit outside of a write transaction follows.
    pub(crate) fn note_alone(&self) {
        self.lock().writes = true;
    }

    /// Notes the end of a write transaction, after its commit was noted.
    pub(crate) fn note_end(&self) {
        self.lock().writes = false;
    }

    /// Whether there may have been a foreign commit after the state `since` and up to the state
    /// with this count, which was read just now.
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

    /// Notes the commit of a write transaction that wrote something, and the count of its log.
    pub(crate) fn note_commit(&self, commit_base: CommitBase, now: Option<CommitCount>) {
        let mut last = commit_base.count.next();
        // A log without a salt gets it from the commit. The count that was read just now may
        // include a foreign commit.
        if let (CommitCount::Log(log), Some(CommitCount::Log(LogCount { salt, .. }))) =
            (&mut last, now)
        {
            log.salt = salt;
        }
        let mut known = self.lock();
        known.last = Some(last);
        known.note_own(commit_base);
        if let CommitCount::Log(log) = last
            && log.salt != 0
        {
            known.log = Some(log);
        }
    }

    /// Forgets all counts when a connection is opened after all were closed. The log may have ended
    /// with its count; or SQLite builds the log's index again, whose count begins anew.
    pub(crate) fn begin_anew(&self) {
        let mut known = self.lock();
        *known = KnownCommits {
            era: (known.era + 1) & StateNumber::ERA_MAX,
            foreign_write: true,
            ..KnownCommits::default()
        };
    }

    /// The first count of the run of own commits to which the commit after a count belongs.
    pub(crate) fn own_run(&self, count: u32) -> Option<u32> {
        let known = self.lock();
        let mut runs = known.own_runs.iter().rev();
        let run = runs.find(|run| run.era == known.era && run.contains(count))?;
        Some(run.from)
    }

    /// The state `since`, if the log that has counted `now` counts from it on.
    pub(crate) fn log_state(&self, now: CommitCount, since: StateId) -> Option<LogState> {
        let mut known = self.lock();
        known.see(now);
        match (StateNumber::of(since), now) {
            (StateNumber::Log { era, digest, count }, CommitCount::Log(_)) if era == known.era => {
                Some(LogState {
                    commits: count,
                    digest,
                })
            }
            _ => None,
        }
    }

    /// The id of the state with this count.
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
    /// Whether there was no foreign commit since this backend's previous transaction.
    pub(crate) fn follows_own(self) -> bool {
        self.follows_own
    }

    /// The count of the base state.
    pub(crate) fn count(self) -> CommitCount {
        self.count
    }

    /// The id of the base state.
    pub(crate) fn state(self) -> StateId {
        StateNumber::at(self.count, self.era).id()
    }

    /// Whether there was a foreign commit since a state was current.
    pub(crate) fn is_overtaken(self, since: StateId) -> bool {
        match (StateNumber::of(since), self.count) {
            (StateNumber::Unknown, _) => false,
            // Equal stamps are one state, which the caller has found out.
            (StateNumber::Stamps(_), _) | (_, CommitCount::Stamps(_)) => true,
            // Opening the file to write gave it a log, whose count starts at 0.
            (StateNumber::NoFile, _) => self.last_foreign != 0 || !self.opening.has(0),
            (StateNumber::File(then), CommitCount::Log(_)) => {
                self.last_foreign != 0 || !self.opening.has(then)
            }
            (StateNumber::File(then), CommitCount::File(_)) => is_after(self.last_foreign, then),
            (StateNumber::Log { .. }, CommitCount::File(_)) => true,
            (StateNumber::Log { era, count, .. }, CommitCount::Log(_)) => {
                era != self.era || is_after(self.last_foreign, count)
            }
        }
    }
}

#[cfg(test)]
mod tests;
