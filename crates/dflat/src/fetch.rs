//! Building and running a query.

use std::fmt;
use std::marker::PhantomData;

use dflat_engine::engine::{Engine, EngineSnapshot};
use dflat_engine::fetch::{Fetched, PREDICATE_DEPTH_MAX};
use dflat_engine::transaction::Transaction;
use dflat_model::Query;

use crate::{Error, ErrorKind, FetchedResult, Object, Order, Predicate, Result};

/// A query for objects of type `T`, to be narrowed and then run.
///
/// Objects come in the order asked for; those that compare equal, and all if no order is asked for,
/// by row id, which is the order of insertion.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(
/// #         env!("CARGO_MANIFEST_DIR"),
/// #         "/../dflat-codegen/tests/data/post/rust.rs"
/// #     ));
/// # }
/// use dflat::Workspace;
/// use post::{Color, Post, TextContent};
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let red = workspace
///     .fetch::<Post>()
///     .filter(Post::PRIORITY.ge(10) & !Post::COLOR.eq(Color::Blue))
///     .filter(Post::CONTENT.matches::<TextContent>() | Post::TAG.is_null())
///     .order_by(Post::PRIORITY.descending())
///     .order_by(Post::TITLE.ascending())
///     .limit(20)
///     .all()?;
/// assert!(red.is_empty());
/// let one_of = workspace.fetch::<Post>().filter(Post::TITLE.in_(["a", "b"])).first()?;
/// assert!(one_of.is_none());
/// # Ok(())
/// # }
/// ```
#[must_use = "a query does nothing until it is run"]
pub struct Fetch<'w, T> {
    source: Source<'w>,
    query: Query,
    /// A condition was too deep to be kept.
    too_deep: bool,
    object: PhantomData<fn() -> T>,
}

#[derive(Clone, Copy)]
enum Source<'w> {
    Workspace(&'w Engine),
    Snapshot(&'w EngineSnapshot),
    Transaction(&'w Transaction),
}

impl<'w, T: Object> Fetch<'w, T> {
    fn new(source: Source<'w>) -> Self {
        Self {
            source,
            query: Query::default(),
            too_deep: false,
            object: PhantomData,
        }
    }

    pub(crate) fn in_workspace(engine: &'w Engine) -> Self {
        Self::new(Source::Workspace(engine))
    }

    pub(crate) fn in_snapshot(snapshot: &'w EngineSnapshot) -> Self {
        Self::new(Source::Snapshot(snapshot))
    }

    pub(crate) fn in_transaction(transaction: &'w Transaction) -> Self {
        Self::new(Source::Transaction(transaction))
    }

    /// Keeps the objects that meet a condition, beside those asked for before.
    pub fn filter(mut self, predicate: Predicate<T>) -> Self {
        let (predicate, too_deep) = predicate.into_data();
        self.too_deep |= too_deep;
        self.query.predicate = Some(match self.query.predicate.take() {
            None => predicate,
            Some(before) => before.and(predicate),
        });
        self
    }

    /// Orders by a key, after those asked for before.
    pub fn order_by(mut self, order: Order<T>) -> Self {
        let (order, too_deep) = order.into_data();
        self.too_deep |= too_deep;
        self.query.order.push(order);
        self
    }

    /// Keeps the first `limit` objects of the order.
    pub fn limit(mut self, limit: usize) -> Self {
        self.query.limit = Some(limit);
        self
    }

    /// Runs the query.
    ///
    /// # Errors
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if a row is damaged; the message names it.
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) in a transaction that was not given
    ///   the type.
    /// - Else as reading the file can fail.
    ///
    /// # Cost
    /// A look-up if the condition fixes the primary key or an indexed field; a range of an index if
    /// it bounds an indexed field; else a scan of all objects. A limit stops a scan early if the
    /// order is that of the rows scanned.
    pub fn all(self) -> Result<FetchedResult<T>> {
        self.check()?;
        let table = T::TABLE;
        let fetched = match self.source {
            Source::Workspace(engine) => engine.fetch(&table, &self.query),
            Source::Snapshot(snapshot) => snapshot.fetch(&table, &self.query),
            Source::Transaction(transaction) => {
                transaction
                    .fetch(&table, &self.query)
                    .map(|objects| Fetched {
                        engine: 0,
                        objects,
                        seq: dflat_model::CommitSeq::default(),
                    })
            }
        }?;
        Ok(FetchedResult::new(fetched, self.query))
    }

    /// Runs the query and gives its first object.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn first(self) -> Result<Option<T>> {
        let limit = self.query.limit.map_or(1, |limit| limit.min(1));
        Ok(self.limit(limit).all()?.first().cloned())
    }

    /// Refuses a query with a condition that was too deep to be kept.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.too_deep {
            return Ok(());
        }
        let message = format!(
            "cannot query {}: its condition is nested more than {PREDICATE_DEPTH_MAX} deep",
            T::TABLE.type_name
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// The engine and the query, if it was started from a workspace.
    pub(crate) fn into_parts(self) -> (Option<&'w Engine>, Query) {
        match self.source {
            Source::Workspace(engine) => (Some(engine), self.query),
            Source::Snapshot(_) | Source::Transaction(_) => (None, self.query),
        }
    }
}

impl<T> fmt::Debug for Fetch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetch({})", self.query)
    }
}
