//! Subscriptions to objects, results and queries.

use super::Workspace;
use crate::Result;
use crate::observe::{Deliveries, Observable, Observation, Subscription};

impl Workspace {
    /// Calls `callback` whenever an object, a result or the result of a query has changed, until
    /// the subscription is cancelled or dropped.
    ///
    /// - An object (`&post`) delivers a [`SubscribedObject`](crate::SubscribedObject) for each
    ///   change; its deletion is the last delivery. If `post` is out of date, the missed changes
    ///   are delivered first.
    /// - A result (`&posts`) delivers each new result, as an [`Update`](crate::Update) with the
    ///   difference from the result before. If `posts` is out of date, that difference is delivered
    ///   first.
    /// - A query (`workspace.fetch::<Post>()..`) delivers its result first, and then each new
    ///   result.
    /// - The [`live_count`](crate::Fetch::live_count) of a query delivers the number of its
    ///   objects, and its [`live_select`](crate::Fetch::live_select) some of their values, in the
    ///   same way.
    ///
    /// If a result can't be fetched, at the start or later, the subscription delivers the error
    /// once, and goes on as soon as the result can be fetched. A subscription to an object has no
    /// delivery for errors: it ends with [`Subscription::error`] if the object is damaged, and
    /// otherwise goes on as soon as the object can be read. [`observe`](Self::observe) has more
    /// choices; the guide is `docs/live-queries.md`.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// use std::sync::mpsc;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let (send, counts) = mpsc::channel();
    /// let urgent = workspace.fetch::<Post>().filter(Post::PRIORITY.gt(100));
    /// let subscription = workspace.subscribe(urgent, move |posts| {
    ///     let _ = send.send(posts.map(|posts| posts.len()));
    /// })?;
    /// assert_eq!(counts.recv().expect("the first delivery")?, 0);
    ///
    /// let data = PostData { title: "urgent".into(), priority: 150, ..PostData::default() };
    /// let created = workspace.perform_changes([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(data))
    /// });
    /// created.wait()?;
    /// assert_eq!(counts.recv().expect("delivered before the transaction ended")?, 1);
    /// subscription.cancel();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Concurrency
    /// The subscription takes its turn on the type like a transaction: changes performed before
    /// this call are part of the first result, changes performed after it are delivered. The
    /// callback runs on a thread of the workspace, after the commit and before the transaction's
    /// completion, once for each commit that changed the subscribed result, in the order of the
    /// commits.
    ///
    /// A completion waits for the callbacks of its own commit and of earlier commits, one second in
    /// all unless [chosen otherwise](crate::WorkspaceBuilder::subscriber_patience); the next
    /// transactions never wait. A callback that still runs after that time is slow: no completion
    /// waits for it any more, and the deliveries it has not seen are merged into one, until it has
    /// seen all and its call was quick. The callback must not block on transactions. A callback
    /// that panics is not called again, and [`Subscription::error`] returns the panic.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a query of a snapshot or
    /// transaction.
    pub fn subscribe<O: Observable>(
        &self,
        observable: O,
        callback: impl FnMut(O::Delivery) + Send + 'static,
    ) -> Result<Subscription> {
        self.observe(observable)?.call(callback)
    }

    /// Prepares a subscription whose deliveries go to an executor, a stream of every delivery, a
    /// blocking iterator, or a cell that holds the latest.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a query of a snapshot or
    /// transaction.
    pub fn observe<O: Observable>(&self, observable: O) -> Result<Observation<O::Delivery>> {
        Observation::new(observable, self.engine())
    }

    /// Subscribes as [`subscribe`](Self::subscribe) does, with the newest delivery as a stream,
    /// when the stream is polled for the first time.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe).
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use futures::{StreamExt, executor::block_on};
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let mut posts = workspace.stream(workspace.fetch::<Post>())?;
    /// let first = block_on(posts.next()).expect("the result as it is")?;
    /// assert!(first.is_empty());
    /// workspace.shutdown()?;
    /// assert!(block_on(posts.next()).is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<O: Observable>(&self, observable: O) -> Result<Deliveries<O::Delivery>> {
        Ok(self.observe(observable)?.stream())
    }
}
