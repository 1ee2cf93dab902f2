//! Building and running a query.

mod aggregate;
mod cursor;
mod fetched_result;
mod get;
mod iter;
mod select;

use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use dflat_engine::engine::Engine;
use dflat_engine::fetch::{Cancellation, PREDICATE_DEPTH_MAX};
use dflat_engine::object::Malformed;
use dflat_engine::storage::Row;
use dflat_model::Query;
use dflat_workspace::{Explanation, Source};

use crate::{Error, ErrorKind, Object, Order, Predicate, Result};
pub use cursor::Cursor;
pub use fetched_result::FetchedResult;
pub(crate) use get::{get, get_many};
pub use iter::FetchIter;
pub use select::Selection;
pub(crate) use select::Unreadable;

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
    inner: dflat_workspace::Fetch<'w>,
    /// A condition was too deep to be kept.
    too_deep: bool,
    object: PhantomData<fn() -> T>,
}

impl<'w, T: Object> Fetch<'w, T> {
    pub(crate) fn new(source: Source<'w>) -> Self {
        Self {
            inner: dflat_workspace::Fetch::new(source, T::TABLE),
            too_deep: false,
            object: PhantomData,
        }
    }

    /// Keeps the objects that meet a condition, beside those asked for before.
    pub fn filter(mut self, predicate: Predicate<T>) -> Self {
        let (predicate, too_deep) = predicate.into_data();
        self.too_deep |= too_deep;
        self.inner.query.predicate = Some(match self.inner.query.predicate.take() {
            None => predicate,
            Some(before) => before.and(predicate),
        });
        self
    }

    /// Orders by a key, after those asked for before.
    pub fn order_by(mut self, order: Order<T>) -> Self {
        let (order, too_deep) = order.into_data();
        self.too_deep |= too_deep;
        self.inner.query.order.push(order);
        self
    }

    /// Keeps the first `limit` objects of the order.
    pub fn limit(mut self, limit: usize) -> Self {
        self.inner.query.limit = Some(limit);
        self
    }

    /// Passes over the first `offset` objects of the order.
    ///
    /// They are counted anew each time, so that pages shift under concurrent writes and a page far
    /// down costs all those before it: to read page by page, use [`after`](Self::after).
    pub fn offset(mut self, offset: usize) -> Self {
        self.inner.query.offset = offset;
        self
    }

    /// Starts behind a place in the order, which must be of a query with the same order: the next
    /// page. Where the order is that of an index or of insertion, nothing before it is read.
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
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let mut place = None;
    /// loop {
    ///     let mut query = workspace.fetch::<Post>().order_by(Post::PRIORITY.descending());
    ///     if let Some(place) = place {
    ///         query = query.after(place);
    ///     }
    ///     let page = query.limit(50).all()?;
    ///     println!("{} posts", page.len());
    ///     place = page.end();
    ///     if place.is_none() {
    ///         break;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.inner.query.after = Some(cursor.into_data());
        self
    }

    /// Gives up with [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) if it takes longer
    /// than this from now on. The time is looked at every 64 rows.
    ///
    /// It holds for reads: a subscription to the query goes without it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.inner.control.deadline = Instant::now().checked_add(timeout);
        self
    }

    /// Gives up with [`Cancelled`](crate::ErrorKind::Cancelled) once `cancellation` says so, which
    /// any thread may do. It is looked at every 64 rows.
    ///
    /// It holds for reads: a subscription to the query goes without it.
    pub fn cancelled_by(mut self, cancellation: &Cancellation) -> Self {
        self.inner.control.cancellation = Some(cancellation.clone());
        self
    }

    /// Runs the query.
    ///
    /// # Errors
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if a row is damaged; the message names it.
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) in a transaction that was not given
    ///   the type.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a condition nests too deeply, or
    ///   a [`Cursor`] is of another order.
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) and
    ///   [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) if it was told to give up.
    /// - Else as reading the file can fail.
    ///
    /// # Cost
    /// A look-up if the condition fixes the primary key or an indexed field; a range of an index if
    /// it bounds an indexed field; else a scan of all objects. A range that turns out to have more
    /// than an eighth of them, and more than some hundred, ends in a scan of all. A limit stops a
    /// scan early if the order is that of the rows scanned.
    pub fn all(self) -> Result<FetchedResult<T>> {
        self.check()?;
        let fetched = self.inner.all()?;
        Ok(FetchedResult::new(fetched, self.inner.query.into()))
    }

    /// Runs the query as its objects are asked for, some hundred at a time: for results that are
    /// larger than memory. All are of one state, that of now, which is held until the iterator is
    /// dropped; on a handler's thread each batch is of its transaction as it is then.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; else as [`all`](Self::all), from
    /// the iterator.
    ///
    /// # Cost
    /// As [`all`](Self::all), if the order is that of an index or of insertion. Any other order
    /// costs a scan a batch.
    pub fn iter(self) -> Result<FetchIter<'w, T>> {
        self.check()?;
        Ok(FetchIter::new(self.inner.rows()?))
    }

    /// Runs the query and reads these fields off its objects, and nothing else of them; not even
    /// the objects, if the index that serves condition and order, over one field or over several,
    /// has all of these. Not if one is a float: an index does not keep the sign of a zero.
    ///
    /// A value is `None` where the object has none. Objects are not verified as a whole: damage
    /// elsewhere in them goes unnoticed.
    ///
    /// # Errors
    /// As [`all`](Self::all).
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
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// for (title, priority) in workspace.fetch::<Post>().select((Post::TITLE, Post::PRIORITY))? {
    ///     println!("{title:?} {priority:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<S: Selection<T>>(mut self, selection: S) -> Result<Vec<S::Output>> {
        let mut expressions = Vec::new();
        for (expression, depth) in selection.expressions() {
            self.too_deep |= depth > PREDICATE_DEPTH_MAX;
            expressions.push(expression);
        }
        self.check()?;
        let read = &mut |row: Row<'_>| S::read(&expressions, &row).map_err(|_| Malformed);
        self.inner.select(&expressions, read)
    }

    /// How the query would be run now, without running it. It depends on which indexes are ready
    /// and, where there is a choice, on how many rows they have.
    ///
    /// # Errors
    /// As [`all`](Self::all).
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
    /// use post::{Color, Post};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let urgent = Post::PRIORITY.gt(100) & Post::COLOR.eq(Color::Red);
    /// let plan = workspace.fetch::<Post>().filter(urgent).explain()?;
    /// assert_eq!(plan.to_string(), "range of the index on priority, check color == 0, sort");
    /// # Ok(())
    /// # }
    /// ```
    pub fn explain(self) -> Result<Explanation> {
        self.check()?;
        self.inner.explain()
    }

    /// Runs the query and gives its first object.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn first(self) -> Result<Option<T>> {
        let limit = self.inner.query.limit.map_or(1, |limit| limit.min(1));
        Ok(self.limit(limit).all()?.first().cloned())
    }

    /// Refuses a query with a condition that was too deep to be kept.
    pub(crate) fn check(&self) -> Result<()> {
        Self::refuse_if(self.too_deep)
    }

    fn refuse_if(too_deep: bool) -> Result<()> {
        if !too_deep {
            return Ok(());
        }
        let message = format!(
            "cannot query {}: its condition is nested more than {PREDICATE_DEPTH_MAX} deep",
            T::TABLE.type_name
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Has it refused when it is run: something asked for is too deep to be kept.
    pub(crate) fn refuse_as_too_deep(&mut self) {
        self.too_deep = true;
    }

    /// The engine and the query, if it was started from a workspace.
    pub(crate) fn into_parts(self) -> (Option<&'w Engine>, Query) {
        let engine = match self.inner.source {
            Source::Workspace(engine) => Some(engine),
            Source::Snapshot(_) | Source::Transaction(_) => None,
        };
        (engine, self.inner.query)
    }
}

impl<T> fmt::Debug for Fetch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetch({})", self.inner.query)
    }
}
