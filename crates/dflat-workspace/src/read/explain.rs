//! Plans of queries, described in text.

use std::fmt;

use dflat_engine::fetch::{self, AccessPath, Plan};
use dflat_engine::storage::View;
use dflat_model::{Query, Table};

use super::Fetch;
use crate::Result;

/// How a query reaches its objects, made by [`Fetch::explain`]. It prints as a line of text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// Which rows are visited.
    pub access: Access,
    /// The condition that is checked on each visited row; `None` if nothing is left to check.
    pub check: Option<String>,
    /// Whether rows have to be sorted, because they do not come in the query's order.
    pub sorts: bool,
    /// The first keys of the query's order, if the query has a limit, and rows come sorted by these
    /// keys: no further row is read when the wanted ones are known.
    pub sorts_within: Vec<String>,
    /// The maximum number of objects that are kept while sorting, if the query has a limit.
    pub keeps: Option<usize>,
    /// The number of foreign rows, which are read one by one besides the keys, because another
    /// program wrote them past the indexes. The next write of the type adds them to the indexes.
    pub foreign_rows: usize,
    /// The number of objects after which the query stops following its key and reads all rows
    /// instead; `None` if its ranges hold no more objects than that.
    pub given_up_after: Option<usize>,
}

/// Which rows a query visits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Access {
    /// No rows: the condition can't be true.
    Nothing,
    /// All rows, or those after a cursor position in the order of insertion.
    Rows,
    /// The rows of ranges of a key.
    Key(KeyUse),
    /// The rows that are in at least one of several ranges, found by their keys and then read in
    /// the order of insertion.
    Union(Vec<KeyUse>),
    /// The rows that are in all of several ranges, read in the same way.
    Intersection(Vec<KeyUse>),
}

/// The use of a key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KeyUse {
    /// The key, such as `the primary key` or `the index on priority`.
    pub key: String,
    /// The number of the key's ranges that are read, single values included.
    pub ranges: usize,
}

impl Fetch<'_> {
    /// How the query would be run now, without running it. The plan depends on which indexes are
    /// ready and, where there is a choice, on how many rows they have.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn explain(&self) -> Result<Explanation> {
        let (table, query) = (&self.table, &self.query);
        let plan = self.source.read(table, View::Pinned, |snapshot, _| {
            fetch::explain(snapshot, table, query, &self.control)
        })?;
        let keeps = query.limit.map(|limit| query.offset.saturating_add(limit));
        Ok(Explanation::new((table, query), plan, keeps))
    }
}

impl Explanation {
    fn new(
        (table, query): (&Table, &Query),
        (plan, given_up): (Plan, Option<usize>),
        keeps: Option<usize>,
    ) -> Self {
        let within = query.order.iter().take(plan.order.presorted());
        let use_of = |access: &fetch::KeyAccess| KeyUse {
            key: access.name(table),
            ranges: access.ranges.len(),
        };
        let uses = |parts: &[fetch::KeyAccess]| parts.iter().map(use_of).collect();
        Self {
            access: match &plan.access {
                AccessPath::Nothing => Access::Nothing,
                AccessPath::Rows(_) => Access::Rows,
                AccessPath::Key(access) => Access::Key(use_of(access)),
                AccessPath::Union(parts) => Access::Union(uses(parts)),
                AccessPath::Intersection(parts) => Access::Intersection(uses(parts)),
            },
            check: plan.residual.map(|residual| residual.to_string()),
            sorts: !plan.order.is_sorted(),
            sorts_within: within.map(|order| order.key.to_string()).collect(),
            keeps: keeps.filter(|_| !plan.order.is_sorted()),
            foreign_rows: plan.foreign_rows.len(),
            given_up_after: given_up,
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.access.fmt(f)?;
        if self.foreign_rows > 0 {
            write!(f, " and {} foreign rows", self.foreign_rows)?;
        }
        if let Some(count) = self.given_up_after {
            write!(f, ", all rows after {count}")?;
        }
        if let Some(check) = &self.check {
            write!(f, ", check {check}")?;
        }
        if !self.sorts {
            return Ok(());
        }
        f.write_str(", sort")?;
        if !self.sorts_within.is_empty() {
            write!(f, " within equal {}", self.sorts_within.join(", "))?;
        }
        match self.keeps {
            None => Ok(()),
            Some(keeps) => write!(f, " and keep {keeps}"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, parts) = match self {
            Self::Nothing => return f.write_str("nothing"),
            Self::Rows => return f.write_str("all rows"),
            Self::Key(part) => return part.fmt(f),
            Self::Union(parts) if parts.len() == 1 => ("the order of insertion of ", parts),
            Self::Union(parts) => ("union of ", parts),
            Self::Intersection(parts) => ("intersection of ", parts),
        };
        f.write_str(what)?;
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                f.write_str(" and ")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for KeyUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranges {
            1 => write!(f, "range of {}", self.key),
            ranges => write!(f, "{ranges} ranges of {}", self.key),
        }
    }
}
