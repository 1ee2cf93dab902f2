//! Indexes: how far they are built.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dflat_engine::engine;
use dflat_model::Value;

use crate::transaction::Shared;
use crate::{Error, Result, Table, TransactionHandle, Workspace};

/// How far an index is built; returned by [`Workspace::index_progress`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexProgress {
    /// The full name of the type.
    pub type_name: String,
    /// The indexed field, by its path in the schema; for an index over several fields or of some
    /// objects, the text of the schema: `list_id, due where done == false`.
    pub index: String,
    /// Whether the index is unique.
    pub unique: bool,
    /// The number of objects that this process has processed while it built the index.
    pub rows_done: u64,
    /// The number of objects to process, counted when the building began; never less than
    /// `rows_done`.
    pub rows_total: u64,
    /// The state of the index.
    pub state: IndexState,
    /// Values that more than one object had when a unique index got ready, with the primary keys of
    /// these objects: for at most 1,000 objects.
    pub duplicates: Vec<Duplicate>,
}

/// The state of an index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IndexState {
    /// The index is being built, or waits to be built. Queries do not use it yet.
    Building,
    /// The index is ready: queries use it, and if it is unique, that is enforced.
    Ready,
    /// The index could not be built. Queries do not use it. If a damaged object is the reason,
    /// [`Workspace::build_indexes`] tries again; otherwise the next write of the type does.
    Failed(Error),
}

/// Values of a unique index that more than one object has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Duplicate {
    /// The values of the index's fields.
    pub values: Vec<Value>,
    /// The primary keys of the objects, part by part.
    pub keys: Vec<Vec<Value>>,
}

/// A future that is ready when no index is being built any more: await it, or [`wait`](Self::wait)
/// for it.
#[must_use = "the error of an index that could not be built is lost"]
pub struct IndexesReady {
    handle: TransactionHandle<()>,
}

impl IndexesReady {
    /// Waits until no index is being built.
    ///
    /// # Errors
    /// - The error of an index that could not be built.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    pub fn wait(self) -> Result<()> {
        self.handle.wait()
    }
}

impl Future for IndexesReady {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.handle).poll(context)
    }
}

impl fmt::Debug for IndexesReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexesReady").finish_non_exhaustive()
    }
}

impl Workspace {
    /// Starts to build the indexes of these types that are not ready, and returns at once.
    ///
    /// A call is seldom needed, because the first change of a type starts building too. A thread of
    /// the workspace builds an index in batches of at most 512 objects, each a short transaction
    /// between other transactions. Finished batches are kept if the process ends, and the next
    /// process continues from there. Until an index is ready, queries find their objects without
    /// it; the answers are the same.
    ///
    /// A unique index is enforced from the moment it is ready. Objects that had equal values by
    /// then stay, are [reported](IndexProgress::duplicates), and are found by every query; another
    /// object with such a value is refused.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{IndexState, Workspace};
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// workspace.build_indexes([Post::TABLE])?;
    /// workspace.indexes_ready().wait()?;
    /// for index in workspace.index_progress() {
    ///     assert!(matches!(index.state, IndexState::Ready));
    ///     assert!(index.duplicates.is_empty());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn build_indexes(&self, types: impl IntoIterator<Item = Table>) -> Result<()> {
        let tables: Vec<Table> = types.into_iter().collect();
        self.engine().build_indexes(&tables)
    }

    /// The progress of all indexes that are being built, or were built since the file was opened in
    /// this process. An index that was ready when the file was opened is not listed.
    #[must_use]
    pub fn index_progress(&self) -> Vec<IndexProgress> {
        let progress = self.engine().index_progress().into_iter();
        progress.map(IndexProgress::from).collect()
    }

    /// Returns a future that is ready when no index is being built: at once, if none is now.
    /// [`settle`](Self::settle) waits for indexes, too. If a shutdown leaves indexes unbuilt, and
    /// after shutdown, the future yields [`ShutDown`](crate::ErrorKind::ShutDown).
    pub fn indexes_ready(&self) -> IndexesReady {
        let shared = Shared::with_value(());
        let handle = TransactionHandle::new(Arc::clone(&shared));
        let ready = Box::new(move |outcome| shared.complete(outcome));
        self.engine().when_indexes_are_ready(ready);
        IndexesReady { handle }
    }
}

impl From<engine::IndexProgress> for IndexProgress {
    fn from(progress: engine::IndexProgress) -> Self {
        let duplicates = progress.duplicates.into_iter();
        Self {
            type_name: progress.type_name,
            index: progress.index,
            unique: progress.unique,
            rows_done: progress.rows_done,
            rows_total: progress.rows_total,
            state: match progress.state {
                engine::BuildState::Building => IndexState::Building,
                engine::BuildState::Ready => IndexState::Ready,
                engine::BuildState::Failed(error) => IndexState::Failed(error),
            },
            duplicates: duplicates
                .map(|engine::Duplicate { values, keys }| Duplicate { values, keys })
                .collect(),
        }
    }
}
