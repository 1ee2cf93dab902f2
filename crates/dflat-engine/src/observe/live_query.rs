//! A live query, and who follows it.

use std::sync::Arc;

use dflat_model::{CommitSeq, Query, RowId, Table};
use smallvec::SmallVec;

use super::changed_rows::ChangedRows;
use super::merge::Scratch;
use super::shape::ShapedQuery;
use super::subscriber::Subscriber;
use super::{Event, LiveCount, LiveResult};
use crate::change_set::TableChanges;
use crate::error::Result;
use crate::fetch::Fetched;
use crate::object::Object;

/// Reads what a change set does not tell.
pub trait Refetch {
    /// The objects of a query, as of a commit that is known exactly.
    ///
    /// # Errors
    /// As reading can fail.
    fn fetch(&self, table: &Table, query: &Query) -> Result<Fetched>;

    /// The number of a query's objects, as of a commit that is known exactly.
    ///
    /// # Errors
    /// As reading can fail.
    fn count(&self, table: &Table, query: &Query) -> Result<(usize, CommitSeq)>;

    /// The objects with these row ids, each on its own, as of a commit that is known exactly.
    ///
    /// # Errors
    /// As reading can fail.
    fn objects(
        &self,
        table: &Table,
        row_ids: &[RowId],
    ) -> Result<(Vec<Result<Option<Object>>>, CommitSeq)>;
}

/// What follows the commits.
pub(super) enum LiveOutput {
    Result(LiveResult),
    Count(LiveCount),
}

impl LiveOutput {
    pub(super) fn query(&self) -> &ShapedQuery {
        match self {
            Self::Result(live) => live.query(),
            Self::Count(live) => live.query(),
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        match self {
            Self::Result(live) => live.is_failed(),
            Self::Count(live) => live.is_failed(),
        }
    }

    /// Follows a commit: what is to be told, if anything.
    pub(super) fn follow(
        &mut self,
        (changes, seq): (&TableChanges, CommitSeq),
        changed: ChangedRows,
        scratch: &mut Scratch,
        reread: &dyn Refetch,
    ) -> Option<Event> {
        match self {
            Self::Result(live) => {
                let refetch = |table: &Table, query: &Query| reread.fetch(table, query);
                let told = live.follow((changes, seq), changed, scratch, refetch);
                told.transpose()
                    .map(|told| Event::Result(told.map(Box::new)))
            }
            Self::Count(live) => {
                let count = |table: &Table, query: &Query| reread.count(table, query);
                let told = live.follow(&changes.table, seq, &changed, count);
                told.transpose().map(|count| Event::Count(count, 1))
            }
        }
    }

    /// Reads it again: what is to be told, if anything.
    pub(super) fn renew(&mut self, table: &Table, reread: &dyn Refetch) -> Option<Event> {
        match self {
            Self::Result(live) => {
                let told = live.renew(table, |table, query| reread.fetch(table, query));
                told.transpose()
                    .map(|told| Event::Result(told.map(Box::new)))
            }
            Self::Count(live) => {
                let told = live.renew(table, |table, query| reread.count(table, query));
                told.transpose().map(|count| Event::Count(count, 1))
            }
        }
    }
}

/// A live query and its subscribers.
pub(super) struct LiveQuery {
    pub(super) live: LiveOutput,
    /// Mostly one, which takes no memory elsewhere.
    pub(super) subscribers: SmallVec<[Arc<Subscriber>; 1]>,
}
