//! A query's result that follows the commits.

use std::ops::Range;
use std::sync::Arc;

use dflat_model::{CommitSeq, Query, Table};

use super::bound::Bound;
use super::changed_rows::{ChangedRows, Rows, after, before};
use super::difference::Difference;
use super::interest::Interest;
use super::merge::{List, Scratch};
use super::shape::ShapedQuery;
use crate::change_set::TableChanges;
use crate::error::Result;
use crate::fetch::Fetched;
use crate::object::Object;

/// The fewest and the most objects that are kept on either side of a window.
const MARGIN: Range<usize> = 4..1024;

/// A result as of a commit, and what makes it of the one before.
#[derive(Clone, Debug)]
pub struct ResultUpdate {
    /// The query.
    pub query: ShapedQuery,
    /// The result.
    pub fetched: Fetched,
    /// What makes it of the result told before; of nothing, if none was.
    pub difference: Difference,
    /// How many commits have changed it since.
    pub commits: u64,
}

/// The result of a query as of the latest commit.
///
/// It holds a run of the objects that meet the condition, in order: all of them, or, if the query
/// has a window, those in it and some on either side, so that most changes need no fetch.
pub struct LiveResult {
    query: ShapedQuery,
    /// Shared with what was told, if all of it is in the window. After a fetch has failed, what was
    /// told last.
    held: Arc<Vec<Object>>,
    /// How many objects come before those held.
    below: usize,
    /// Whether nothing comes after those held.
    complete: bool,
    /// The engine whose commits it follows, once it is known.
    engine: u64,
    /// What is held is as of this commit.
    seq: CommitSeq,
    /// A fetch has failed.
    failed: bool,
    /// How many of the objects fetched last may leave before those left are copied out of what they
    /// keep in memory.
    leaving_max: u32,
}

/// How many objects are kept on either side of a window.
fn margin(limit: Option<usize>) -> usize {
    let limit = limit.unwrap_or(MARGIN.end);
    limit.clamp(MARGIN.start, MARGIN.end)
}

/// A window with what is kept on either side of it.
fn wider(offset: usize, limit: Option<usize>) -> (usize, Option<usize>) {
    let margin = margin(limit);
    let start = offset.saturating_sub(margin);
    let end = offset.saturating_add(margin);
    (start, limit.map(|limit| limit.saturating_add(end) - start))
}

/// What is seen of the objects held: all of them, shared, or those in a window.
fn shown(held: &Arc<Vec<Object>>, window: Range<usize>) -> Arc<Vec<Object>> {
    if window == (0..held.len()) {
        return Arc::clone(held);
    }
    Arc::new(held.get(window).unwrap_or_default().to_vec())
}

/// How many are half of a list.
fn half(objects: &[Object]) -> u32 {
    u32::try_from(objects.len() / 2).unwrap_or(u32::MAX)
}

/// The query with what a live result keeps on either side of its window.
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
    /// A live result that starts from the one of the query, or, with a `margin`, from that of
    /// [`with_margin`]; or, if that could not be fetched, from the objects its subscriber has.
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

    /// What the result is, unless a fetch has failed.
    pub(super) fn current(&self) -> Option<Fetched> {
        let window = self.window().filter(|_| !self.failed)?;
        Some(self.fetched(shown(&self.held, window)))
    }

    pub(super) fn query(&self) -> &ShapedQuery {
        &self.query
    }

    fn interest(&self) -> &Interest {
        self.query.interest()
    }

    /// Whether it must be fetched again, whatever a commit has changed.
    pub(super) fn is_failed(&self) -> bool {
        self.failed
    }

    /// The window's place in what is held, unless it is not all there.
    fn window(&self) -> Option<Range<usize>> {
        let Query { offset, limit, .. } = *self.query.frame();
        let held = self.held.len();
        if self.held.is_empty() && self.below > 0 {
            // How many come before may be fewer than that; the window is empty all the same.
            return (self.complete && self.below <= offset).then_some(0..0);
        }
        let start = offset.checked_sub(self.below)?;
        let end = limit.map(|limit| start.saturating_add(limit));
        match end {
            Some(end) if end <= held => Some(start..end),
            _ => self.complete.then(|| start.min(held)..held),
        }
    }

    /// Follows a commit that changed rows of the result: the new result, or `None` if nothing
    /// visible changed.
    ///
    /// # Errors
    /// As `refetch`; the result is fetched again at the next commit then.
    pub(super) fn follow(
        &mut self,
        (changes, seq): (&TableChanges, CommitSeq),
        changed: ChangedRows,
        scratch: &mut Scratch,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<ResultUpdate>> {
        if self.is_empty() || (seq <= self.seq && !self.failed) {
            return Ok(None);
        }
        let (table, rows) = (&changes.table, changes.rows.as_slice());
        if self.failed {
            let told = std::mem::take(&mut self.held);
            return self.fetch_again(table, told, true, refetch);
        }
        self.seq = seq;
        let old = self.window().unwrap_or_default();
        let Some(changed) = self.narrow(rows, changed) else {
            let told = shown(&self.held, old);
            return self.fetch_again(table, told, false, refetch);
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
            let told = shown(&self.held, old);
            return self.fetch_again(table, told, false, refetch);
        };
        let left = changed.before.len();
        let held = std::mem::replace(&mut self.held, Arc::new(merged.objects));
        self.let_go(left, held.len());
        let Some(new) = self.window() else {
            let told = shown(&held, old);
            return self.fetch_again(table, told, false, refetch);
        };
        let difference = if self.is_whole() {
            merged.difference
        } else {
            let old = held.get(old).unwrap_or_default();
            let window = self.held.get(new.clone()).unwrap_or_default();
            self.interest().difference(table, old, window)
        };
        scratch.replaced.push(held);
        let told = (!difference.is_empty()).then(|| self.update(new, difference));
        self.trim();
        Ok(told)
    }

    /// Fetches the result again, whatever has become of it: the new one, or `None` if nothing
    /// visible changed.
    ///
    /// # Errors
    /// As `refetch`; the result is fetched again at the next commit then.
    pub(super) fn renew(
        &mut self,
        table: &Table,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<ResultUpdate>> {
        if self.is_empty() {
            return Ok(None);
        }
        if self.failed {
            let told = std::mem::take(&mut self.held);
            return self.fetch_again(table, told, true, refetch);
        }
        let told = shown(&self.held, self.window().unwrap_or_default());
        self.fetch_again(table, told, false, refetch)
    }

    /// Whether what is held is the result.
    fn is_whole(&self) -> bool {
        self.query.frame().is_whole()
    }

    /// Whether it is empty whatever happens.
    fn is_empty(&self) -> bool {
        self.query.frame().limit == Some(0)
    }

    /// The rows changed that are among those held; `None` if that can't be told.
    fn narrow(&mut self, rows: Rows<'_>, mut changed: ChangedRows) -> Option<ChangedRows> {
        if self.is_whole() {
            return Some(changed);
        }
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else {
            let nothing = changed.before.is_empty() && changed.after.is_empty();
            return (nothing || (self.below == 0 && self.complete)).then_some(changed);
        };
        let order = &self.query.frame().order;
        // What begins or ends the result has nothing beyond it.
        let first = (self.below > 0).then(|| Bound::new(order, first));
        let last = (!self.complete).then(|| Bound::new(order, last));
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

    /// Fetches the window and what is kept beside it. `told` is the result told last; with
    /// `missed`, an error was told since.
    fn fetch_again(
        &mut self,
        table: &Table,
        told: Arc<Vec<Object>>,
        missed: bool,
        refetch: impl FnOnce(&Table, &Query) -> Result<Fetched>,
    ) -> Result<Option<ResultUpdate>> {
        let wider = with_margin(&self.query.query());
        let fetched = match refetch(table, &wider) {
            Ok(fetched) => fetched,
            Err(error) => {
                (self.held, self.failed) = (told, true);
                // An error is told once.
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
        let difference = self.interest().difference(table, &told, shown);
        // After an error the result is told again even if it is what it was before.
        Ok((missed || !difference.is_empty()).then(|| self.update(window, difference)))
    }

    /// Keeps no more in memory than twice what is held: objects fetched together keep one another.
    fn let_go(&mut self, left: usize, of: usize) {
        if left == of {
            // Those of a commit are on their own.
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

    /// Lets go of what is far from the window.
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

    /// The delivery of what is in a window now.
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

    use super::super::changed_rows::{Row, RowList};
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
            indexes: Cow::Borrowed(&[]),
            types: vec![TypeDescriptor::Table(layout)].into(),
        })
    }

    #[test]
    fn what_is_left_of_a_result_is_copied_out_when_half_of_it_has_gone() {
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
                after: RowList::new(),
            };
            let refetch = |_: &Table, _: &Query| panic!("a whole result is never fetched again");
            let told = live.follow(
                (&changes, CommitSeq(seq)),
                changed,
                &mut Scratch::default(),
                refetch,
            );
            let update = told.unwrap().unwrap();
            assert_eq!(update.difference.deleted().len(), rows);
            assert_eq!(attached(&live), expected);
        }
        assert_eq!(live.held.len(), 39);
    }
}
