//! Packs: immutable collections of objects in one file, which is named by its content.
//!
//! A [`Pack`] is read with everything that reads a workspace, and cannot be changed. It suits
//! reference data that a program is shipped with, an archive, or objects that are sent to another
//! device. `docs/pack-format.md` describes the file.

mod build;
mod import;
mod layers;
#[cfg(feature = "pack-map")]
mod mapped;
mod objects;
#[cfg(feature = "sqlite")]
mod standing;

use std::fmt;
use std::path::Path;

use dflat_engine::engine::EngineOptions;
use dflat_pack::PackBackend;

use crate::{Fetch, Object, Result, Snapshot, Table, Workspace};
pub use build::PackBuilder;
pub use dflat_pack::{
    BuildOptions, BuildProgress, Collected, Compression, Digest, GRACE, OpenOptions, PackChange,
    collect_garbage, collect_garbage_older_than,
};
pub use import::Imported;
pub use layers::{PackDiff, PackEdit};
pub use objects::{PackIter, PackObjects, PackSetIter};

/// An immutable collection of objects in one file, which is named by its content.
///
/// [`fetch`](Self::fetch) runs queries with conditions, orders and pages, as on a workspace;
/// [`objects`](Self::objects) has the objects of a type in the order of their keys, by position,
/// as ranges and as sets. Clones share one open file, and any thread may read.
///
/// Without an order, objects come in the order of their keys: the row id of an object is its
/// position in that order, from 1 on.
///
/// [`edit`](Self::edit) makes another pack, which is a *layer* of changes over this one.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::pack::Pack;
/// use post::{Post, PostData};
/// # fn main() -> dflat::Result<()> {
/// # let directory = tempfile::tempdir().expect("a directory");
/// let post = |title: &str, priority| PostData {
///     title: title.into(),
///     priority,
///     ..PostData::default()
/// };
/// let pack = Pack::build::<Post>(directory.path(), [post("b", 7), post("a", 9)])?;
///
/// let urgent = pack.fetch::<Post>().filter(Post::PRIORITY.gt(8)).all()?;
/// assert_eq!(urgent[0].title(), "a");
/// assert_eq!(pack.objects::<Post>()?.index_of("b")?, Some(1));
///
/// // The name is that of the content, and does not depend on the order of the objects.
/// let again = Pack::build::<Post>(directory.path(), [post("a", 9), post("b", 7)])?;
/// assert_eq!(again.path(), pack.path());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Pack {
    inner: dflat_pack::Pack,
    workspace: Workspace,
}

impl Pack {
    /// Opens a pack. The bases of a layer are looked for in its directory, by the names of their
    /// digests.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if there is no such file, or a base is missing.
    ///   The message names the digest of the base.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if a file is no pack, is damaged, was cut off, has
    ///   another digest than its name states, or was written by a newer version of Dflat; if there
    ///   are more than 64 layers, or the layers have more than 1 GiB together.
    /// - [`Io`](crate::ErrorKind::Io) if a file cannot be read.
    ///
    /// # Cost
    /// Reads the places of all objects into memory: about 11 bytes for each object, 2 bytes for
    /// each entry of an index, and 24 bytes and one key for each block of 4 KiB of either. The
    /// objects stay in the file. A layer is read as a whole, and for each of its changed keys a
    /// block of the file below all layers is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        dflat_pack::Pack::open(path).map(Self::new)
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        dflat_pack::Pack::open_with(path, options).map(Self::new)
    }

    pub(crate) fn new(inner: dflat_pack::Pack) -> Self {
        let backend = PackBackend::new(inner.clone());
        Self {
            inner,
            workspace: Workspace::on_backend(backend, EngineOptions::default()),
        }
    }

    /// The pack without types, for code that stands on the crate `dflat-pack`.
    #[must_use]
    pub const fn untyped(&self) -> &dflat_pack::Pack {
        &self.inner
    }

    /// The digest of the content, which is the name of the file. That of a layered pack is made of
    /// its base and of its changes, so it differs from that of a pack that was built of the same
    /// objects.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.inner.digest()
    }

    /// The path by which the pack was opened, or was saved. That of a layer in memory is the path
    /// of the first pack below that has a file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.path()
    }

    /// The size in bytes of the file and of the files of all layers, also of those in memory.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    /// The types of the pack, as the pack describes them, by the names of their tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.inner.tables()
    }

    /// Starts a query. A type that the pack was built without has no objects.
    pub fn fetch<T: Object>(&self) -> Fetch<'_, T> {
        self.workspace.fetch()
    }

    /// Fetches the object with a primary key.
    ///
    /// # Errors
    /// As [`Fetch::all`]; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the pack has
    /// objects of the type with another primary key.
    pub fn get<T: Object>(&self, key: T::Key<'_>) -> Result<Option<T>> {
        self.workspace.get(key)
    }

    /// Fetches the objects with these primary keys, in the order of the keys: `None` for a key
    /// without an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_many<'k, T: Object>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> Result<Vec<Option<T>>> {
        self.workspace.get_many(keys)
    }

    /// A snapshot, for code that reads snapshots. All snapshots of a pack are equal.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.workspace.snapshot()
    }

    /// The pack as a workspace, for code that takes one. Its reads are those of the pack, its
    /// subscriptions deliver their first result and no other, and its transactions fail with
    /// [`ReadOnly`](crate::ErrorKind::ReadOnly) at their first change. If it is shut down, the pack
    /// is read through [`objects`](Self::objects) only.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The objects of a type, in the order of their keys.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the pack was built without the type.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the pack has objects of the type
    ///   with another primary key.
    pub fn objects<T: Object>(&self) -> Result<PackObjects<T>> {
        self.inner.objects(&T::TABLE).map(PackObjects::new)
    }

    /// Reads the whole file and checks that each byte is as it was written: all checksums, the
    /// padding, and the digest of the content.
    ///
    /// The objects are then those that the digest names, wherever the file comes from. The indexes
    /// and the table of keys are not part of the digest: another program can write wrong ones with
    /// right checksums. [`verify_objects`](Self::verify_objects) compares them with the objects.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if a byte differs; [`Io`](crate::ErrorKind::Io) if
    /// the file cannot be read.
    pub fn verify(&self) -> Result<()> {
        self.inner.verify()
    }

    /// Checks each object, and compares the indexes and the table of keys with the objects.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_objects(&self) -> Result<()> {
        self.inner.verify_objects()
    }

    /// All that both checks find: each damaged block with its type, up to 100 of them, and of each
    /// other type the first object that does not fit. Of any other damage, the first. A sound pack
    /// has none.
    #[must_use]
    pub fn problems(&self) -> Vec<crate::Error> {
        self.inner.problems()
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
