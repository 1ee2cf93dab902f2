//! Building and running a query.

mod aggregate;
mod awaited;
mod cursor;
mod fetched_result;
mod get;
mod group_by;
mod iter;
mod select;
mod untyped;

use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use dflat_engine::engine::Engine;
use dflat_engine::fetch::{Cancellation, PREDICATE_DEPTH_MAX};
use dflat_engine::object::Malformed;
use dflat_engine::storage::Row;
use dflat_model::Query;
use dflat_workspace::{Explanation, Source};

use crate::object::Stored;
use crate::{Object, Order, Predicate, Result};
pub(crate) use awaited::{get_async, get_many_async};
pub use cursor::Cursor;
pub use fetched_result::FetchedResult;
pub(crate) use get::{get, get_many};
pub(crate) use group_by::read as read_groups;
pub use group_by::{Group, GroupBy};
pub use iter::FetchIter;
pub use select::Selection;
pub(crate) use select::Unreadable;
use untyped::Untyped;

/// A query for objects of type `T`, to be narrowed and then run.
///
/// Objects come in the order of the query. Objects that compare equal, and all objects of a query
/// without an order, come in order of row id, which is the order of insertion.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
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
    inner: Untyped<'w>,
    object: PhantomData<fn() -> T>,
}

impl<'w, T: Object> Fetch<'w, T> {
    pub(crate) fn new(source: Source<'w>) -> Self {
        Self {
            inner: Untyped::new(source, Stored::<T>::TABLE),
            object: PhantomData,
        }
    }

    /// Keeps the objects that meet this condition and all conditions before it.
    pub fn filter(mut self, predicate: Predicate<T>) -> Self {
        self.inner.filter(predicate.into_nested());
        self
    }

    /// Keeps the objects that meet this condition, if there is one, and all conditions before it.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let search: Option<&str> = None;
    /// let found = workspace
    ///     .fetch::<Post>()
    ///     .filter_opt(search.map(|text| Post::TITLE.contains(text)))
    ///     .all()?;
    /// assert!(found.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter_opt(self, predicate: Option<Predicate<T>>) -> Self {
        match predicate {
            Some(predicate) => self.filter(predicate),
            None => self,
        }
    }

    /// Orders by a key, after the keys given before.
    pub fn order_by(mut self, order: Order<T>) -> Self {
        self.inner.order_by(order.into_data());
        self
    }

    /// Keeps the first `limit` objects of the order.
    pub fn limit(mut self, limit: usize) -> Self {
        self.inner.fetch.query.limit = Some(limit);
        self
    }

    /// Skips the first `offset` objects of the order.
    ///
    /// The objects are counted anew each time: pages shift under concurrent writes, and a page far
    /// down costs all pages before it. To read page by page, use [`after`](Self::after).
    pub fn offset(mut self, offset: usize) -> Self {
        self.inner.fetch.query.offset = offset;
        self
    }

    /// Starts after a cursor position, which must be of a query with the same order: the next page.
    /// In the order of an index or of insertion, nothing before the position is read.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let mut position = None;
    /// loop {
    ///     let mut query = workspace.fetch::<Post>().order_by(Post::PRIORITY.descending());
    ///     if let Some(position) = position {
    ///         query = query.after(position);
    ///     }
    ///     let page = query.limit(50).all()?;
    ///     println!("{} posts", page.len());
    ///     position = page.end();
    ///     if position.is_none() {
    ///         break;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.inner.fetch.query.after = Some(cursor.into_data());
        self
    }

    /// Fails with [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) if the query takes
    /// longer than this from now on. The time is checked every 64 rows.
    ///
    /// This applies to reads; a subscription to the query ignores it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.inner.fetch.control.deadline = Instant::now().checked_add(timeout);
        self
    }

    /// Fails with [`Cancelled`](crate::ErrorKind::Cancelled) once any thread has cancelled
    /// `cancellation`. The query checks it every 64 rows.
    ///
    /// This applies to reads; a subscription to the query ignores it.
    pub fn cancelled_by(mut self, cancellation: &Cancellation) -> Self {
        self.inner.fetch.control.cancellation = Some(cancellation.clone());
        self
    }

    /// Also reads objects that lack required values, which other programs may have written. Without
    /// this, such an object is the error [`Corrupt`](crate::ErrorKind::Corrupt).
    ///
    /// A required string, vector or table that is missing reads as empty, and a required struct or
    /// union as `None`. All else is verified as ever. `Workspace::check` lists all such objects of
    /// a file. To complete such an object, submit a [change](crate::ChangeRequest::change) of it,
    /// or an [upsert](crate::ChangeRequest::upsert) with its key. It can be deleted as any other
    /// object.
    ///
    /// This applies to reads; a subscription to the query ignores it.
    pub fn unchecked(mut self) -> Self {
        self.inner.fetch.control.incomplete = true;
        self
    }

    /// Runs the query.
    ///
    /// # Errors
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if a row is damaged; the message names the row.
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) in a transaction that was not given
    ///   the type.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a condition nests too deeply, or
    ///   a [`Cursor`] belongs to another order.
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) and
    ///   [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) as set with
    ///   [`cancelled_by`](Self::cancelled_by) and [`timeout`](Self::timeout).
    /// - Otherwise the errors of reading the file.
    ///
    /// # Cost
    /// A look-up if the condition fixes the primary key or an indexed field; a range of an index if
    /// it bounds an indexed field; otherwise a scan of all objects. If a range turns out to have
    /// more than an eighth of all objects, and more than some hundred, the query scans all objects
    /// instead. A limit stops a scan early if the rows are scanned in the order of the query.
    pub fn all(self) -> Result<FetchedResult<T>> {
        Ok(FetchedResult::new(self.inner.all()?))
    }

    /// Runs the query in batches of some hundred objects, as the iterator is advanced: for results
    /// that are larger than memory. All objects are of the current state, which is held until the
    /// iterator is dropped; on a handler's thread each batch is of the state that the transaction
    /// sees by then.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise as [`all`](Self::all),
    /// from the iterator.
    ///
    /// # Cost
    /// As [`all`](Self::all) in the order of an index or of insertion. In any other order, each
    /// batch costs a scan.
    pub fn iter(self) -> Result<FetchIter<'w, T>> {
        self.check()?;
        Ok(FetchIter::new(self.inner.fetch.rows()?))
    }

    /// Runs the query and reads these fields of its objects, and nothing else. If the index that
    /// serves condition and order has all these fields, the objects are not read at all. Floats are
    /// always read from the objects, because an index does not keep the sign of a zero.
    ///
    /// The value of a field that every object has is plain; any other value is an `Option`, and
    /// `None` if the object does not have it: [`Sure`](crate::Sure) says which is which. Objects
    /// are not verified as a whole: damage elsewhere in them is not noticed.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// for (title, priority) in workspace.fetch::<Post>().select((Post::TITLE, Post::PRIORITY))? {
    ///     println!("{title} {priority}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<S: Selection<T>>(mut self, selection: S) -> Result<Vec<S::Output>> {
        let mut expressions = Vec::new();
        for (expression, depth) in selection.expressions() {
            self.inner.too_deep |= depth > PREDICATE_DEPTH_MAX;
            expressions.push(expression);
        }
        self.check()?;
        let read = &mut |row: Row<'_>| S::read(&expressions, &row).map_err(|_| Malformed);
        self.inner.fetch.select(&expressions, read)
    }

    /// Describes how the query would be run now, without running it. The plan depends on which
    /// indexes are ready and, where there is a choice, on how many rows they have.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
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
        self.inner.fetch.explain()
    }

    /// Runs the query and returns its first object.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn first(self) -> Result<Option<T>> {
        let (fetched, _) = self.inner.first()?;
        Ok(fetched.objects.first().cloned().map(T::from_handle))
    }

    /// Refuses a query if one of its conditions was dropped because it was too deep.
    pub(crate) fn check(&self) -> Result<()> {
        self.inner.check()
    }

    /// Makes the query fail when it is run, because one of its parts is too deep.
    pub(crate) fn refuse_as_too_deep(&mut self) {
        self.inner.too_deep = true;
    }

    /// The query, if its workspace is that of an engine.
    pub(crate) fn query_of(self, engine: &Engine) -> Result<Query> {
        self.inner.query_of(engine)
    }

    /// The query, unless a condition is too deep.
    pub(crate) fn into_query(self) -> Result<Query> {
        self.check()?;
        Ok(self.inner.fetch.query)
    }
}

impl<T> fmt::Debug for Fetch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetch({})", self.inner.fetch.query)
    }
}
