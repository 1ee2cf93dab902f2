//! Views of one state of a workspace.

use std::fmt;

use dflat_engine::engine::EngineSnapshot;
use dflat_workspace::Source;

use crate::fetch;
use crate::{AsyncCall, Fetch, Object, Result};

/// A view of one committed state: all objects fetched through it are of that state, even if
/// transactions commit meanwhile. It does not block writers. While it is held, the write-ahead log
/// can't start again: see [`old_snapshot`](crate::WorkspaceBuilder::old_snapshot) and
/// [`snapshot_age_max`](crate::WorkspaceBuilder::snapshot_age_max). Any number may be held.
///
/// A snapshot may be used by several threads; their reads take turns.
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
/// let before = workspace.snapshot()?;
/// workspace.perform_changes_blocking([Post::TABLE], |tx| {
///     tx.submit(PostChangeRequest::creation(PostData::default()))
/// })?;
/// let thread = std::thread::scope(|scope| scope.spawn(|| before.fetch::<Post>().count()).join());
/// assert_eq!(thread.expect("it ends")?, 0);
/// assert_eq!(workspace.fetch::<Post>().count()?, 1);
/// # Ok(())
/// # }
/// ```
pub struct Snapshot {
    inner: EngineSnapshot,
}

impl Snapshot {
    pub(crate) fn new(inner: EngineSnapshot) -> Self {
        Self { inner }
    }

    fn source(&self) -> Source<'_> {
        Source::Snapshot(&self.inner)
    }

    /// Starts a query on this state.
    pub fn fetch<T: Object>(&self) -> Fetch<'_, T> {
        Fetch::new(self.source())
    }

    /// Fetches the object with a primary key.
    ///
    /// # Errors
    /// As [`Fetch::all`].
    pub fn get<T: Object>(&self, key: T::Key<'_>) -> Result<Option<T>> {
        fetch::get(self.source(), key)
    }

    /// Fetches the objects with these primary keys, as
    /// [`Workspace::get_many`](crate::Workspace::get_many).
    ///
    /// # Errors
    /// As [`Fetch::all`].
    pub fn get_many<'k, T: Object>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> Result<Vec<Option<T>>> {
        fetch::get_many(self.source(), keys)
    }

    /// [`get`](Self::get) as a future. Reads of one snapshot take turns. The snapshot is held until
    /// its last read has ended or its future is dropped.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_async<T: Object>(&self, key: T::Key<'_>) -> AsyncCall<Option<T>> {
        fetch::get_async(self.source(), key)
    }

    /// [`get_many`](Self::get_many) as a future, as [`get_async`](Self::get_async).
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many).
    pub fn get_many_async<'k, T: Object>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> AsyncCall<Vec<Option<T>>> {
        fetch::get_many_async(self.source(), keys)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}
