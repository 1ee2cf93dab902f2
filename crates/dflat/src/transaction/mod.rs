//! The typed view on a transaction, inside its handler.

mod change_request;
mod encoded;
mod handle;
pub(crate) mod own_error;
mod submit_many;
mod write_by_query;

use std::fmt;

use dflat_engine::transaction::{Outcome, TransactionObject};
use dflat_model::RowId;

use crate::fetch;
use crate::object::Stored;
use crate::{Durability, Error, Fetch, Object, Result, TransactionDictionary};
pub use change_request::ChangeRequest;
pub(crate) use encoded::encode_named;
pub use handle::TransactionHandle;
pub(crate) use handle::{Returned, Shared};

/// A transaction, inside its handler, which changes and reads objects through it.
///
/// It stays on the handler's thread and ends with the handler: neither of these compiles.
///
/// ```compile_fail,E0277
/// fn leaves_its_thread(tx: &dflat::TransactionContext) {
///     std::thread::scope(|scope| {
///         scope.spawn(|| tx.abort());
///     });
/// }
/// ```
///
/// ```compile_fail,E0277
/// fn outlives_its_handler(workspace: &dflat::Workspace, table: dflat::Table) {
///     let mut kept = None;
///     let handle = workspace.perform_changes([table], |tx| {
///         kept = Some(tx);
///         Ok(())
///     });
///     handle.detach();
/// }
/// ```
pub struct TransactionContext {
    inner: dflat_workspace::TransactionContext,
}

impl TransactionContext {
    pub(crate) fn new(inner: dflat_workspace::TransactionContext) -> Self {
        Self { inner }
    }

    /// The workspace's dictionary inside this transaction, which must declare
    /// [`Dictionary::TABLE`](crate::Dictionary::TABLE): its values change together with the
    /// objects.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{Dictionary, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let created = workspace.perform_changes_retrying([Post::TABLE, Dictionary::TABLE], |tx| {
    ///     let count = tx.dictionary().update("posts", |n: Option<i64>| Some(n.unwrap_or(0) + 1))?;
    ///     let title = format!("post {}", count.unwrap_or(0));
    ///     tx.submit(PostChangeRequest::creation(PostData { title, ..PostData::default() }))
    /// });
    /// created.wait()?;
    /// assert_eq!(workspace.dictionary().get::<i64>("posts")?, Some(1));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn dictionary(&self) -> TransactionDictionary<'_> {
        TransactionDictionary::new((**self.inner.dictionary()).clone(), &self.inner)
    }

    /// Sets the durability of this transaction's commit, instead of the one that the workspace was
    /// opened with: for example, so that a payment survives a loss of power while all other commits
    /// are faster. It may be called before or after changes; the last call counts. Transactions
    /// that share a commit get the strongest durability that one of them requests. In memory it has
    /// no effect.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{Durability, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let paid = workspace.perform_changes([Post::TABLE], |tx| {
    ///     tx.set_durability(Durability::Full);
    ///     tx.submit(PostChangeRequest::creation(PostData::default()))
    /// });
    /// paid.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// [`Full`](Durability::Full) waits for the device once a commit. If it is set after the first
    /// change, the changes made so far are written once more; those of a large transaction are read
    /// first, and held in memory from then on.
    pub fn set_durability(&self, durability: Durability) {
        self.inner.transaction().set_durability(durability);
    }

    /// Sets a label for this transaction's [change record](crate::WorkspaceBuilder::change_log),
    /// such as the name of a command in a menu. The last call counts. Without a change record, and
    /// in memory, it has no effect.
    pub fn set_label(&self, label: &str) {
        self.inner.transaction().set_label(label);
    }

    /// Sets a number for this transaction's [change record](crate::WorkspaceBuilder::change_log)
    /// that it shares with the transactions that are undone together with it. The program chooses
    /// the number. The last call counts. Without a change record, and in memory, it has no effect.
    pub fn set_undo_group(&self, group: u64) {
        self.inner.transaction().set_undo_group(group);
    }

    /// Carries out a change. Its effect is visible to this transaction at once, and to all readers
    /// when the transaction has committed.
    ///
    /// # Errors
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if another object has the primary key,
    ///   or the same value of a unique field. Nothing is changed, and the transaction goes on.
    /// - [`KeysExhausted`](crate::ErrorKind::KeysExhausted) if the key of a new object is assigned
    ///   by the library (`auto` in the schema), and the table holds the largest one. Nothing is
    ///   changed, and the transaction goes on.
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the object to update was deleted meanwhile.
    ///   Nothing is changed, and the transaction goes on.
    /// - [`OutOfDate`](crate::ErrorKind::OutOfDate) if the request is an
    ///   [optimistic](ChangeRequest::if_unchanged) one and its object was changed. Nothing is
    ///   changed, and the transaction goes on.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the primary key of the object to
    ///   write has no value, such as NaN, if the object is larger than SQLite stores (about
    ///   1,000,000,000 bytes), or if the request was made in another transaction. Nothing is
    ///   changed, and the transaction goes on.
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) if `perform_changes` was not given
    ///   the type. The transaction goes on.
    /// - [`Aborted`](crate::ErrorKind::Aborted) after [`abort`](Self::abort) or an error below.
    /// - Any other error, such as a full disk, loses the transaction: none of its changes is kept,
    ///   and its handle returns this error, even if the handler returns `Ok`.
    ///
    /// # Cost
    /// Until the commit is delivered, each changed object is in memory twice: before and after the
    /// change. If a transaction only inserts objects of a type without subscribers, outside of
    /// [savepoints](Self::nested), at most some hundreds of them are in memory: an import may have
    /// any size.
    #[inline]
    pub fn submit<T: Object>(&self, request: ChangeRequest<T>) -> Result<UpdatedObject<T>> {
        request.submit(self.inner.transaction())
    }

    /// Undoes all changes of this transaction, those made so far and those made later. Returns true
    /// the first time. The handler goes on; the handle gives
    /// [`Aborted`](crate::ErrorKind::Aborted).
    pub fn abort(&self) -> bool {
        self.inner.transaction().abort()
    }

    /// Runs `changes` behind a savepoint: if it returns an error, its changes are undone, and the
    /// transaction goes on with the changes made before. Savepoints can be nested.
    ///
    /// Objects that were read or written behind a savepoint that is undone show values that are not
    /// stored; requests made from them start from the stored values when they are submitted.
    /// [`abort`](Self::abort) inside aborts the whole transaction. A panic undoes the changes and
    /// goes on: unless the handler catches it, it undoes the transaction.
    ///
    /// # Errors
    /// - Those of `changes`.
    /// - [`Aborted`](crate::ErrorKind::Aborted), without a call of `changes`, if the transaction is
    ///   aborted or lost.
    /// - If undoing fails, for example because the disk is full, the transaction is lost and the
    ///   error returned.
    ///
    /// # Cost
    /// Memory for each object changed behind the savepoint, until the savepoint ends. Undoing
    /// writes the rows back.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{ErrorKind, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let create = |title: &str| {
    ///     PostChangeRequest::creation(PostData { title: title.into(), ..PostData::default() })
    /// };
    /// let done = workspace.perform_changes([Post::TABLE], move |tx| {
    ///     tx.submit(create("a"))?;
    ///     // Both or none: the second is refused, so the first is undone.
    ///     let both = tx.nested(|tx| {
    ///         tx.submit(create("b"))?;
    ///         tx.submit(create("a"))
    ///     });
    ///     assert_eq!(both.unwrap_err().kind(), ErrorKind::AlreadyExists);
    ///     tx.submit(create("c"))
    /// });
    /// done.wait()?;
    /// let titles: Vec<_> =
    ///     workspace.fetch::<Post>().all()?.iter().map(|post| post.title().to_owned()).collect();
    /// assert_eq!(titles, ["a", "c"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn nested<R>(&self, changes: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        self.inner.nested(|| changes(self))
    }

    /// Runs `changes` behind a savepoint as [`nested`](Self::nested) does, where `changes` returns
    /// an error of the caller's own type, as [`with_error`](crate::Workspace::with_error) allows
    /// for handlers. Name the type in the closure: `|tx| -> Result<_, MyError> { .. }`.
    ///
    /// # Errors
    /// As [`nested`](Self::nested), where errors of the library are converted to `E`.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// type AnyError = Box<dyn std::error::Error + Send + Sync>;
    /// # fn main() -> Result<(), AnyError> {
    /// let workspace = Workspace::in_memory();
    /// let done = workspace.with_error::<AnyError>().perform_changes([Post::TABLE], |tx| {
    ///     let parsed = tx.nested_with_error(|tx| -> Result<(), AnyError> {
    ///         tx.submit(PostChangeRequest::creation(PostData::default()))?;
    ///         "seven".parse::<i32>()?;
    ///         Ok(())
    ///     });
    ///     assert!(parsed.is_err());
    ///     Ok(tx.fetch::<Post>().count()?)
    /// });
    /// assert_eq!(done.wait()?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn nested_with_error<R, E: From<Error> + 'static>(
        &self,
        changes: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut own = None;
        let outcome = self.inner.nested(|| {
            let returned = changes(self);
            returned.map_err(|error| own_error::keep(error, &mut own))
        });
        outcome.map_err(|error| own_error::join(error, own))
    }

    /// Starts a query that sees this transaction's own changes.
    pub fn fetch<T: Object>(&self) -> Fetch<'_, T> {
        Fetch::new(self.inner.source())
    }

    /// Fetches the object with a primary key, including this transaction's own changes.
    ///
    /// # Errors
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) if `perform_changes` was not given
    ///   the type.
    /// - [`Aborted`](crate::ErrorKind::Aborted) if the transaction is aborted or lost.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the object's row is damaged; otherwise the
    ///   errors of reading the file.
    pub fn get<T: Object>(&self, key: T::Key<'_>) -> Result<Option<T>> {
        fetch::get(self.inner.source(), key)
    }

    /// Fetches the objects with these primary keys, as
    /// [`Workspace::get_many`](crate::Workspace::get_many), including this transaction's own
    /// changes.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_many<'k, T: Object>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> Result<Vec<Option<T>>> {
        fetch::get_many(self.inner.source(), keys)
    }

    /// Whether there is an object with the primary key of each payload.
    #[cfg(feature = "pack")]
    pub(crate) fn have_keys_of<T: Object>(&self, payloads: &[&[u8]]) -> Result<Vec<bool>> {
        let transaction = self.inner.transaction();
        transaction.have_keys_of(Stored::<T>::TABLE, payloads)
    }

    /// The latest state of an object.
    pub(crate) fn latest<T: Object>(&self, object: &T) -> Result<Option<TransactionObject>> {
        let transaction = self.inner.transaction();
        transaction.latest(Stored::<T>::TABLE, object.handle())
    }

    /// The latest state of an object, which may lack required values.
    pub(crate) fn latest_to_delete<T: Object>(
        &self,
        object: &T,
    ) -> Result<Option<TransactionObject>> {
        let transaction = self.inner.transaction();
        transaction.latest_to_delete(Stored::<T>::TABLE, object.handle())
    }
}

impl fmt::Debug for TransactionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionContext").finish_non_exhaustive()
    }
}

/// The effect of [`TransactionContext::submit`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UpdatedObject<T> {
    /// A new object.
    Inserted(T),
    /// The object with its new values.
    Updated(T),
    /// The object, which had these values already: nothing was written, and subscribers are not
    /// notified.
    Identity(T),
    /// The object with this row id is deleted.
    Deleted(RowId),
}

impl<T: Object> UpdatedObject<T> {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Inserted(object) => Self::Inserted(T::from_handle(object)),
            Outcome::Updated(object) => Self::Updated(T::from_handle(object)),
            Outcome::Identity(object) => Self::Identity(T::from_handle(object)),
            Outcome::Deleted(row_id) => Self::Deleted(row_id),
        }
    }
}

impl<T> UpdatedObject<T> {
    /// The object, unless it was deleted.
    #[must_use]
    pub fn into_object(self) -> Option<T> {
        match self {
            Self::Inserted(object) | Self::Updated(object) | Self::Identity(object) => Some(object),
            Self::Deleted(_) => None,
        }
    }

    /// The object, unless it was deleted.
    #[must_use]
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Inserted(object) | Self::Updated(object) | Self::Identity(object) => Some(object),
            Self::Deleted(_) => None,
        }
    }
}
