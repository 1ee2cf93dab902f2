//! Workspaces that stand on a pack.

use std::sync::Arc;

use dflat_engine::storage::Backend;
use dflat_pack::StandingBackend;
use dflat_workspace::Base;

use super::Pack;
use crate::WorkspaceBuilder;

impl WorkspaceBuilder {
    /// Lets the file stand on a pack: unchanged objects are read from the pack, and changed ones
    /// from the file. The workspace has the objects of both, and is used as any other.
    ///
    /// An object of the pack keeps its row id when it is changed, so subscriptions to it go on. Row
    /// ids of new objects begin behind those of the pack. Unique values are unique among the pack
    /// and the file together.
    ///
    /// The first change of an object of the pack names the pack in the file, by its digest. From
    /// then on the file is opened with this pack only; the pack's file may lie anywhere. Programs
    /// that do not know packs, such as the `sqlite3` shell, see the changed objects alone.
    ///
    /// # Errors
    /// Reads and transactions fail with [`InvalidArgument`](crate::ErrorKind::InvalidArgument)
    /// - if the file stands on another pack, and if a file that stands on a pack is opened without
    ///   one;
    /// - if the file has objects of a type of the pack that were stored without the pack:
    ///   [`import`](crate::Workspace::import) the pack instead;
    /// - in transactions, if the program's schema declares an index of a type that the pack lacks.
    ///   Reads then go without the index.
    ///
    /// # Cost
    /// A read looks into the file and into the pack. The first change of an object writes it to the
    /// file as a whole. The changed objects of the pack take a bit of memory each.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::pack::Pack;
    /// use dflat::{Object, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("own.db");
    /// let post = |title: &str| PostData { title: title.into(), ..PostData::default() };
    /// let shipped = Pack::build::<Post>(directory.path(), ["a", "b"].map(post))?;
    ///
    /// let workspace = Workspace::builder(path).standing_on(&shipped).open()?;
    /// assert_eq!(workspace.fetch::<Post>().count()?, 2);
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     let first = tx.get::<Post>("a")?.expect("the pack has it");
    ///     if let Some(mut request) = PostChangeRequest::change(tx, &first)? {
    ///         request.priority = 9;
    ///         tx.submit(request)?;
    ///     }
    ///     tx.submit(PostChangeRequest::creation(post("c"))).map(drop)
    /// })?;
    /// let urgent = workspace.fetch::<Post>().filter(Post::PRIORITY.eq(9)).all()?;
    /// assert_eq!(urgent[0].title(), "a");
    /// assert_eq!(workspace.fetch::<Post>().count()?, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn standing_on(mut self, pack: &Pack) -> Self {
        let over = pack.inner.clone();
        let stand = move |file: Arc<dyn Backend>| -> Arc<dyn Backend> {
            StandingBackend::new(file, over.clone())
        };
        self.options.base(Some(Base::new(pack.digest().0, stand)));
        self
    }
}
