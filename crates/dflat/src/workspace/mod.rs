//! The workspace: where everything starts.

mod awaited;
#[cfg(feature = "sqlite")]
mod builder;
mod copy_to;
mod indexes;
mod observe;
mod perform;
mod performer;
mod refresh;
mod snapshot;
mod table_copy;
#[cfg(feature = "sqlite")]
mod upkeep;
#[cfg(feature = "history")]
mod versioned;

use std::fmt;
use std::sync::Arc;

use dflat_engine::engine::{Engine, EngineOptions};
use dflat_engine::storage::{Backend, CloseOptions};
use dflat_workspace::Source;

use crate::fetch;
use crate::{Dictionary, Fetch, Object, Result, Stats};
#[cfg(feature = "sqlite")]
pub use builder::{Concurrency, FileProtection, Progress, Reclaim, WorkspaceBuilder};
pub use copy_to::CopyTo;
pub use indexes::{Duplicate, IndexProgress, IndexState, IndexesReady};
pub use performer::Performer;
pub use snapshot::Snapshot;
pub use table_copy::TableCopy;

/// A database of typed objects: reads on any thread, transactions in the background, and
/// subscribers that are notified of changes.
///
/// # Guarantees
/// - A workspace is `Send + Sync`; clones are cheap and share it. Reads run on the caller's thread
///   and wait for no transaction.
/// - Transactions are atomic and strictly serializable, also across processes on one file.
/// - Dropping the last clone finishes the transactions queued so far and releases all resources, as
///   [`shutdown`](Self::shutdown) does; it blocks the thread meanwhile.
/// - A child process that was forked must not use the workspaces of its parent;
///   `docs/concurrency.md` has the rules.
///
/// # Durability
/// By default, a commit survives the end of the process, but a loss of power may undo the last
/// commits: see [`Durability`](crate::Durability). In memory, nothing survives.
///
/// # Errors
/// All calls return the one type [`Error`](crate::Error), whose [`kind`](crate::Error::kind) says
/// how the caller can react.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::{ErrorKind, Workspace};
/// use post::{Post, PostChangeRequest, PostData};
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory(); // or Workspace::open("posts.db")?
/// let create = || workspace.perform_changes_blocking([Post::TABLE], |tx| {
///     let data = PostData { title: "first post".into(), ..PostData::default() };
///     tx.submit(PostChangeRequest::creation(data))
/// });
/// create()?;
/// match create() {
///     Err(error) if error.kind() == ErrorKind::AlreadyExists => println!("{error}"),
///     other => drop(other?),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Workspace {
    untyped: dflat_workspace::Workspace,
}

impl Workspace {
    /// A workspace that keeps its objects in memory. They are lost when the last clone is dropped.
    /// All else is as on a file, so tests can use it in place of one.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(dflat_workspace::Workspace::in_memory())
    }

    /// A workspace on a backend that the caller provides. Tests provide backends that fail.
    #[doc(hidden)]
    #[must_use]
    pub fn on_backend(backend: Arc<dyn Backend>, options: EngineOptions) -> Self {
        Self::new(dflat_workspace::Workspace::on_backend(backend, options))
    }

    pub(crate) fn new(untyped: dflat_workspace::Workspace) -> Self {
        Self { untyped }
    }

    /// The reads, writes and waits of each file since the file was opened in this process, with
    /// suggestions in words. `None` in memory, and unless
    /// [`io_stats`](crate::WorkspaceBuilder::io_stats) was set.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn io_report(&self) -> Option<dflat_sqlite::IoReport> {
        self.untyped.io_report()
    }

    pub(crate) fn untyped(&self) -> &dflat_workspace::Workspace {
        &self.untyped
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source::Workspace(self.engine())
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.untyped.engine()
    }

    /// Values by key: settings and small state. All workspaces of this process on one file share
    /// the values in memory.
    #[must_use]
    pub fn dictionary(&self) -> Dictionary {
        Dictionary::new((**self.untyped.dictionary()).clone())
    }

    /// Starts a query on the latest committed state. Inside a transaction's handler, on its thread,
    /// the query sees what the transaction sees.
    pub fn fetch<T: Object>(&self) -> Fetch<'_, T> {
        Fetch::new(self.source())
    }

    /// Fetches the object with a primary key, of the latest committed state; `None` if there is
    /// none. NaN is no object's key. A key of several fields is a tuple.
    ///
    /// # Errors
    /// As [`Fetch::all`].
    ///
    /// # Cost
    /// One look-up and one allocation.
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
    /// let post: Option<Post> = workspace.get("first post")?;
    /// assert!(post.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get<T: Object>(&self, key: T::Key<'_>) -> Result<Option<T>> {
        fetch::get(self.source(), key)
    }

    /// Fetches the objects with these primary keys, all of one state, in the order of the keys:
    /// `None` for a key without an object.
    ///
    /// # Errors
    /// As [`Fetch::all`].
    ///
    /// # Cost
    /// A look-up for each key.
    pub fn get_many<'k, T: Object>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> Result<Vec<Option<T>>> {
        fetch::get_many(self.source(), keys)
    }

    /// Takes a snapshot: a view of the current state.
    ///
    /// # Errors
    /// As [`Fetch::all`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.engine().snapshot().map(Snapshot::new)
    }

    /// Calls `read` with a snapshot, which is fixed by the first fetch through it.
    ///
    /// # Errors
    /// As [`Fetch::all`], and those of `read`.
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
    /// let (all, urgent) = workspace.fetch_within_a_snapshot(|snapshot| {
    ///     let all = snapshot.fetch::<Post>().all()?;
    ///     let urgent = snapshot.fetch::<Post>().filter(Post::PRIORITY.gt(100)).all()?;
    ///     Ok((all, urgent))
    /// })?;
    /// assert!(urgent.len() <= all.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn fetch_within_a_snapshot<R>(
        &self,
        read: impl FnOnce(&Snapshot) -> Result<R>,
    ) -> Result<R> {
        read(&Snapshot::new(self.engine().unpinned_snapshot()?))
    }

    /// Counts of the work done since the file was opened in this process.
    ///
    /// Spans and events also go to `tracing`, with the target `dflat`: the spans `open`,
    /// `transaction`, `commit`, `checkpoint` and `backfill` (a batch of an index) and the events
    /// `backfill started`, `backfill finished` and `checkpoint made`, all at debug level; the
    /// warnings `commit failed`, `backfill failed`, `log pinned`, `old snapshot`, `slow query` and
    /// `slow subscriber`; and one warning for each value that a unique index finds twice.
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
    /// let created = workspace.perform_changes([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(PostData::default()))
    /// });
    /// created.wait()?;
    /// let stats = workspace.stats();
    /// assert_eq!((stats.transactions, stats.groups, stats.conflicts), (1, 1, 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// Counting costs a few instructions for each transaction. This call reads the size of a file.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.untyped.stats()
    }

    /// Waits until all work queued so far is done: transactions and subscriptions, their callbacks
    /// and completions, and the building of indexes.
    ///
    /// # Errors
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn settle(&self) -> Result<()> {
        self.engine().settle()
    }

    /// Finishes the transactions queued so far and releases all resources. Every later call that
    /// reads or writes fails with [`ShutDown`](crate::ErrorKind::ShutDown), including those of the
    /// [dictionary](Self::dictionary) and of upkeep; only handlers that were queued before can read
    /// until they end. Objects and results that were read stay readable. Snapshots that are still
    /// held end, and so does a suspension. A second call does no harm.
    ///
    /// # Errors
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback: use
    /// [`shutdown_then`](Self::shutdown_then) there. Otherwise the errors of closing the file.
    pub fn shutdown(&self) -> Result<()> {
        self.shutdown_with(CloseOptions::default())
    }

    /// Shuts down as [`shutdown`](Self::shutdown) does, and tidies up the file: `truncate` leaves
    /// one file, without a write-ahead log beside it; `vacuum` gives unused space back. If the file
    /// is open in other workspaces of this process, the options of the last one to be shut down
    /// count.
    ///
    /// # Examples
    /// ```
    /// use dflat::{CloseOptions, Workspace};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::open(path)?;
    /// workspace.shutdown_with(CloseOptions { truncate: true, vacuum: true })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`shutdown`](Self::shutdown); [`Busy`](crate::ErrorKind::Busy) if another program uses
    /// the file. The file is closed nevertheless.
    ///
    /// # Cost
    /// `vacuum` moves as many pages as are unused; a file of Dflat for Swift is written anew.
    pub fn shutdown_with(&self, options: CloseOptions) -> Result<()> {
        self.untyped.shutdown_with(options)
    }

    /// Shuts down as [`shutdown`](Self::shutdown) does, without waiting: `completion` is called at
    /// the end, on a separate thread.
    pub fn shutdown_then(&self, completion: impl FnOnce(Result<()>) + Send + 'static) {
        let options = CloseOptions::default();
        self.untyped.shutdown_then(options, completion);
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}
