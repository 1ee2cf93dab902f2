//! Layers over packs, of typed objects.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::path::Path;

use dflat_engine::object::Writer;
use dflat_pack::PackChange;

use super::{BuildOptions, Digest, OpenOptions, Pack};
use crate::codec::Encoder;
use crate::{Object, Result};

impl Pack {
    /// As [`open`](Self::open). `find_base` is called with the digest of each base of a layer, and
    /// may return that pack, whose memory and options are then shared. If `find_base` returns
    /// `None`, the base is looked for in the directory of the file.
    ///
    /// # Errors
    /// As [`open`](Self::open), and the errors of `find_base`;
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it returns a pack with another digest.
    pub fn open_on(
        path: impl AsRef<Path>,
        options: OpenOptions,
        mut find_base: impl FnMut(Digest) -> Result<Option<Self>>,
    ) -> Result<Self> {
        let find_base = |digest| Ok(find_base(digest)?.map(|pack| pack.inner));
        dflat_pack::Pack::open_on(path, options, find_base).map(Self::new)
    }

    /// The digests of the packs below, from the base of this one to the file below all layers. None
    /// if the pack has no layers.
    pub fn bases(&self) -> impl ExactSizeIterator<Item = Digest> {
        self.inner.bases()
    }

    /// Begins changes of this pack. They make another pack, which has a *layer* over this one: the
    /// objects that were put and removed. This pack stays as it is.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::pack::{Pack, PackChange};
    /// use post::{Post, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// let post = |title: &str| PostData { title: title.into(), ..PostData::default() };
    /// let shipped = Pack::build::<Post>(directory.path(), ["a", "b"].map(post))?;
    ///
    /// let own = shipped.edit().upsert::<Post>(&post("c")).remove::<Post>("a").finish()?;
    /// assert_eq!(own.fetch::<Post>().count()?, 2);
    ///
    /// // The layer has a file beside that of its base, which is found by its name.
    /// let path = own.save(directory.path())?.path().to_owned();
    /// let own = Pack::open(path)?;
    /// let changes = Pack::diff::<Post>(&shipped, &own)?.collect::<dflat::Result<Vec<_>>>()?;
    /// assert!(matches!(&changes[0], PackChange::Removed(post) if post.title() == "a"));
    /// assert!(matches!(&changes[1], PackChange::Inserted(post) if post.title() == "c"));
    ///
    /// // One file of all is the same as if it were built directly.
    /// let direct = Pack::build::<Post>(directory.path(), ["b", "c"].map(post))?;
    /// assert_eq!(own.compact(directory.path())?.path(), direct.path());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn edit(&self) -> PackEdit {
        PackEdit {
            inner: Ok(self.inner.edit()),
            writer: Writer::new(),
        }
    }

    /// Writes the layers of this pack that have no file in a directory. Each gets the name of its
    /// digest there. Returns the pack with these files.
    ///
    /// The file below all layers is not copied: [`open`](Self::open) looks for it in the same
    /// directory, and [`open_on`](Self::open_on) asks the program for it. A file appears when it is
    /// whole and its bytes are on the device, the lowest layer first. Only the owner may read it.
    ///
    /// # Errors
    /// [`ReadOnly`](crate::ErrorKind::ReadOnly), [`StorageFull`](crate::ErrorKind::StorageFull) and
    /// [`Io`](crate::ErrorKind::Io) if the directory cannot be written.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<Self> {
        self.inner.save(directory).map(Self::new)
    }

    /// Builds one pack without layers of all objects of this one, in a directory. Its file has the
    /// same bytes, and so the same name, as if it were built of these objects.
    ///
    /// # Errors
    /// As [`PackBuilder::add`](super::PackBuilder::add) and
    /// [`PackBuilder::finish`](super::PackBuilder::finish); [`Corrupt`](crate::ErrorKind::Corrupt)
    /// if this pack is damaged.
    ///
    /// # Cost
    /// Reads and writes each object once.
    pub fn compact(&self, directory: impl AsRef<Path>) -> Result<Self> {
        self.compact_with(directory, BuildOptions::default())
    }

    /// As [`compact`](Self::compact), with options.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    pub fn compact_with(&self, directory: impl AsRef<Path>, options: BuildOptions) -> Result<Self> {
        self.inner.compact_with(directory, options).map(Self::new)
    }

    /// The changes of a type that lead from one pack to another, in the order of the keys. They are
    /// found as the iterator is advanced. [`edit`](Self::edit) has an example.
    ///
    /// Objects are compared by their bytes. A pack that was built without the type has no objects.
    ///
    /// # Errors
    /// - [`NotFound`](crate::ErrorKind::NotFound) if both packs were built without the type.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a pack has objects of the type
    ///   with another primary key.
    ///
    /// # Cost
    /// If both packs have the same file below all layers, only the keys that layers change are
    /// looked up. Otherwise, all objects of both are read.
    pub fn diff<T: Object>(before: &Self, after: &Self) -> Result<PackDiff<T>> {
        let inner = dflat_pack::Pack::diff(&before.inner, &after.inner, &T::TABLE)?;
        Ok(PackDiff {
            inner,
            object: PhantomData,
        })
    }
}

/// Changes of a pack, which are in memory until [`finish`](Self::finish).
///
/// The last change of a key counts. The types of the pack stay as they are: to add a type, or a
/// field of a newer schema, build a new pack.
pub struct PackEdit {
    inner: Result<dflat_pack::PackEdit>,
    writer: Writer,
}

impl PackEdit {
    /// Puts an object with these values in the place of the object with its key.
    ///
    /// If the object is refused, [`finish`](Self::finish) fails.
    #[must_use]
    pub fn upsert<T: Object>(mut self, data: &T::Data) -> Self {
        Encoder::encode_root(&mut self.writer, data);
        self.inner = self
            .inner
            .and_then(|edit| Ok(edit.upsert(&T::TABLE, self.writer.finish()?)));
        self
    }

    /// Puts an object that was read from any workspace or pack in the place of the object with its
    /// key.
    ///
    /// If the object is refused, [`finish`](Self::finish) fails.
    #[must_use]
    pub fn upsert_object<T: Object>(mut self, object: &T) -> Self {
        let payload = object.handle().payload();
        self.inner = self.inner.map(|edit| edit.upsert(&T::TABLE, payload));
        self
    }

    /// Removes the object with a primary key, if there is one.
    #[must_use]
    pub fn remove<T: Object>(mut self, key: T::Key<'_>) -> Self {
        let key = T::key_values(key);
        self.inner = self.inner.map(|edit| edit.remove(&T::TABLE, &key));
        self
    }

    /// The changed pack, whose layer is in memory. A change that changes nothing is left out; if
    /// none is left, this is the pack itself.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a type is not one of the pack or
    ///   has another primary key there, if a required value or a part of a key is missing, if the
    ///   pack has 64 layers already, or if all its layers would have more than 1 GiB:
    ///   [`compact`](Pack::compact) it.
    /// - [`NewerSchema`](crate::ErrorKind::NewerSchema) if an object has values that the pack's
    ///   schema of the type lacks.
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if an object lacks required values, or the pack is
    ///   damaged; [`Io`](crate::ErrorKind::Io) if the pack cannot be read.
    ///
    /// # Cost
    /// A block of the file below all layers is read for each changed key. All layers of a pack are
    /// in memory, with one table of their keys, so look-ups in a pack with many layers cost as much
    /// as those in one with a single layer.
    pub fn finish(self) -> Result<Pack> {
        self.inner?.finish().map(Pack::new)
    }
}

impl fmt::Debug for PackEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The differences of two packs, in the order of the keys.
///
/// After an error the iterator has ended.
pub struct PackDiff<T> {
    inner: dflat_pack::PackDiff,
    object: PhantomData<fn() -> T>,
}

impl<T: Object> Iterator for PackDiff<T> {
    type Item = Result<PackChange<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        let change = self.inner.next()?;
        Some(change.map(|change| change.map(T::from_handle)))
    }
}

impl<T: Object> FusedIterator for PackDiff<T> {}

impl<T> fmt::Debug for PackDiff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackDiff").finish_non_exhaustive()
    }
}
