//! Writes by query: all objects that meet a condition, changed or deleted inside a transaction.

use dflat_engine::fetch;
use dflat_engine::object::Object as Handle;
use dflat_engine::storage::View;

use crate::{ChangeRequest, Object, Predicate, Result, TransactionContext};

/// Objects that are held at once.
const BATCH: usize = 256;

impl TransactionContext {
    /// Changes all objects that meet a condition when this is called, in the order of insertion:
    /// all of them or, if one can't be changed so, none. The number of objects that met it.
    ///
    /// It is the same as fetching them and submitting a change of each, in a
    /// [group](Self::nested) of its own: the same conflicts, index entries and notifications, an
    /// object that `change` leaves as it was counting as unchanged.
    ///
    /// # Errors
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if an object is given a key or a unique
    ///   value that another has by then; the transaction goes on as if this was never called.
    /// - As [`fetch`](Self::fetch) and [`submit`](Self::submit).
    ///
    /// # Memory
    /// Some hundred objects, and eight bytes for each that meets the condition; beside what the
    /// transaction keeps of each change for its subscribers.
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
    /// let changed = workspace.perform_changes([Post::TABLE], |tx| {
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
        self.each(condition, |object| {
            // Nobody deletes it meanwhile: the condition was met in this transaction.
            if let Some(mut request) = ChangeRequest::change(self, object)? {
                change(&mut request);
                self.submit(request)?;
            }
            Ok(())
        })
    }

    /// Deletes all objects that meet a condition: the number of them. It is the same as fetching
    /// them and submitting a deletion of each.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch) and [`submit`](Self::submit).
    ///
    /// # Memory
    /// As [`update_where`](Self::update_where).
    pub fn delete_where<T: Object>(&self, condition: Predicate<T>) -> Result<usize> {
        self.each(condition, |object| {
            if let Some(request) = ChangeRequest::deletion(self, object)? {
                self.submit(request)?;
            }
            Ok(())
        })
    }

    /// Calls `write` with each object that meets a condition now, whatever `write` does to them.
    fn each<T: Object>(
        &self,
        condition: Predicate<T>,
        mut write: impl FnMut(&T) -> Result<()>,
    ) -> Result<usize> {
        let row_ids = self.fetch().filter(condition).row_ids()?;
        let table = T::TABLE;
        self.nested(|tx| {
            for row_ids in row_ids.chunks(BATCH) {
                let objects: Vec<Handle> =
                    tx.source().read::<T, _>(View::Pinned, |snapshot, origin| {
                        fetch::find_many(snapshot, &table, row_ids, origin)
                    })?;
                for object in objects {
                    write(&T::from_handle(object))?;
                }
            }
            Ok(row_ids.len())
        })
    }
}
