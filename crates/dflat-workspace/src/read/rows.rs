//! Results that are larger than memory, read one batch at a time.

use std::iter::FusedIterator;
use std::vec;

use dflat_engine::engine::EngineSnapshot;
use dflat_engine::fetch;
use dflat_engine::object::Object;
use dflat_engine::storage::View;
use dflat_model::Query;

use super::{Fetch, Source};
use crate::Result;

/// The number of objects in a batch.
const BATCH: usize = 256;

/// The objects of a query, in order, fetched in batches; made by [`Fetch::rows`].
///
/// The iterator ends after an error.
pub struct Rows<'w> {
    /// The query for the objects that are still to be fetched.
    rest: Fetch<'w>,
    /// The iterator's own snapshot, if the query was started from a workspace.
    snapshot: Option<EngineSnapshot>,
    batch: vec::IntoIter<Object>,
    ended: bool,
}

impl<'w> Rows<'w> {
    pub(super) fn new(query: Fetch<'w>) -> Result<Self> {
        let snapshot = match query.source {
            Source::Workspace(engine) if !engine.is_in_transaction() => Some(engine.snapshot()?),
            _ => None,
        };
        Ok(Self {
            rest: query,
            snapshot,
            batch: Vec::new().into_iter(),
            ended: false,
        })
    }

    /// The query for the objects after the fetched ones.
    #[must_use]
    pub fn rest(&self) -> &Query {
        &self.rest.query
    }

    fn fill(&mut self) -> Result<()> {
        let Fetch {
            source,
            table,
            query: rest,
            control,
        } = &mut self.rest;
        let size = rest.limit.map_or(BATCH, |rest| rest.min(BATCH));
        let query = Query {
            limit: Some(size),
            ..rest.clone()
        };
        let source = self.snapshot.as_ref().map_or(*source, Source::Snapshot);
        let objects = source.read(table, View::Pinned, |snapshot, origin| {
            fetch::fetch(snapshot, table, &query, control, origin)
        })?;
        self.ended = objects.len() < size || rest.limit == Some(size);
        if let Some(last) = objects.last() {
            rest.after = Some(fetch::cursor_of(table, rest, last)?);
            rest.offset = 0;
        }
        rest.limit = rest.limit.map(|rest| rest - objects.len());
        self.batch = objects.into_iter();
        Ok(())
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Object>;

    fn next(&mut self) -> Option<Result<Object>> {
        if self.batch.as_slice().is_empty()
            && !self.ended
            && let Err(error) = self.fill()
        {
            self.ended = true;
            return Some(Err(error));
        }
        self.batch.next().map(Ok)
    }
}

impl FusedIterator for Rows<'_> {}
