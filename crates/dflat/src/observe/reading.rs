//! The values of a query's objects that its subscriber gets.

use std::marker::PhantomData;
use std::sync::Arc;

use dflat_engine::fetch::Fetched;
use dflat_engine::observe::ShapedQuery;
use dflat_engine::storage::Row;
use dflat_model::Expression;

use crate::codec::Handle;
use crate::fetch::Unreadable;
use crate::{FetchedResult, Object};

/// The values that are read from the objects of a query, and the form in which they are kept until
/// the next delivery.
pub(super) trait Reading: Send + 'static {
    type Read: Send + 'static;
    type Kept: Send + 'static;

    fn read(&self, fetched: Fetched, query: &ShapedQuery) -> (Self::Read, Self::Kept);

    /// Reads the values again.
    fn read_again(&self, kept: Self::Kept, query: &ShapedQuery) -> Self::Read;

    /// The objects to which the values belong.
    fn objects(kept: &Self::Kept) -> &Arc<Vec<Handle>>;
}

/// The objects themselves. The fetched list is kept and not the typed result, because most
/// subscribers wait for a long time.
pub(super) struct Whole<T>(pub(super) PhantomData<fn() -> T>);

impl<T: Object> Reading for Whole<T> {
    type Read = FetchedResult<T>;
    type Kept = Fetched;

    fn read(&self, fetched: Fetched, query: &ShapedQuery) -> (FetchedResult<T>, Fetched) {
        let result = FetchedResult::new((fetched.clone(), query.clone()));
        (result, fetched)
    }

    fn read_again(&self, kept: Fetched, query: &ShapedQuery) -> FetchedResult<T> {
        FetchedResult::new((kept, query.clone()))
    }

    fn objects(kept: &Fetched) -> &Arc<Vec<Handle>> {
        &kept.objects
    }
}

/// The values of a projection's expressions.
pub(super) struct Selected<O>(pub(super) fn(&[Expression], &Row<'_>) -> Result<O, Unreadable>);

impl<O: Send + Sync + 'static> Reading for Selected<O> {
    type Read = Arc<[O]>;
    type Kept = (Self::Read, Arc<Vec<Handle>>);

    fn read(&self, fetched: Fetched, query: &ShapedQuery) -> (Self::Read, Self::Kept) {
        let expressions = query.interest().values();
        let objects = fetched.objects.iter();
        // Objects are verified, so that every value can be read.
        let rows = objects.filter_map(|object| (self.0)(expressions, &Row::of(object)).ok());
        let read = rows.collect::<Self::Read>();
        (Arc::clone(&read), (read, fetched.objects))
    }

    fn read_again(&self, kept: Self::Kept, _: &ShapedQuery) -> Self::Read {
        kept.0
    }

    fn objects(kept: &Self::Kept) -> &Arc<Vec<Handle>> {
        &kept.1
    }
}
