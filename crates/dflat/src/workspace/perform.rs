//! The forms of performing changes: in the background or on the caller's thread, each with a form
//! that retries.

use dflat_model::Table;

use crate::{Error, Performer, Result, TransactionContext, TransactionHandle, Workspace};

impl Workspace {
    /// Runs `handler` in a transaction over these types, in the background, and returns at once.
    ///
    /// The handler reads and changes objects through its [`TransactionContext`]. If it returns
    /// `Ok`, its changes are committed together; if it returns an error, aborts or panics, none is.
    /// The handle gives the value that the handler returns.
    ///
    /// The handler runs once. If it reads before it writes, and another process commits between its
    /// first read and its first change, the transaction fails with
    /// [`Busy`](crate::ErrorKind::Busy). For such a handler use
    /// [`perform_changes_retrying`](Self::perform_changes_retrying) or
    /// [`write_first`](Self::write_first), unless only one process writes to the file.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{UpdatedObject, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let created = workspace.perform_changes([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(PostData {
    ///         title: "first post".into(),
    ///         ..PostData::default()
    ///     }))
    /// });
    /// let UpdatedObject::Inserted(post) = created.wait()? else { panic!("not inserted") };
    /// assert_eq!(post.title(), "first post");
    ///
    /// // An update starts from the latest values; a handle can be awaited or detached, too.
    /// let update = workspace.perform_changes_retrying([Post::TABLE], move |tx| {
    ///     if let Some(mut request) = PostChangeRequest::change(tx, &post)? {
    ///         request.priority = 7;
    ///         tx.submit(request)?;
    ///     }
    ///     Ok(())
    /// });
    /// update.wait()?;
    /// assert_eq!(workspace.get::<Post>("first post")?.map(|post| post.priority()), Some(7));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Concurrency
    /// Transactions that share a type run one after the other, in the order of the calls. Others
    /// run at the same time until they make their first change. The handler runs on a thread of the
    /// workspace. After the commit, on a thread of the workspace and in this order: callbacks of
    /// subscribed objects, callbacks of subscribed results, the completion of the handle.
    ///
    /// # Cost
    /// If the caller waits for each transaction, the caller and the thread of the handler wake
    /// each other: four calls of `futex` on Linux.
    /// [`perform_changes_blocking`](Self::perform_changes_blocking) makes one. Transactions that
    /// are queued, and waited for afterwards, share commits and cost least. The page `performance`
    /// of the guides has figures.
    ///
    /// # Errors
    /// The call itself does not fail; see [`TransactionHandle::wait`].
    pub fn perform_changes<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> TransactionHandle<R> {
        self.performer().perform_changes(types, handler)
    }

    /// Performs changes as [`perform_changes`](Self::perform_changes) does, but runs `handler`
    /// again while another process has committed between its first read and its first change. The
    /// changes of a run that is repeated are undone. Before the second run, the transaction waits
    /// for write access and takes it, as with [`write_first`](Self::write_first). So no commit of
    /// another process makes it fail, and the handler runs twice at most, unless it sets a higher
    /// durability than the workspace has. On a server, the handler also runs again if the server
    /// ends the transaction because of another one, such as in a deadlock with an administrator's.
    ///
    /// Effects of earlier runs outside of the workspace are not undone.
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
    /// let number = workspace.perform_changes_retrying([Post::TABLE], |tx| {
    ///     let number = tx.fetch::<Post>().all()?.len();
    ///     let title = format!("post {number}");
    ///     tx.submit(PostChangeRequest::creation(PostData { title, ..PostData::default() }))?;
    ///     Ok(number)
    /// });
    /// assert_eq!(number.wait()?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call itself does not fail; see [`TransactionHandle::wait`]. The handle gives
    /// [`Busy`](crate::ErrorKind::Busy) only if another process has kept the file locked for the
    /// [busy timeout](crate::WorkspaceBuilder::busy_timeout).
    pub fn perform_changes_retrying<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnMut(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> TransactionHandle<R> {
        self.performer().perform_changes_retrying(types, handler)
    }

    /// Runs `handler` in a transaction as [`perform_changes`](Self::perform_changes) does, but on
    /// this thread, and waits until the transaction is committed and its callbacks have returned.
    /// The handler may borrow, and need not be `Send`. Use it for a transaction that the caller
    /// waits for: it hardly ever switches between threads.
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
    /// let titles = ["a", "b"].map(String::from);
    /// let mut last = None;
    /// let count = workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     for title in &titles {
    ///         let data = PostData { title: title.clone(), ..PostData::default() };
    ///         last = tx.submit(PostChangeRequest::creation(data))?.into_object();
    ///     }
    ///     Ok(titles.len())
    /// })?;
    /// assert_eq!((count, last.as_ref().map(Post::title)), (2, Some("b")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Concurrency
    /// The transaction takes its turn like any other, and needs none of the threads that
    /// [`threads_max`](crate::WorkspaceBuilder::threads_max) bounds. While it waits for its commit,
    /// callbacks and completions of other transactions may run on this thread.
    ///
    /// # Errors
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback; otherwise
    /// as [`TransactionHandle::wait`].
    pub fn perform_changes_blocking<R>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R>,
    ) -> Result<R> {
        self.performer().perform_changes_blocking(types, handler)
    }

    /// Performs changes as [`perform_changes_blocking`](Self::perform_changes_blocking) does, but
    /// runs `handler` again as [`perform_changes_retrying`](Self::perform_changes_retrying) does.
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
    /// let mut runs = 0;
    /// let number = workspace.perform_changes_blocking_retrying([Post::TABLE], |tx| {
    ///     runs += 1;
    ///     let number = tx.fetch::<Post>().all()?.len();
    ///     let title = format!("post {number}");
    ///     tx.submit(PostChangeRequest::creation(PostData { title, ..PostData::default() }))?;
    ///     Ok(number)
    /// })?;
    /// assert_eq!((number, runs), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`perform_changes_blocking`](Self::perform_changes_blocking), and
    /// [`Busy`](crate::ErrorKind::Busy) as
    /// [`perform_changes_retrying`](Self::perform_changes_retrying).
    pub fn perform_changes_blocking_retrying<R>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnMut(&TransactionContext) -> Result<R>,
    ) -> Result<R> {
        self.performer()
            .perform_changes_blocking_retrying(types, handler)
    }

    /// A view of the workspace whose transactions take write access before their handlers run. A
    /// handler may then read and write, and no other process can commit in between, so the handler
    /// runs once and does not fail with [`Busy`](crate::ErrorKind::Busy) for this reason. Use it if
    /// a handler must run once.
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
    /// let number = workspace.write_first().perform_changes_blocking([Post::TABLE], |tx| {
    ///     let number = tx.fetch::<Post>().all()?.len();
    ///     let title = format!("post {number}");
    ///     tx.submit(PostChangeRequest::creation(PostData { title, ..PostData::default() }))?;
    ///     Ok(number)
    /// })?;
    /// assert_eq!(number, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// While the handler runs, no transaction of this workspace or of another process can write,
    /// even if this handler only reads. Such a transaction shares its commit with no earlier one,
    /// and creates the file even if it changes nothing.
    pub fn write_first(&self) -> Performer<'_> {
        self.performer().write_first()
    }

    /// A view of the workspace whose handlers return errors of type `E`, and whose handles give
    /// them back: so `?` works in a handler on every error that converts to `E`, such as that of a
    /// parser. The error need not implement [`std::error::Error`]. A handler with an error is
    /// undone and not repeated, whatever the type of the error.
    ///
    /// Errors of the library are converted by `E`'s `From<dflat::Error>`: those that `?` meets in
    /// the handler, and those of the transaction itself, such as a full disk. If the transaction
    /// was lost, aborted or panicked, the outcome is that error and not the handler's own. Such a
    /// conversion runs on the thread that takes the outcome.
    ///
    /// Without this view, handlers return [`Error`]; [`Error::user`] wraps another error in it. In
    /// a [savepoint](TransactionContext::nested), use
    /// [`nested_with_error`](TransactionContext::nested_with_error).
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// use std::num::ParseIntError;
    ///
    /// #[derive(Debug)]
    /// enum ImportError {
    ///     Number(ParseIntError),
    ///     Database(dflat::Error),
    /// }
    ///
    /// impl From<ParseIntError> for ImportError {
    ///     fn from(error: ParseIntError) -> Self {
    ///         Self::Number(error)
    ///     }
    /// }
    ///
    /// impl From<dflat::Error> for ImportError {
    ///     fn from(error: dflat::Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// let workspace = Workspace::in_memory();
    /// let import = workspace.with_error::<ImportError>();
    /// let imported = import.perform_changes([Post::TABLE], |tx| {
    ///     for (title, priority) in [("first", "7"), ("second", "high")] {
    ///         let priority = priority.parse()?;
    ///         let data = PostData { title: title.into(), priority, ..PostData::default() };
    ///         tx.submit(PostChangeRequest::creation(data))?;
    ///     }
    ///     Ok(())
    /// });
    /// assert!(matches!(imported.wait(), Err(ImportError::Number(_))));
    /// ```
    pub fn with_error<E: From<Error> + Send + 'static>(&self) -> Performer<'_, E> {
        self.performer().with_error()
    }

    fn performer(&self) -> Performer<'_> {
        Performer::new(self)
    }
}
