//! The number of a query's objects, which follows the commits.

use dflat_model::{CommitSeq, Query, Table};

use super::changed_rows::ChangedRows;
use super::shape::ShapedQuery;
use crate::error::Result;

/// The number of a query's objects as of the latest commit. It holds none of them.
pub struct LiveCount {
    query: ShapedQuery,
    /// How many meet the condition, whatever the window.
    total: usize,
    told: usize,
    seq: CommitSeq,
    /// Counting has failed, so that the total is not known.
    failed: bool,
}

/// The query whose objects are counted: the same without its window.
#[must_use]
pub fn unlimited(query: &Query) -> Query {
    Query {
        offset: 0,
        limit: None,
        ..query.clone()
    }
}

impl LiveCount {
    /// The count of a query, which `total` objects meet without its window as of a commit; unless
    /// they could not be counted.
    #[must_use]
    pub fn new(query: ShapedQuery, total: Option<(usize, CommitSeq)>) -> Self {
        let mut live = Self {
            query,
            total: 0,
            told: 0,
            seq: CommitSeq(0),
            failed: total.is_none(),
        };
        if let Some((total, seq)) = total {
            (live.total, live.seq) = (total, seq);
            live.told = live.within();
        }
        live
    }

    pub(super) fn query(&self) -> &ShapedQuery {
        &self.query
    }

    pub(super) fn is_failed(&self) -> bool {
        self.failed
    }

    /// What the count is, unless counting has failed.
    pub(super) fn current(&self) -> Option<usize> {
        (!self.failed).then_some(self.told)
    }

    fn within(&self) -> usize {
        let Query { offset, limit, .. } = *self.query.frame();
        let rest = self.total.saturating_sub(offset);
        limit.map_or(rest, |limit| rest.min(limit))
    }

    /// Follows a commit: the new count, or `None` if it is the same.
    pub(super) fn follow(
        &mut self,
        table: &Table,
        seq: CommitSeq,
        changed: &ChangedRows,
        count: impl FnOnce(&Table, &Query) -> Result<(usize, CommitSeq)>,
    ) -> Result<Option<usize>> {
        let missed = self.failed;
        if missed {
            // An error is told once.
            let Ok((total, seq)) = count(table, &unlimited(&self.query.query())) else {
                return Ok(None);
            };
            (self.total, self.seq, self.failed) = (total, seq, false);
        } else if seq > self.seq {
            self.seq = seq;
            self.total = (self.total + changed.after.len()).saturating_sub(changed.before.len());
        }
        Ok(self.tell(missed))
    }

    /// Counts again, whatever has become of it: the new count, or `None` if it is the same.
    pub(super) fn renew(
        &mut self,
        table: &Table,
        count: impl FnOnce(&Table, &Query) -> Result<(usize, CommitSeq)>,
    ) -> Result<Option<usize>> {
        let missed = std::mem::replace(&mut self.failed, true);
        match count(table, &unlimited(&self.query.query())) {
            Ok((total, seq)) => {
                (self.total, self.seq, self.failed) = (total, seq, false);
                Ok(self.tell(missed))
            }
            // An error is told once.
            Err(_) if missed => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn tell(&mut self, missed: bool) -> Option<usize> {
        let told = self.told;
        self.told = self.within();
        (missed || told != self.told).then_some(self.told)
    }
}
