//! Differences between states.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use dflat_engine::object::{Object as Handle, Origin, differing_fields};
use dflat_engine::{Error, ErrorKind};
use dflat_history::compare::{ObjectChange, ObjectDiff, Version};
use dflat_model::RowId;

use super::History;
use super::strangers::{notice_to_read, versioned};
use crate::{Object, Result, Table};

/// A change of one object between two states.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change<T> {
    /// Only the second state has an object with the key.
    Inserted(T),
    /// Only the first state has an object with the key.
    Deleted(T),
    /// Both states have an object with the key.
    #[non_exhaustive]
    Updated {
        /// The object in the first state.
        before: T,
        /// The object in the second state.
        after: T,
        /// The names of the fields that differ. A table, a struct, a union or a vector is one
        /// field. None if only values differ that this program does not know.
        fields: Vec<String>,
    },
}

impl History<'_> {
    /// The objects of a type that differ between two states, in order of their keys. An object that
    /// has got another key is deleted under the one and inserted under the other.
    ///
    /// Each state is that after a step, or that of a commit.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the history has no such step or commit, or if
    ///   that of the type was [forgotten](Self::forget) since.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the type is not versioned.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt), also from the iterator, if the history does not
    ///   fit the objects.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a callback; otherwise the errors
    ///   of reading.
    ///
    /// # Cost
    /// Between two commits, the nodes of the trees that differ are read, up to 8 for one object
    /// among a million, and 4 MiB of objects are in memory. The steps after the earlier commit are
    /// read, once more for each 4 MiB of objects. Otherwise, the steps after the earlier state are
    /// read once for each 4 MiB of keys of objects that they have changed, and once for each 16 MiB
    /// of these objects; so much is in memory, and a step.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use dflat::history::Change;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::builder(path).versioned::<Post>().open()?;
    /// let store = |priority| {
    ///     let data = PostData { title: "a".into(), priority, ..PostData::default() };
    ///     workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///         tx.submit(PostChangeRequest::upsert(data)).map(drop)
    ///     })
    /// };
    /// store(1)?;
    /// let first = workspace.history().commit("first")?;
    /// store(2)?;
    /// let second = workspace.history().commit("second")?;
    /// for change in workspace.history().diff::<Post>(first, second)? {
    ///     match change? {
    ///         Change::Updated { before, after, fields, .. } => {
    ///             assert_eq!((before.priority(), after.priority()), (1, 2));
    ///             assert_eq!(fields, ["priority"]);
    ///         }
    ///         change => panic!("{change:?}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn diff<T: Object>(
        &self,
        from: impl Into<Version>,
        to: impl Into<Version>,
    ) -> Result<Diff<T>> {
        notice_to_read(self.workspace)?;
        let tables = versioned(self.workspace)?;
        let states = (from.into(), to.into());
        let inner = ObjectDiff::new(self.workspace.engine(), &tables, &T::TABLE, states)?;
        Ok(Diff {
            inner,
            table: T::TABLE,
            object: PhantomData,
        })
    }
}

/// The objects that differ between two states, made by [`History::diff`]. After an error it ends.
#[must_use = "the objects are read as the iterator is used"]
pub struct Diff<T> {
    inner: ObjectDiff,
    table: Table,
    object: PhantomData<fn() -> T>,
}

impl<T: Object> Diff<T> {
    fn object(&self, (row_id, payload): (RowId, Vec<u8>)) -> Result<T> {
        let handle = Handle::new(&self.table, row_id, Origin::default(), &payload);
        handle
            .map(T::from_handle)
            .map_err(|_| self.malformed(row_id))
    }

    fn malformed(&self, row_id: RowId) -> Error {
        let name = &self.table.type_name;
        let message = format!("row {row_id} of {name} had malformed bytes");
        Error::new(ErrorKind::Corrupt, message)
    }

    fn change(&self, change: ObjectChange) -> Result<Option<Change<T>>> {
        Ok(match (change.before, change.after) {
            (Some(before), Some(after)) => {
                let types = &self.table.types;
                let row_id = after.0;
                let (before, after) = (self.object(before)?, self.object(after)?);
                let payloads = (before.handle().payload(), after.handle().payload());
                let fields = differing_fields(types, payloads.0, payloads.1);
                let fields = fields.map_err(|_| self.malformed(row_id))?;
                let fields = fields.iter().map(|field| field.name.to_string()).collect();
                Some(Change::Updated {
                    before,
                    after,
                    fields,
                })
            }
            (Some(before), None) => Some(Change::Deleted(self.object(before)?)),
            (None, Some(after)) => Some(Change::Inserted(self.object(after)?)),
            (None, None) => None,
        })
    }
}

impl<T: Object> Iterator for Diff<T> {
    type Item = Result<Change<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        let change = self.inner.next()?;
        change.and_then(|change| self.change(change)).transpose()
    }
}

impl<T: Object> FusedIterator for Diff<T> {}

impl<T> fmt::Debug for Diff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diff").finish_non_exhaustive()
    }
}
