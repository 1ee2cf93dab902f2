//! The result of a query.

use std::fmt;
use std::ops::Deref;

use dflat_engine::fetch::{self, Fetched};
use dflat_engine::observe::ShapedQuery;
use dflat_model::{CommitSeq, Query};

use super::Cursor;
use crate::Object;
use crate::object::{Objects, Stored};

/// The objects of a query, in order: an immutable slice that is cheap to clone and can go to any
/// thread.
///
/// The objects' bytes are kept together in blocks of up to 64 KiB, so that a result takes the
/// memory of its payloads and 16 to 23 bytes for each object.
///
/// The objects stay as they are when the workspace changes, and outlive it.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::Workspace;
/// use post::{Post, PostChangeRequest, PostData};
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// workspace.perform_changes_blocking([Post::TABLE], |tx| {
///     tx.submit(PostChangeRequest::creation(PostData { priority: 7, ..PostData::default() }))
/// })?;
/// let posts = workspace.fetch::<Post>().all()?;
/// workspace.shutdown()?;
/// assert_eq!(posts.len(), 1);
/// for post in &posts {
///     println!("{} {}", post.title(), post.priority());
/// }
/// # Ok(())
/// # }
/// ```
pub struct FetchedResult<T> {
    objects: Objects<T>,
    query: ShapedQuery,
    seq: CommitSeq,
    /// The engine that fetched the result.
    engine: u64,
}

impl<T: Object> FetchedResult<T> {
    pub(crate) fn new((fetched, query): (Fetched, ShapedQuery)) -> Self {
        Self {
            objects: Objects::new(fetched.objects),
            query,
            seq: fetched.seq,
            engine: fetched.engine,
        }
    }

    /// The position after the last object, where the next page starts; `None` if the result is
    /// empty.
    #[must_use]
    pub fn end(&self) -> Option<Cursor> {
        self.place(self.last()?)
    }

    /// The position after an object of the result; `None` if there is no object at this index.
    #[must_use]
    pub fn cursor_at(&self, position: usize) -> Option<Cursor> {
        self.place(self.get(position)?)
    }

    fn place(&self, object: &T) -> Option<Cursor> {
        // Objects are verified, so every key can be read.
        let cursor = fetch::cursor_of(Stored::<T>::TABLE, self.frame(), object.handle());
        cursor.ok().map(Cursor::new)
    }

    /// The query of this result, without the values in its condition.
    pub(crate) fn frame(&self) -> &Query {
        self.query.frame()
    }

    /// The query of this result.
    pub(crate) fn to_query(&self) -> ShapedQuery {
        self.query.clone()
    }

    /// The untyped result.
    pub(crate) fn to_fetched(&self) -> Fetched {
        Fetched {
            engine: self.engine,
            objects: self.objects.to_handles(),
            seq: self.seq,
        }
    }
}

impl<T> Deref for FetchedResult<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.objects
    }
}

impl<T> AsRef<[T]> for FetchedResult<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> Clone for FetchedResult<T> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            query: self.query.clone(),
            ..*self
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for FetchedResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Compares the objects by value; not the query.
impl<T: PartialEq> PartialEq for FetchedResult<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<'a, T> IntoIterator for &'a FetchedResult<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
