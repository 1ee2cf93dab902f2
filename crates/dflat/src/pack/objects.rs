//! The objects of one type of a pack, in the order of their keys.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

use crate::codec::KeyParts;
use crate::{Object, Result};

/// The objects of one type of a pack, in the order of their keys. Clones are cheap.
///
/// A *position* is the place of an object in that order, from 0 on.
///
/// # Errors
/// Reads fail with [`Corrupt`](crate::ErrorKind::Corrupt) if the file was damaged, cut off or
/// changed, and with [`Io`](crate::ErrorKind::Io) if it cannot be read.
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
/// let post = |title: &str| PostData { title: title.into(), ..PostData::default() };
/// let pack = Pack::build::<Post>(directory.path(), ["a", "b", "c", "d"].map(post))?;
/// let posts = pack.objects::<Post>()?;
///
/// let titles = |iter: dflat::pack::PackIter<Post>| -> dflat::Result<String> {
///     iter.map(|post| Ok(post?.title().to_owned())).collect()
/// };
/// assert_eq!(titles(posts.range("b".."d")?)?, "bc");
/// assert_eq!(posts.nth(3)?.expect("there are four").title(), "d");
/// let last = posts.iter().next_back().transpose()?;
/// assert_eq!(last.expect("there are four").title(), "d");
///
/// let others = Pack::build::<Post>(directory.path(), ["c", "x"].map(post))?;
/// assert_eq!(posts.difference(&others.objects()?).count(), 3);
/// # Ok(())
/// # }
/// ```
pub struct PackObjects<T> {
    inner: dflat_pack::Objects,
    object: PhantomData<fn() -> T>,
}

impl<T: Object> PackObjects<T> {
    pub(super) const fn new(inner: dflat_pack::Objects) -> Self {
        Self {
            inner,
            object: PhantomData,
        }
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The object with a primary key.
    ///
    /// # Errors
    /// See [`PackObjects`].
    ///
    /// # Cost
    /// One read; none, nearly always, if there is no such object.
    pub fn get(&self, key: T::Key<'_>) -> Result<Option<T>> {
        let found = self.inner.get(&T::key_values(key))?;
        Ok(found.map(T::from_handle))
    }

    /// The objects with these primary keys, in the order of the keys; `None` for a key without an
    /// object. They are read in the order of the file.
    ///
    /// # Errors
    /// See [`PackObjects`].
    pub fn get_many<'k>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> Result<Vec<Option<T>>> {
        let keys: Vec<KeyParts<'k>> = keys.into_iter().map(T::key_values).collect();
        let found = self.inner.get_many(&keys)?.into_iter();
        Ok(found.map(|found| found.map(T::from_handle)).collect())
    }

    /// Whether there is an object with a primary key.
    ///
    /// # Errors
    /// See [`PackObjects`].
    pub fn contains(&self, key: T::Key<'_>) -> Result<bool> {
        self.inner.contains(&T::key_values(key))
    }

    /// The position of the object with a primary key.
    ///
    /// # Errors
    /// See [`PackObjects`].
    pub fn index_of(&self, key: T::Key<'_>) -> Result<Option<u64>> {
        self.inner.index_of(&T::key_values(key))
    }

    /// The object at a position; `None` beyond the last.
    ///
    /// # Errors
    /// See [`PackObjects`].
    pub fn nth(&self, position: u64) -> Result<Option<T>> {
        Ok(self.inner.nth(position)?.map(T::from_handle))
    }

    /// All objects, from both ends.
    #[must_use]
    pub fn iter(&self) -> PackIter<T> {
        PackIter::new(self.inner.iter())
    }

    /// The objects at these positions. Positions behind the last object are left out.
    #[must_use]
    pub fn slice(&self, positions: Range<u64>) -> PackIter<T> {
        PackIter::new(self.inner.slice(positions))
    }

    /// The objects whose key lies in a range.
    ///
    /// # Errors
    /// See [`PackObjects`].
    pub fn range<'k>(&self, keys: impl RangeBounds<T::Key<'k>>) -> Result<PackIter<T>>
    where
        T::Key<'k>: Clone,
    {
        let parts = |bound: Bound<&T::Key<'k>>| bound.map(|key| T::key_values(key.clone()));
        let (start, end) = (parts(keys.start_bound()), parts(keys.end_bound()));
        let bounds = (
            start.as_ref().map(|key| key.as_slice()),
            end.as_ref().map(|key| key.as_slice()),
        );
        self.inner.range(bounds).map(PackIter::new)
    }

    /// All objects in the order of their keys, in `parts` iterators of about the same length, for
    /// as many threads.
    #[must_use]
    pub fn split(&self, parts: usize) -> Vec<PackIter<T>> {
        let parts = self.inner.split(parts).into_iter();
        parts.map(PackIter::new).collect()
    }

    /// The objects of both in the order of their keys. For a key that both have, the object of this
    /// one is taken.
    #[must_use]
    pub fn union(&self, other: &Self) -> PackSetIter<T> {
        PackSetIter::new(self.inner.union(&other.inner))
    }

    /// The objects of this one whose keys the other has too.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> PackSetIter<T> {
        PackSetIter::new(self.inner.intersection(&other.inner))
    }

    /// The objects of this one whose keys the other lacks.
    #[must_use]
    pub fn difference(&self, other: &Self) -> PackSetIter<T> {
        PackSetIter::new(self.inner.difference(&other.inner))
    }
}

impl<T> Clone for PackObjects<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            object: PhantomData,
        }
    }
}

impl<T> fmt::Debug for PackObjects<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackObjects({})", self.inner.len())
    }
}

/// Objects of a pack in the order of their keys, read as the iterator is advanced, from both ends.
///
/// An object that cannot be read is an error, and the iterator goes on behind it.
pub struct PackIter<T> {
    inner: dflat_pack::Iter,
    object: PhantomData<fn() -> T>,
}

impl<T: Object> PackIter<T> {
    const fn new(inner: dflat_pack::Iter) -> Self {
        Self {
            inner,
            object: PhantomData,
        }
    }

    /// The positions of the objects that are left.
    #[must_use]
    pub fn positions(&self) -> Range<u64> {
        self.inner.positions()
    }
}

impl<T: Object> Iterator for PackIter<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        Some(self.inner.next()?.map(T::from_handle))
    }

    fn nth(&mut self, n: usize) -> Option<Result<T>> {
        Some(self.inner.nth(n)?.map(T::from_handle))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.size_hint()
    }
}

impl<T: Object> DoubleEndedIterator for PackIter<T> {
    fn next_back(&mut self) -> Option<Result<T>> {
        Some(self.inner.next_back()?.map(T::from_handle))
    }
}

impl<T: Object> FusedIterator for PackIter<T> {}

impl<T> fmt::Debug for PackIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackIter({:?})", self.inner.positions())
    }
}

/// Objects of two packs, combined by their keys and in their order, read as the iterator is
/// advanced.
///
/// After an error the iterator has ended.
pub struct PackSetIter<T> {
    inner: dflat_pack::SetIter,
    object: PhantomData<fn() -> T>,
}

impl<T: Object> PackSetIter<T> {
    const fn new(inner: dflat_pack::SetIter) -> Self {
        Self {
            inner,
            object: PhantomData,
        }
    }
}

impl<T: Object> Iterator for PackSetIter<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        Some(self.inner.next()?.map(T::from_handle))
    }
}

impl<T> fmt::Debug for PackSetIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackSetIter").finish_non_exhaustive()
    }
}
