//! Live counts: the number of a query's objects, kept up to date by commits.

use dflat_model::{CommitSeq, Query, Table};

use super::super::matching::{ChangedRows, ShapedQuery};
use crate::error::Result;

/// The number of a query's objects as of the latest commit. It keeps no objects.
pub struct LiveCount {
    query: ShapedQuery,
    /// The number of objects that meet the condition, without regard to the window.
    total: usize,
    delivered: usize,
    seq: CommitSeq,
    /// Whether counting has failed, so that the total is unknown.
    failed: bool,
}

/// The query without its window, whose objects are counted.
#[must_use]
pub fn unlimited(query: &Query) -> Query {
    Query {
        offset: 0,
        limit: None,
        ..query.clone()
    }
}

impl LiveCount {
    /// The live count of a query. `total` is the number of its objects without the window, as of a
    /// commit; `None` if counting failed.
    #[must_use]
    pub fn new(query: ShapedQuery, total: Option<(usize, CommitSeq)>) -> Self {
        let mut live = Self {
            query,
            total: 0,
            delivered: 0,
            seq: CommitSeq(0),
            failed: total.is_none(),
        };
        if let Some((total, seq)) = total {
            (live.total, live.seq) = (total, seq);
            live.delivered = live.within();
        }
        live
    }

    pub(in super::super) fn query(&self) -> &ShapedQuery {
        &self.query
    }

    pub(in super::super) fn is_failed(&self) -> bool {
        self.failed
    }

    /// The count, unless counting has failed.
    pub(in super::super) fn current(&self) -> Option<usize> {
        (!self.failed).then_some(self.delivered)
    }

    fn within(&self) -> usize {
        let Query { offset, limit, .. } = *self.query.frame();
        let rest = self.total.saturating_sub(offset);
        limit.map_or(rest, |limit| rest.min(limit))
    }

    /// Applies a commit. Returns the new count, or `None` if it is unchanged.
    pub(in super::super) fn follow(
        &mut self,
        table: &Table,
        seq: CommitSeq,
        changed: &ChangedRows,
        count: impl FnOnce(&Table, &Query) -> Result<(usize, CommitSeq)>,
    ) -> Result<Option<usize>> {
        let missed = self.failed;
        if missed {
            // An error is delivered once.
            let Ok((total, seq)) = count(table, &unlimited(&self.query.query())) else {
                return Ok(None);
            };
            (self.total, self.seq, self.failed) = (total, seq, false);
        } else if seq > self.seq {
            self.seq = seq;
            self.total = (self.total + changed.after.len()).saturating_sub(changed.before.len());
        }
        Ok(self.deliver(missed))
    }

    /// Counts again. Returns the new count, or `None` if it is unchanged.
    pub(in super::super) fn renew(
        &mut self,
        table: &Table,
        count: impl FnOnce(&Table, &Query) -> Result<(usize, CommitSeq)>,
    ) -> Result<Option<usize>> {
        let missed = std::mem::replace(&mut self.failed, true);
        match count(table, &unlimited(&self.query.query())) {
            Ok((total, seq)) => {
                (self.total, self.seq, self.failed) = (total, seq, false);
                Ok(self.deliver(missed))
            }
            // An error is delivered once.
            Err(_) if missed => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn deliver(&mut self, missed: bool) -> Option<usize> {
        let delivered = self.delivered;
        self.delivered = self.within();
        (missed || delivered != self.delivered).then_some(self.delivered)
    }
}
