//! Copying objects into another workspace, for example from a file to a server.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use dflat_workspace::{Copied, CopyState, OnConflict, WorkspaceCopy};

use crate::{Object, Result, Workspace};

impl Workspace {
    /// Prepares a copy of objects into another workspace, wherever each of the two stores them: in
    /// memory, in a file, in a pack or on a server.
    ///
    /// The copy reads one snapshot of this workspace. Meanwhile, both workspaces may be read and
    /// written, and changes of this workspace after the snapshot are not copied. Objects keep their
    /// bytes and the order in which they were inserted; they get new row ids. The history of
    /// versioned types is not copied.
    ///
    /// Each transaction on the target has a batch of objects, and memory is bounded. At the end,
    /// each object of the snapshot is compared with that of the target. If a copy is interrupted,
    /// another run completes it: objects that the target has are kept.
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
    /// let file = Workspace::open(directory.path().join("posts.db"))?;
    /// file.perform_changes_blocking([Post::TABLE], |tx| {
    ///     let data = PostData { title: "a".into(), ..PostData::default() };
    ///     tx.submit(PostChangeRequest::creation(data)).map(drop)
    /// })?;
    /// let other = Workspace::in_memory();
    /// let copied = file.copy_to(&other).of::<Post>().dictionary().run()?;
    /// assert_eq!((copied.inserted, copied.kept), (1, 0));
    /// assert_eq!(file.copy_to(&other).of::<Post>().run()?.kept, 1);
    /// # file.shutdown()
    /// # }
    /// ```
    pub fn copy_to<'w>(&'w self, target: &'w Self) -> CopyTo<'w> {
        CopyTo {
            from: self,
            to: target,
            copy: WorkspaceCopy::new(Vec::new()),
            progress: None,
        }
    }
}

/// A function that is told how far a copy is.
type OnProgress<'w> = Box<dyn FnMut(CopyState) -> ControlFlow<()> + 'w>;

/// A prepared copy into another workspace, made by [`Workspace::copy_to`].
#[must_use = "nothing is copied until `run` is called"]
pub struct CopyTo<'w> {
    from: &'w Workspace,
    to: &'w Workspace,
    copy: WorkspaceCopy,
    progress: Option<OnProgress<'w>>,
}

impl<'w> CopyTo<'w> {
    /// Adds the objects of a type.
    pub fn of<T: Object>(mut self) -> Self {
        self.copy.add(T::TABLE);
        self
    }

    /// Adds the values of the dictionary, of all namespaces.
    pub fn dictionary(mut self) -> Self {
        self.copy.add_dictionary();
        self
    }

    /// Sets the object to keep if the target has the key of an object. Defaults to
    /// [`OnConflict::Keep`].
    pub fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.copy.set_on_conflict(on_conflict);
        self
    }

    /// Sets the largest number of objects of a transaction. Defaults to 1,000. A transaction gets
    /// no further object after 4 MiB of objects.
    pub fn batch_size(mut self, objects: NonZeroUsize) -> Self {
        self.copy.set_batch_size(objects);
        self
    }

    /// Leaves out the comparison at the end, which reads all objects of the types from both
    /// workspaces.
    pub fn without_comparison(mut self) -> Self {
        self.copy.set_compares(false);
        self
    }

    /// Sets a callback that is called after each transaction, and after every 1,000 objects of the
    /// comparison, on the thread that calls [`run`](Self::run). If it breaks, the copy ends. Calls
    /// that wait, such as a shutdown, are refused inside.
    pub fn on_progress(mut self, progress: impl FnMut(CopyState) -> ControlFlow<()> + 'w) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Makes the copy on this thread, and waits for it.
    ///
    /// # Errors
    /// An error ends the copy. Objects that earlier transactions have written stay.
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the target has the key of an object
    ///   and [`OnConflict::Fail`] was chosen; if another object of the target has a unique value of
    ///   an object, unless [`OnConflict::Keep`] was chosen; or if the comparison finds an object
    ///   with other values in the target.
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the comparison misses an object in the target:
    ///   another program has deleted it, or another object has a unique value of it.
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) if the callback breaks, and
    ///   [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if both workspaces have one file:
    ///   the copy could undo changes that are made meanwhile. Also if an object lacks a part of its
    ///   key; only other programs write such an object.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    ///   otherwise the errors of reading the one and of
    ///   [`TransactionHandle::wait`](crate::TransactionHandle::wait) on the other.
    pub fn run(self) -> Result<Copied> {
        let mut progress = self.progress;
        self.copy.run(
            self.from.untyped(),
            self.to.untyped(),
            &mut |state| match &mut progress {
                Some(progress) => progress(state),
                None => ControlFlow::Continue(()),
            },
        )
    }
}

impl fmt::Debug for CopyTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyTo")
            .field("copy", &self.copy)
            .finish_non_exhaustive()
    }
}
