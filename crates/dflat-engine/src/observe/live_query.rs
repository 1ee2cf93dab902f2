//! A live query and its subscribers.

use std::sync::Arc;

use dflat_model::{CommitSeq, Query, RowId, Table};
use smallvec::SmallVec;

use super::matching::{ChangedRows, ShapedQuery};
use super::result::Scratch;
use super::subscriber::Subscriber;
use super::{Event, LiveCount, LiveGroups, LiveResult};
use crate::change_set::TableChanges;
use crate::error::Result;
use crate::fetch::{Fetched, Grouping, Groups};
use crate::object::Object;

/// Reads the state again where a change set is not enough.
pub trait Refetch {
    /// The objects of a query, and the commit that they are as of.
    ///
    /// # Errors
    /// The errors of reading.
    fn fetch(&self, table: &Table, query: &Query) -> Result<Fetched>;

    /// The number of a query's objects, and the commit that it is as of.
    ///
    /// # Errors
    /// The errors of reading.
    fn count(&self, table: &Table, query: &Query) -> Result<(usize, CommitSeq)>;

    /// The groups of a query's objects, and the commit that they are as of.
    ///
    /// # Errors
    /// The errors of reading.
    fn groups(
        &self,
        table: &Table,
        query: &Query,
        grouping: &Arc<Grouping>,
    ) -> Result<(Groups, CommitSeq)>;

    /// The objects with these row ids, each allocated alone, and the commit that they are as of.
    ///
    /// # Errors
    /// The errors of reading.
    fn objects(
        &self,
        table: &Table,
        row_ids: &[RowId],
    ) -> Result<(Vec<Result<Option<Object>>>, CommitSeq)>;

    /// The object with the primary key of this one, and the commit that it is as of.
    ///
    /// # Errors
    /// The errors of reading.
    fn find(&self, table: &Table, known: &Object) -> Result<(Option<Object>, CommitSeq)>;
}

/// The result, the count or the groups of a live query.
pub(super) enum LiveOutput {
    Result(LiveResult),
    Count(LiveCount),
    /// Boxed, because it is larger than the others, and rarer.
    Groups(Box<LiveGroups>),
}

impl LiveOutput {
    pub(super) fn query(&self) -> &ShapedQuery {
        match self {
            Self::Result(live) => live.query(),
            Self::Count(live) => live.query(),
            Self::Groups(live) => live.query(),
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        match self {
            Self::Result(live) => live.is_failed(),
            Self::Count(live) => live.is_failed(),
            Self::Groups(live) => live.is_failed(),
        }
    }

    /// Applies a commit. Returns the event to deliver, if there is one.
    pub(super) fn follow(
        &mut self,
        (changes, seq): (&TableChanges, CommitSeq),
        changed: ChangedRows,
        scratch: &mut Scratch,
        state: &dyn Refetch,
    ) -> Option<Event> {
        match self {
            Self::Result(live) => {
                let refetch = |table: &Table, query: &Query| state.fetch(table, query);
                let update = live.follow((changes, seq), changed, scratch, refetch);
                update
                    .transpose()
                    .map(|update| Event::Result(update.map(Box::new)))
            }
            Self::Count(live) => {
                let count = |table: &Table, query: &Query| state.count(table, query);
                let update = live.follow(&changes.table, seq, &changed, count);
                update.transpose().map(|count| Event::Count(count, 1))
            }
            Self::Groups(live) => {
                let rows = (&changes.table, changes.rows.as_slice());
                let update = live.follow(rows, seq, &changed, |table, query, grouping| {
                    state.groups(table, query, grouping)
                });
                update.transpose().map(|groups| Event::Groups(groups, 1))
            }
        }
    }

    /// Reads the result or count again. Returns the event to deliver, if there is one.
    pub(super) fn renew(&mut self, table: &Table, state: &dyn Refetch) -> Option<Event> {
        match self {
            Self::Result(live) => {
                let update = live.renew(table, |table, query| state.fetch(table, query));
                update
                    .transpose()
                    .map(|update| Event::Result(update.map(Box::new)))
            }
            Self::Count(live) => {
                let update = live.renew(table, |table, query| state.count(table, query));
                update.transpose().map(|count| Event::Count(count, 1))
            }
            Self::Groups(live) => {
                let update = live.renew(table, |table, query, grouping| {
                    state.groups(table, query, grouping)
                });
                update.transpose().map(|groups| Event::Groups(groups, 1))
            }
        }
    }
}

/// A live query and its subscribers.
pub(super) struct LiveQuery {
    pub(super) live: LiveOutput,
    /// Mostly one subscriber, which takes no allocation.
    pub(super) subscribers: SmallVec<[Arc<Subscriber>; 1]>,
}
