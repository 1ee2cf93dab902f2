//! Writes by key and by query: the object with a key, or all objects that meet a condition, changed
//! or deleted inside a transaction.

use dflat_model::Query;

use super::{ChangeRequest, TransactionContext};
use crate::object::Stored;
use crate::{Object, Predicate, Result};

impl TransactionContext {
    /// Deletes the object with a primary key, and returns it as it was; `None` if there is none.
    ///
    /// The effect is the same as that of a [`deletion`](ChangeRequest::deletion) of the object that
    /// [`get`](Self::get) reads.
    ///
    /// # Errors
    /// As [`get`](Self::get) and [`submit`](Self::submit).
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
    /// let deleted = workspace
    ///     .perform_changes_retrying([Post::TABLE], |tx| tx.delete::<Post>("a"))
    ///     .wait()?;
    /// assert!(deleted.is_none(), "there is no post");
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete<T: Object>(&self, key: T::Key<'_>) -> Result<Option<T>> {
        let Some(object) = self.get::<T>(key)? else {
            return Ok(None);
        };
        match ChangeRequest::deletion(self, &object)? {
            Some(request) => self.submit(request).map(|_| Some(object)),
            None => Ok(None),
        }
    }

    /// Changes all objects that meet a condition when this is called, in the order of insertion.
    /// Returns their number. If one of them can't be changed, none is.
    ///
    /// The effect is the same as fetching the objects and submitting a change of each, behind a
    /// [savepoint](Self::nested), with the same conflicts, index entries and notifications. An
    /// object that `change` leaves as it was counts as unchanged.
    ///
    /// # Errors
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if an object is given a key or a unique
    ///   value that another object has by then. The transaction goes on, without any of these
    ///   changes.
    /// - As [`fetch`](Self::fetch) and [`submit`](Self::submit).
    ///
    /// # Memory
    /// Some hundred objects, and eight bytes for each object that meets the condition, besides the
    /// transaction's list of changes for its subscribers.
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
    /// let changed = workspace.perform_changes_retrying([Post::TABLE], |tx| {
    ///     tx.delete_where(Post::PRIORITY.lt(0))?;
    ///     tx.update_where(Post::PRIORITY.gt(100), |post| post.color = Color::Red)
    /// });
    /// assert_eq!(changed.wait()?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn update_where<T: Object>(
        &self,
        condition: Predicate<T>,
        mut change: impl FnMut(&mut T::Data),
    ) -> Result<usize> {
        let query = self.query_for(condition)?;
        self.inner.write_each(Stored::<T>::TABLE, query, |found| {
            let mut request = ChangeRequest::<T>::update(found);
            change(&mut request);
            self.submit(request).map(drop)
        })
    }

    /// Deletes all objects that meet a condition. Returns their number. The effect is the same as
    /// fetching the objects and submitting a deletion of each, behind a [savepoint](Self::nested).
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch) and [`submit`](Self::submit).
    ///
    /// # Memory
    /// As [`update_where`](Self::update_where).
    pub fn delete_where<T: Object>(&self, condition: Predicate<T>) -> Result<usize> {
        let query = self.query_for(condition)?;
        self.inner.delete_where(Stored::<T>::TABLE, query)
    }

    fn query_for<T: Object>(&self, condition: Predicate<T>) -> Result<Query> {
        self.fetch::<T>().filter(condition).into_query()
    }
}
