//! Results that are larger than memory, a batch at a time.

use std::collections::VecDeque;
use std::fmt;
use std::iter::FusedIterator;

use dflat_engine::engine::EngineSnapshot;
use dflat_engine::fetch::{self, Control};
use dflat_engine::storage::View;
use dflat_model::Query;

use crate::source::Source;
use crate::{Object, Result};

/// Objects that are fetched at once.
const BATCH: usize = 256;

/// The objects of a query, in order, fetched as they are asked for; made by
/// [`Fetch::iter`](super::Fetch::iter).
///
/// After an error there is nothing more.
pub struct FetchIter<'w, T> {
    source: Kept<'w>,
    /// What is still to be fetched.
    query: Query,
    control: Control,
    batch: VecDeque<T>,
    ended: bool,
}

/// What is read: a snapshot of its own, or what the query was started from.
enum Kept<'w> {
    Own(EngineSnapshot),
    Given(Source<'w>),
}

impl<'w, T: Object> FetchIter<'w, T> {
    pub(super) fn new(source: Source<'w>, query: Query, control: Control) -> Result<Self> {
        let source = match source {
            Source::Workspace(engine) if !engine.is_in_transaction() => {
                Kept::Own(engine.snapshot()?)
            }
            given => Kept::Given(given),
        };
        Ok(Self {
            source,
            query,
            control,
            batch: VecDeque::new(),
            ended: false,
        })
    }

    fn fill(&mut self) -> Result<()> {
        let table = T::TABLE;
        let rest = self.query.limit;
        let size = rest.map_or(BATCH, |rest| rest.min(BATCH));
        let query = Query {
            limit: Some(size),
            ..self.query.clone()
        };
        let source = match &self.source {
            Kept::Own(snapshot) => Source::Snapshot(snapshot),
            Kept::Given(source) => *source,
        };
        let objects = source.read::<T, _>(View::Pinned, |snapshot, origin| {
            fetch::fetch(snapshot, &table, &query, &self.control, origin)
        })?;
        self.ended = objects.len() < size || rest == Some(size);
        if let Some(last) = objects.last() {
            self.query.after = Some(fetch::cursor_of(&table, &self.query, last)?);
            self.query.offset = 0;
        }
        self.query.limit = rest.map(|rest| rest - objects.len());
        self.batch = objects.into_iter().map(T::from_handle).collect();
        Ok(())
    }
}

impl<T: Object> Iterator for FetchIter<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.batch.is_empty()
            && !self.ended
            && let Err(error) = self.fill()
        {
            self.ended = true;
            return Some(Err(error));
        }
        self.batch.pop_front().map(Ok)
    }
}

impl<T: Object> FusedIterator for FetchIter<'_, T> {}

impl<T> fmt::Debug for FetchIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FetchIter({})", self.query)
    }
}
