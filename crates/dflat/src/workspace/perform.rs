//! Performing changes: in the background, again, or here.

use std::sync::Arc;

use dflat_model::Table;

use crate::transaction::{Shared, channel};
use crate::{Result, TransactionContext, TransactionHandle, Workspace};

impl Workspace {
    /// Runs `handler` in a transaction over these types, in the background, and returns at once.
    ///
    /// The handler reads and changes objects through its [`TransactionContext`]. If it returns
    /// `Ok`, its changes are committed together; if it returns an error, aborts or panics, none is.
    /// If another process has committed between its first read and its first change, the
    /// transaction fails with [`Busy`](crate::ErrorKind::Busy); see
    /// [`perform_changes_retrying`](Self::perform_changes_retrying). The handle gives the value
    /// that the handler returns.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(
    /// #         env!("CARGO_MANIFEST_DIR"),
    /// #         "/../dflat-codegen/tests/data/post/rust.rs"
    /// #     ));
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
    /// let update = workspace.perform_changes([Post::TABLE], move |tx| {
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
    /// # Errors
    /// The call itself does not fail; see [`TransactionHandle::wait`].
    pub fn perform_changes<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> TransactionHandle<R> {
        let (shared, handle) = channel();
        let handler = move |context, shared: &Shared<R>| {
            shared.give(handler(&TransactionContext::new(context))?);
            Ok(())
        };
        let completion = |shared: Arc<Shared<R>>, outcome| shared.complete(outcome);
        self.untyped().perform(types, shared, handler, completion);
        handle
    }

    /// Performs changes as [`perform_changes`](Self::perform_changes) does, but runs `handler`
    /// again if another process has committed since its first read, where `perform_changes` fails
    /// with [`Busy`](crate::ErrorKind::Busy). The handler runs 5 times at most; the last run keeps
    /// other processes from committing until it ends, so it does not fail for this reason.
    ///
    /// Effects of earlier runs outside of the workspace are not undone.
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
    /// The call itself does not fail; see [`TransactionHandle::wait`].
    pub fn perform_changes_retrying<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut handler: impl FnMut(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> TransactionHandle<R> {
        let (shared, handle) = channel();
        let handler = move |context, shared: &Shared<R>| {
            shared.give(handler(&TransactionContext::new(context))?);
            Ok(())
        };
        let completion = |shared: Arc<Shared<R>>, outcome| shared.complete(outcome);
        let untyped = self.untyped();
        untyped.perform_retrying(types, shared, handler, completion);
        handle
    }

    /// Runs `handler` in a transaction as [`perform_changes`](Self::perform_changes) does, but on
    /// this thread, and waits until the transaction is committed and its callbacks have returned.
    /// The handler may borrow, and need not be `Send`.
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
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback; else as
    /// [`TransactionHandle::wait`].
    pub fn perform_changes_blocking<R>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R>,
    ) -> Result<R> {
        let handler = |context| handler(&TransactionContext::new(context));
        self.untyped().perform_blocking(types, handler)
    }
}
