//! Live groups: the groups of a query's objects, kept up to date by commits.

use std::sync::Arc;

use dflat_model::{CommitSeq, Query, Table};

use super::super::matching::{ChangedRows, Rows, ShapedQuery, after, before};
use crate::error::Result;
use crate::fetch::{Group, Grouping, Groups};

/// The groups of a query's objects as of the latest commit. It keeps no objects.
pub struct LiveGroups {
    query: ShapedQuery,
    grouping: Arc<Grouping>,
    /// `None` if reading has failed, so that the groups are unknown.
    groups: Option<Groups>,
    /// The groups of the last delivery.
    delivered: Arc<[Group]>,
    seq: CommitSeq,
}

impl LiveGroups {
    /// The live groups of a query, which start with `groups` as of a commit; `None` if reading them
    /// failed.
    #[must_use]
    pub fn new(
        query: ShapedQuery,
        grouping: Arc<Grouping>,
        groups: Option<(Groups, CommitSeq)>,
    ) -> Self {
        let (groups, seq) = groups.unzip();
        Self {
            query,
            grouping,
            delivered: groups
                .as_ref()
                .map(Groups::to_list)
                .unwrap_or_default()
                .into(),
            groups,
            seq: seq.unwrap_or(CommitSeq(0)),
        }
    }

    pub(in super::super) fn query(&self) -> &ShapedQuery {
        &self.query
    }

    pub(in super::super) fn is_failed(&self) -> bool {
        self.groups.is_none()
    }

    /// The groups, unless reading has failed.
    pub(in super::super) fn current(&self) -> Option<Arc<[Group]>> {
        self.groups.as_ref().map(|_| Arc::clone(&self.delivered))
    }

    /// Applies a commit. Returns the new groups, or `None` if they are unchanged.
    pub(in super::super) fn follow(
        &mut self,
        (table, rows): (&Table, Rows<'_>),
        seq: CommitSeq,
        changed: &ChangedRows,
        read: impl FnOnce(&Table, &Query, &Arc<Grouping>) -> Result<(Groups, CommitSeq)>,
    ) -> Result<Option<Arc<[Group]>>> {
        let missed = self.groups.is_none();
        if let Some(groups) = &mut self.groups {
            if seq <= self.seq {
                return Ok(None);
            }
            self.seq = seq;
            let before = changed.before.iter().filter_map(|row| before(rows, *row));
            let after = changed.after.iter().filter_map(|row| after(rows, *row));
            match groups.replace(before, after) {
                Ok(false) => return Ok(None),
                Ok(true) => return Ok(self.deliver(missed)),
                // Objects are verified, so that every value can be read; if not, they are read
                // again.
                Err(_) => self.groups = None,
            }
        }
        self.read_again(table, missed, read)
    }

    /// Reads the groups again. Returns them, or `None` if they are unchanged.
    pub(in super::super) fn renew(
        &mut self,
        table: &Table,
        read: impl FnOnce(&Table, &Query, &Arc<Grouping>) -> Result<(Groups, CommitSeq)>,
    ) -> Result<Option<Arc<[Group]>>> {
        let missed = self.groups.take().is_none();
        self.read_again(table, missed, read)
    }

    /// Reads the groups, which are unknown. `missed` says whether that failed before.
    fn read_again(
        &mut self,
        table: &Table,
        missed: bool,
        read: impl FnOnce(&Table, &Query, &Arc<Grouping>) -> Result<(Groups, CommitSeq)>,
    ) -> Result<Option<Arc<[Group]>>> {
        match read(table, &self.query.query(), &self.grouping) {
            Ok((groups, seq)) => {
                (self.groups, self.seq) = (Some(groups), seq);
                Ok(self.deliver(missed))
            }
            // An error is delivered once.
            Err(_) if missed => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn deliver(&mut self, missed: bool) -> Option<Arc<[Group]>> {
        let list = self.groups.as_ref()?.to_list();
        if !missed && *list == *self.delivered {
            return None;
        }
        self.delivered = list.into();
        Some(Arc::clone(&self.delivered))
    }
}
