//! Follows other processes: change records in, the changes of their commits out.
//!
//! A record has the state of each row before its transaction. The state after the latest record of
//! a row is in the snapshot from which the records are read; going back from there, the state
//! before a record is the state after the next older one. Payloads are verified, and differences
//! check the hashes of both sides. If anything does not fit, the commits cannot be followed, and
//! the caller reads again.

mod collect;
mod noted;
mod rebuild;

use dflat_model::{CommitSeq, Table, Value};
use smallvec::SmallVec;

use crate::change_set::{RereadTable, TableChanges};
use crate::error::Result;
use crate::storage::{Records, Snapshot, StateId};

use collect::Collector;

/// The commits to follow.
pub struct Follow<'f> {
    /// The state up to which all commits of other engines are known.
    pub since: StateId,
    /// This engine in change records. Its own commits are known.
    pub record_engine: u64,
    /// This engine among the engines of the process.
    pub engine: u64,
    /// The latest commit that has a number.
    pub seq: CommitSeq,
    /// The tables whose rows are needed, by name.
    pub observed: &'f dyn Fn(&str) -> Option<Table>,
    /// All these tables.
    pub all_observed: &'f dyn Fn() -> Vec<Table>,
    /// Whether the keys of a table's changed rows are wanted, by name; true for at most one table.
    pub listened: &'f dyn Fn(&str) -> bool,
    /// The largest number of bytes of the records to read.
    pub bytes_max: usize,
}

/// A commit of another engine.
#[derive(Debug)]
pub struct FollowedCommit {
    /// The changes to observed tables.
    pub tables: SmallVec<[TableChanges; 1]>,
    /// The names of all tables that the commit changed.
    pub names: Vec<String>,
}

/// The commits of other programs, as far as they are known.
#[derive(Debug)]
pub enum Followed {
    /// Commits that are known one by one.
    Commits {
        /// The commits of other engines, the first one first.
        commits: Vec<FollowedCommit>,
        /// The primary keys of the rows that they have changed in the table whose keys are wanted;
        /// `None` if these keys are not known or too many.
        keys: Option<Vec<Vec<Value>>>,
    },
    /// Commits that are not known one by one. They have written nothing but rows of these tables,
    /// as far as the tables are observed.
    Rows(Vec<RereadTable>),
    /// Anything.
    Unknown,
}

impl Follow<'_> {
    /// The commits of other programs up to the state that a pinned snapshot sees. Objects have the
    /// commit numbers that follow `seq`; rows that are not known by their commits count as one
    /// commit.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn commits(&self, snapshot: &mut dyn Snapshot) -> Result<Followed> {
        let mut collector = Collector::new(self);
        let records = snapshot.records(self.since, &mut |record| collector.visit(record))?;
        let Some(collected) = collector.finish() else {
            return Ok(Followed::Unknown);
        };
        match records {
            // The rows before a transaction would not be those after the transaction before.
            Records::Complete if !collected.foreign_tables.is_empty() => Ok(Followed::Unknown),
            Records::Complete => {
                let commits = rebuild::commits(self, snapshot, &collected)?;
                let keys = collected.keys;
                let known = |commits| Followed::Commits { commits, keys };
                Ok(commits.map_or(Followed::Unknown, known))
            }
            Records::Noted => {
                let observed = (self.all_observed)();
                noted::tables(self, snapshot, &collected, observed).map(Followed::Rows)
            }
            Records::Broken => Ok(Followed::Unknown),
        }
    }
}

#[cfg(test)]
mod tests;
