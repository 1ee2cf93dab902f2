//! Building packs of typed objects.

use std::fmt;
use std::path::Path;

use dflat_engine::object::Writer;

use super::{BuildOptions, Pack};
use crate::codec::Encoder;
use crate::{Fetch, Object, Result, Table};

impl Pack {
    /// Builds a pack of objects of one type, in any order and larger than memory. Returns the pack,
    /// whose file is in `directory` under the name of its content. [`PackBuilder`] has options,
    /// and takes several types.
    ///
    /// # Errors
    /// As [`PackBuilder::add`] and [`PackBuilder::finish`].
    pub fn build<T: Object>(
        directory: impl AsRef<Path>,
        objects: impl IntoIterator<Item = T::Data>,
    ) -> Result<Self> {
        let mut builder = PackBuilder::new(directory, [T::TABLE], BuildOptions::default())?;
        for object in objects {
            builder.add::<T>(&object)?;
        }
        builder.finish()
    }
}

/// Builds a pack from objects that are added one by one, in any order.
///
/// The file has no name until it is whole and its bytes are on the device. A builder that is
/// dropped, and a process that ends, leave nothing behind; on other systems than Linux, the next
/// build in the directory removes the file of a process that was killed.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// # mod doc {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bench_doc.rs"));
/// # }
/// use dflat::pack::{BuildOptions, PackBuilder};
/// use dflat::{Object, Workspace};
/// use doc::BenchDoc;
/// use post::{Post, PostData};
/// # fn main() -> dflat::Result<()> {
/// # let directory = tempfile::tempdir().expect("a directory");
/// # let workspace = Workspace::in_memory();
/// let options = BuildOptions::default().memory_max(16 << 20);
/// let tables = [Post::TABLE, BenchDoc::TABLE];
/// let mut builder = PackBuilder::new(directory.path(), tables, options)?;
/// builder.add::<Post>(&PostData { title: "new".into(), ..PostData::default() })?;
/// for doc in workspace.fetch::<BenchDoc>().iter()? {
///     builder.add_object(&doc?)?;
/// }
/// let pack = builder.finish()?;
/// assert_eq!(pack.fetch::<Post>().count()?, 1);
/// # Ok(())
/// # }
/// ```
pub struct PackBuilder {
    inner: dflat_pack::PackBuilder,
    writer: Writer,
}

impl PackBuilder {
    /// A builder of a pack with these types, in a directory that exists.
    ///
    /// # Errors
    /// [`ReadOnly`](crate::ErrorKind::ReadOnly) and [`Io`](crate::ErrorKind::Io) if the directory
    /// cannot be written; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if two different
    /// types have the same table.
    pub fn new(
        directory: impl AsRef<Path>,
        tables: impl IntoIterator<Item = Table>,
        options: BuildOptions,
    ) -> Result<Self> {
        Ok(Self {
            inner: dflat_pack::PackBuilder::new(directory, tables, options)?,
            writer: Writer::new(),
        })
    }

    /// Adds an object with these values. An object that is refused is not in the pack, and the
    /// builder goes on.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the type is not one of the pack,
    ///   or a required value or a part of the key is missing.
    /// - [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the object before has the same key.
    ///   Others with the same key are found by [`finish`](Self::finish).
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) if the callback for the progress cancelled the
    ///   build, and [`Panicked`](crate::ErrorKind::Panicked) if it panicked.
    /// - [`StorageFull`](crate::ErrorKind::StorageFull) and [`Io`](crate::ErrorKind::Io) if the
    ///   files cannot be written.
    /// - [`Aborted`](crate::ErrorKind::Aborted) if the callback cancelled or panicked, or a write
    ///   failed, in an earlier call.
    pub fn add<T: Object>(&mut self, data: &T::Data) -> Result<()> {
        Encoder::encode_root(&mut self.writer, data);
        self.inner.add(&T::TABLE, self.writer.finish()?)
    }

    /// Adds an object that was read from any workspace or pack.
    ///
    /// # Errors
    /// As [`add`](Self::add); [`NewerSchema`](crate::ErrorKind::NewerSchema) if newer code has
    /// written values that this program's schema lacks; [`Corrupt`](crate::ErrorKind::Corrupt) if
    /// the object lacks required values.
    pub fn add_object<T: Object>(&mut self, object: &T) -> Result<()> {
        self.inner.add(&T::TABLE, object.handle().payload())
    }

    /// The number of objects that were added.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Whether no object was added.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Writes what is left, and gives the file its name: that of its content. A file of the same
    /// name has the same content, and is replaced. Only the owner may read the file.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if two objects of a type have the same
    /// key; [`Cancelled`](crate::ErrorKind::Cancelled),
    /// [`StorageFull`](crate::ErrorKind::StorageFull) and [`Io`](crate::ErrorKind::Io) as
    /// [`add`](Self::add).
    pub fn finish(self) -> Result<Pack> {
        self.inner.finish().map(Pack::new)
    }
}

impl<T: Object> Fetch<'_, T> {
    /// Builds a pack of the objects of this query, which are of one state and are read in batches.
    /// The pack has one type, with the indexes of the program's schema.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let workspace = Workspace::in_memory();
    /// let old = workspace.fetch::<Post>().filter(Post::PRIORITY.lt(10));
    /// let archive = old.pack(directory.path())?;
    /// println!("{} has {} posts", archive.path().display(), archive.objects::<Post>()?.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Fetch::iter`], [`PackBuilder::add_object`] and [`PackBuilder::finish`].
    ///
    /// # Cost
    /// The objects are written once if the query orders them by their key, and otherwise twice.
    pub fn pack(self, directory: impl AsRef<Path>) -> Result<Pack> {
        let mut builder = PackBuilder::new(directory, [T::TABLE], BuildOptions::default())?;
        for object in self.iter()? {
            builder.add_object(&object?)?;
        }
        builder.finish()
    }
}

impl fmt::Debug for PackBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
