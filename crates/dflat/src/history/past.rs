//! Earlier states.

use std::time::SystemTime;

use dflat_engine::engine::EngineOptions;
use dflat_history::commits::past;
use dflat_history::compare::Version;
use dflat_history::past::Moment;

use super::strangers::{notice_to_read, versioned};
use crate::{Result, Workspace};

impl Workspace {
    /// The objects of the versioned types as they were after a step, or in a commit: a workspace
    /// that is only read.
    ///
    /// Its fetches, conditions, orders and explanations are those of any workspace. Its
    /// subscriptions deliver their first result and no other, and its transactions fail with
    /// [`ReadOnly`](crate::ErrorKind::ReadOnly). Types that are not versioned cannot be read:
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument). Objects that changed before their
    /// type was versioned have the states from when that happened. The objects of a type whose
    /// history was [forgotten](crate::history::History::forget) since a commit cannot be read as of
    /// this commit: [`NotFound`](crate::ErrorKind::NotFound).
    ///
    /// It holds a snapshot of the present state, as [`snapshot`](Self::snapshot) does, so it ends
    /// with this workspace. Its reads take turns.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the history has no such step or commit.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if the steps do not fit the objects.
    /// - [`OutOfDate`](crate::ErrorKind::OutOfDate) if a program has prevented that its changes
    ///   were noted, and this workspace is only read, so that they are in no step yet.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a callback; otherwise the errors
    ///   of reading.
    ///
    /// A read of the returned workspace fails with [`NotFound`](crate::ErrorKind::NotFound) if it
    /// needs an object whose state is lost, because a program has prevented that it was noted.
    ///
    /// # Cost
    /// All later steps are read, and the objects that they have changed are in memory. For a commit
    /// of another file, so are the objects that the received commits have changed since the nearest
    /// commit whose objects the tables had. If they are more than 1,000 of a type, queries do not
    /// use the indexes of the type, except for the primary key.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::builder(path).versioned::<Post>().open()?;
    /// for title in ["a", "b", "c"] {
    ///     workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///         let data = PostData { title: title.into(), ..PostData::default() };
    ///         tx.submit(PostChangeRequest::creation(data)).map(drop)
    ///     })?;
    /// }
    /// let steps = workspace.history().log().collect::<dflat::Result<Vec<_>>>()?;
    /// let earlier = workspace.at(steps[1].id)?;
    /// assert_eq!(earlier.fetch::<Post>().count()?, 2);
    /// assert!(earlier.get::<Post>("c")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn at(&self, version: impl Into<Version>) -> Result<Self> {
        notice_to_read(self)?;
        self.past(&version.into().moment(self.engine())?)
    }

    /// The objects of the versioned types as they were at a time, as [`at`](Self::at) has them: the
    /// state after the last step whose commit was at this time or before, by the clock of the
    /// process that made it. Before the first step, it is the state from when the types were
    /// versioned.
    ///
    /// # Errors
    /// As [`at`](Self::at), without [`NotFound`](crate::ErrorKind::NotFound).
    ///
    /// # Cost
    /// As [`at`](Self::at).
    pub fn at_time(&self, time: SystemTime) -> Result<Self> {
        notice_to_read(self)?;
        self.past(&Moment::Time(time))
    }

    fn past(&self, moment: &Moment) -> Result<Self> {
        let backend = past(self.engine(), &versioned(self)?, moment)?;
        Ok(Self::on_backend(backend, EngineOptions::default()))
    }
}
