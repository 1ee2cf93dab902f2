//! Live results: the result of a query, kept up to date by commits.

use std::ops::Range;
use std::sync::Arc;

use dflat_model::{CommitSeq, Query, Table};

use super::super::matching::{ChangedRows, Interest, Rows, ShapedQuery, after, before};
use super::boundary::BoundaryObject;
use super::difference::{Difference, list_difference};
use super::merge::{List, Scratch};
use crate::change_set::TableChanges;
use crate::error::Result;
use crate::fetch::Fetched;
use crate::object::Object;

/// The smallest and the largest number of objects that are kept on either side of a window. Between
/// these limits, as many are kept as the window has, so that a window is fetched again only after
/// as many deletions as it has objects.
const MARGIN: Range<usize> = 4..1024;

/// A result as of a commit, and its difference from the result delivered before.
#[derive(Clone, Debug)]
pub struct ResultUpdate {
    /// The query.
    pub query: ShapedQuery,
    /// The result.
    pub fetched: Fetched,
    /// The difference from the result delivered before, or from an empty one.
    pub difference: Difference,
    /// The number of commits that have changed the result since then.
    pub commits: u64,
}

/// The result of a query as of the latest commit.
///
/// It has a run of the objects that meet the condition, in order. These are all such objects, or,
/// if the query has a window, the window's and some on either side, so that most changes need no
/// fetch.
pub struct LiveResult {
    query: ShapedQuery,
    /// The objects of the run, shared with the delivered result if the window has all of them.
    /// After a fetch has failed, the result delivered last.
    held: Arc<Vec<Object>>,
    /// The number of objects before the run.
    below: usize,
    /// Whether no objects come after the run.
    complete: bool,
    /// The engine whose commits are applied, once it is known.
    engine: u64,
    /// The commit that the run is as of.
    seq: CommitSeq,
    /// Whether a fetch has failed.
    failed: bool,
    /// The number of objects that may still leave the run before the remaining ones are copied out
    /// of the chunks that they were fetched in.
    leaving_max: u32,
}

/// The number of objects that are kept on either side of a window.
fn margin(limit: Option<usize>) -> usize {
    let limit = limit.unwrap_or(MARGIN.end);
    limit.clamp(MARGIN.start, MARGIN.end)
}

/// A window with the objects that are kept on either side of it.
fn wider(offset: usize, limit: Option<usize>) -> (usize, Option<usize>) {
    let margin = margin(limit);
    let start = offset.saturating_sub(margin);
    let end = offset.saturating_add(margin);
    (start, limit.map(|limit| limit.saturating_add(end) - start))
}

/// The objects of a window: the shared list, if the window has all of it, or a copy.
fn shown(held: &Arc<Vec<Object>>, window: Range<usize>) -> Arc<Vec<Object>> {
    if window == (0..held.len()) {
        return Arc::clone(held);
    }
    Arc::new(held.get(window).unwrap_or_default().to_vec())
}

/// Half of the length of a list.
fn half(objects: &[Object]) -> u32 {
    u32::try_from(objects.len() / 2).unwrap_or(u32::MAX)
}

/// The query with its window widened by the objects that a live result keeps on either side.
#[must_use]
pub fn with_margin(query: &Query) -> Query {
    let (offset, limit) = wider(query.offset, query.limit);
    Query {
        offset,
        limit,
        ..query.clone()
    }
}

impl LiveResult {
    /// A live result that starts from the result of the query, or, with `margin`, of
    /// [`with_margin`]. If that could not be fetched, it starts from the subscriber's objects.
    #[must_use]
    pub fn new(
        query: ShapedQuery,
        fetched: std::result::Result<&Fetched, Arc<Vec<Object>>>,
        margin: bool,
    ) -> Self {
        let Query { offset, limit, .. } = *query.frame();
        let (offset, limit) = if margin {
            wider(offset, limit)
        } else {
            (offset, limit)
        };
        let mut live = Self {
            below: offset,
            query,
            held: Arc::default(),
            complete: false,
            engine: 0,
            seq: CommitSeq(0),
            failed: false,
            leaving_max: 0,
        };
        match fetched {
            Err(known) => (live.held, live.failed) = (known, true),
            Ok(fetched) => {
                live.held = Arc::clone(&fetched.objects);
                live.leaving_max = half(&live.held);
                live.engine = fetched.engine;
                live.seq = fetched.seq;
                live.complete = limit.is_none_or(|limit| live.held.len() < limit);
            }
        }
        live
    }

    /// The result, unless a fetch has failed.
    pub(in super::super) fn current(&self) -> Option<Fetched> {
        let window = self.window().filter(|_| !self.failed)?;
        Some(self.fetched(shown(&self.held, window)))
    }

    /// All objects that meet the condition, if the result has all of them.
    pub(in super::super) fn all_objects(&self) -> Option<&[Object]> {
        (!self.failed && self.is_whole()).then_some(self.held.as_slice())
    }

    pub(in super::super) fn query(&self) -> &ShapedQuery {
        &self.query
    }

    fn interest(&self) -> &Interest {
        self.query.interest()
    }

    /// Whether the result must be fetched again at the next commit.
    pub(in super::super) fn is_failed(&self) -> bool {
        self.failed
    }

    /// The window's positions in the run; `None` if the run lacks a part of the window.
    fn window(&self) -> Option<Range<usize>> {
        let Query { offset, limit, .. } = *self.query.frame();
        let held = self.held.len();
        if self.held.is_empty() && self.below > 0 {
            // There may be fewer objects before the run than noted; the window is empty anyway.
            return (self.complete && self.below <= offset).then_some(0..0);
        }
        let start = offset.checked_sub(self.below)?;
        let end = limit.map(|limit| start.saturating_add(limit));
        match end {
            Some(end) if end <= held => Some(start..end),
            _ => self.complete.then(|| start.min(held)..held),
        }
    }

    /// Applies a commit that changed rows of the result. Returns the new result, or `None` if no
    /// observed value changed.
    ///
    /// # Errors
    /// The errors of `refetch`. The result is then fetched again at the next commit.
    pub(in super::super) fn follow(
        &mut self,
        (changes, seq): (&TableChanges, CommitSeq),
        changed: ChangedRows,
        scratch: &mut Scratch,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<ResultUpdate>> {
        if !self.failed && (self.is_empty() || seq <= self.seq) {
            return Ok(None);
        }
        let (table, rows) = (&changes.table, changes.rows.as_slice());
        if self.failed {
            let delivered = std::mem::take(&mut self.held);
            return self.fetch_again(table, delivered, true, refetch);
        }
        self.seq = seq;
        let old = self.window().unwrap_or_default();
        let Some(changed) = self.narrow(rows, changed) else {
            let delivered = shown(&self.held, old);
            return self.fetch_again(table, delivered, false, refetch);
        };
        if changed.before.is_empty() && changed.after.is_empty() && self.is_whole() {
            return Ok(None);
        }
        let order = &self.query.frame().order;
        let changed = changed.sorted(order, rows);
        let list = List {
            objects: &self.held,
            order,
        };
        let same = |was: &Object, is: &Object| self.interest().is_unchanged(changes, was, is);
        let Some(merged) = list.merge(rows, &changed, scratch, same) else {
            let delivered = shown(&self.held, old);
            return self.fetch_again(table, delivered, false, refetch);
        };
        let left = changed.before.len();
        let held = std::mem::replace(&mut self.held, Arc::new(merged.objects));
        self.detach_rest(left, held.len());
        let Some(new) = self.window() else {
            let delivered = shown(&held, old);
            return self.fetch_again(table, delivered, false, refetch);
        };
        let difference = if self.is_whole() {
            merged.difference
        } else {
            let old = held.get(old).unwrap_or_default();
            let window = self.held.get(new.clone()).unwrap_or_default();
            list_difference(self.interest(), table, old, window)
        };
        scratch.replaced.push(held);
        let delivered = (!difference.is_empty()).then(|| self.update(new, difference));
        self.trim();
        Ok(delivered)
    }

    /// Fetches the result again. Returns the new one, or `None` if no observed value changed.
    ///
    /// # Errors
    /// The errors of `refetch`. The result is then fetched again at the next commit.
    pub(in super::super) fn renew(
        &mut self,
        table: &Table,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<ResultUpdate>> {
        if self.failed {
            let delivered = std::mem::take(&mut self.held);
            return self.fetch_again(table, delivered, true, refetch);
        }
        if self.is_empty() {
            return Ok(None);
        }
        let delivered = shown(&self.held, self.window().unwrap_or_default());
        self.fetch_again(table, delivered, false, refetch)
    }

    /// Whether the query has no window, so that the run is the result.
    fn is_whole(&self) -> bool {
        self.query.frame().is_whole()
    }

    /// Whether the result is always empty.
    fn is_empty(&self) -> bool {
        self.query.frame().limit == Some(0)
    }

    /// The changed rows that belong to the run; `None` if that can't be determined.
    fn narrow(&mut self, rows: Rows<'_>, mut changed: ChangedRows) -> Option<ChangedRows> {
        if self.is_whole() {
            return Some(changed);
        }
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else {
            let nothing = changed.before.is_empty() && changed.after.is_empty();
            return (nothing || (self.below == 0 && self.complete)).then_some(changed);
        };
        let order = &self.query.frame().order;
        // At an end of the result, no objects are beyond the run.
        let first = (self.below > 0).then(|| BoundaryObject::new(order, first));
        let last = (!self.complete).then(|| BoundaryObject::new(order, last));
        let is_below = |object: &Object| first.as_ref().is_some_and(|first| first.is_above(object));
        let is_above = |object: &Object| last.as_ref().is_some_and(|last| last.is_below(object));
        let mut below = self.below;
        changed.before.retain(|row| match before(rows, *row) {
            Some(object) if is_below(object) => {
                below = below.saturating_sub(1);
                false
            }
            Some(object) => !is_above(object),
            None => false,
        });
        changed.after.retain(|row| match after(rows, *row) {
            Some(object) if is_below(object) => {
                below += 1;
                false
            }
            Some(object) => !is_above(object),
            None => false,
        });
        self.below = below;
        Some(changed)
    }

    /// Fetches the window and the objects beside it. `delivered` is the result delivered last; with
    /// `missed`, an error was delivered since.
    fn fetch_again(
        &mut self,
        table: &Table,
        delivered: Arc<Vec<Object>>,
        missed: bool,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<ResultUpdate>> {
        let wider = with_margin(&self.query.query());
        let fetched = match refetch(table, &wider) {
            Ok(fetched) => fetched,
            Err(error) => {
                (self.held, self.failed) = (delivered, true);
                // An error is delivered once.
                return if missed { Ok(None) } else { Err(error) };
            }
        };
        self.below = wider.offset;
        self.complete = wider
            .limit
            .is_none_or(|limit| fetched.objects.len() < limit);
        (self.engine, self.seq, self.held) = (fetched.engine, fetched.seq, fetched.objects);
        (self.failed, self.leaving_max) = (false, half(&self.held));
        let window = self.window().unwrap_or_default();
        let shown = self.held.get(window.clone()).unwrap_or_default();
        let difference = list_difference(self.interest(), table, &delivered, shown);
        // After an error, the result is delivered even if it is unchanged.
        Ok((missed || !difference.is_empty()).then(|| self.update(window, difference)))
    }

    /// Copies the remaining objects if half of the run has left, because objects that were fetched
    /// together keep one another in memory.
    fn detach_rest(&mut self, left: usize, of: usize) {
        if left == of {
            // Objects of a commit share no chunk with others.
            self.leaving_max = u32::MAX;
            return;
        }
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let Some(rest) = self.leaving_max.checked_sub(left) else {
            let held = Arc::make_mut(&mut self.held).iter_mut();
            let attached = held.filter(|object| object.is_attached());
            attached.for_each(|object| *object = object.detach());
            self.leaving_max = u32::MAX;
            return;
        };
        self.leaving_max = rest;
    }

    /// Drops objects far from the window.
    fn trim(&mut self) {
        let Some(window) = self.window() else { return };
        let limit = self.query.frame().limit;
        let margin = margin(limit);
        if limit.is_some() && self.held.len() > window.end + 2 * margin {
            Arc::make_mut(&mut self.held).truncate(window.end + margin);
            self.complete = false;
        }
        if window.start > 2 * margin {
            let away = window.start - margin;
            Arc::make_mut(&mut self.held).drain(..away);
            self.below += away;
        }
    }

    /// The delivery of a window of the run.
    fn update(&self, window: Range<usize>, difference: Difference) -> ResultUpdate {
        ResultUpdate {
            query: self.query.clone(),
            fetched: self.fetched(shown(&self.held, window)),
            difference,
            commits: 1,
        }
    }

    fn fetched(&self, objects: Arc<Vec<Object>>) -> Fetched {
        Fetched {
            engine: self.engine,
            objects,
            seq: self.seq,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use std::borrow::Cow;

    use dflat_model::{RowId, TableDescriptor, TableLayout, TypeDescriptor};

    use super::super::super::matching::Row;
    use super::*;
    use crate::change_set::RowChange;
    use crate::object::{ObjectBatch, Origin, Writer};

    /// A table whose objects have no fields.
    fn table() -> Table {
        let layout = TableLayout {
            name: Cow::Borrowed("Empty"),
            fields: Cow::Borrowed(&[]),
            end: 4,
        };
        Table::new(TableDescriptor {
            name: Cow::Borrowed("empty"),
            type_name: Cow::Borrowed("Empty"),
            primary_key: Cow::Borrowed(&[]),
            auto_key: None,
            indexes: Cow::Borrowed(&[]),
            types: vec![TypeDescriptor::Table(layout)].into(),
        })
    }

    #[test]
    fn remaining_objects_are_copied_when_half_of_the_result_has_left() {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        writer.end_table();
        let table = table();
        let mut batch = ObjectBatch::new(&table, Origin::default());
        for row_id in 1..=100 {
            batch.push(RowId(row_id), writer.finish().unwrap()).unwrap();
        }
        let fetched = Fetched {
            engine: 1,
            objects: batch.finish().into(),
            seq: CommitSeq(1),
        };
        let query = ShapedQuery::from(Query::default());
        let mut live = LiveResult::new(query, Ok(&fetched), false);
        let attached = |live: &LiveResult| live.held.iter().filter(|o| o.is_attached()).count();
        for (seq, gone, expected) in [(2, 0..40, 60), (3, 40..60, 0), (4, 60..61, 0)] {
            let gone = fetched.objects.get(gone).unwrap().iter();
            let gone = gone.map(|object| {
                let (before, after) = (Some(object.clone()), None);
                (object.row_id(), RowChange { before, after })
            });
            let changes = TableChanges {
                table: table.clone(),
                rows: gone.collect(),
                inserted: None,
                repeated: false,
                is_attached: false,
            };
            let rows = changes.rows.len();
            let changed = ChangedRows {
                before: (0..rows as Row).collect(),
                ..ChangedRows::default()
            };
            let refetch = |_: &Table, _: &Query| panic!("a whole result is never fetched again");
            let delivered = live.follow(
                (&changes, CommitSeq(seq)),
                changed,
                &mut Scratch::default(),
                refetch,
            );
            let update = delivered.unwrap().unwrap();
            assert_eq!(update.difference.deleted().len(), rows);
            assert_eq!(attached(&live), expected);
        }
        assert_eq!(live.held.len(), 39);
    }
}
