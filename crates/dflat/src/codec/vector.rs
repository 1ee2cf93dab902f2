//! Vectors in a payload: random access and iteration, without copying.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use dflat_engine::object::{ScalarType, VectorView};

use super::{Union, UnionReader};

/// A type of the elements of a [`Vector`].
pub trait VectorElement: 'static {
    /// Size of an element's inline part in bytes.
    const SIZE: usize;

    /// The type of an element as it is read.
    type Item<'a>: Copy;

    /// The element at a position.
    fn at<'a>(vector: &VectorView<'a>, index: usize) -> Option<Self::Item<'a>>;
}

macro_rules! scalar_elements {
    ($($type:ty)*) => {$(
        impl VectorElement for $type {
            const SIZE: usize = <$type as ScalarType>::SIZE;
            type Item<'a> = $type;

            #[inline]
            fn at<'a>(vector: &VectorView<'a>, index: usize) -> Option<$type> {
                vector.scalar(index).ok()
            }
        }
    )*};
}

scalar_elements!(bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

impl VectorElement for str {
    const SIZE: usize = 4;
    type Item<'a> = &'a Self;

    #[inline]
    fn at<'a>(vector: &VectorView<'a>, index: usize) -> Option<&'a Self> {
        vector.text(index).ok()
    }
}

/// A vector of an object, read in place.
///
/// A vector is a view: copying the view copies no elements. Each access reads one element.
pub struct Vector<'a, E: ?Sized> {
    view: Option<VectorView<'a>>,
    element: PhantomData<fn() -> Box<E>>,
}

impl<'a, E: VectorElement + ?Sized> Vector<'a, E> {
    /// The vector at a view; an empty vector if there is no view.
    #[must_use]
    pub(super) fn new(view: Option<VectorView<'a>>) -> Self {
        Self {
            view,
            element: PhantomData,
        }
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.view.map_or(0, |view| view.len())
    }

    /// Whether there are no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a position, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<E::Item<'a>> {
        self.view.as_ref().and_then(|view| E::at(view, index))
    }

    /// The elements, in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'a, E> {
        Iter {
            vector: *self,
            next: 0,
            end: self.len(),
        }
    }
}

impl<'a> Vector<'a, u8> {
    /// The elements as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &'a [u8] {
        self.view.map_or(&[], |view| view.bytes())
    }
}

impl<E: ?Sized> Clone for Vector<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: ?Sized> Copy for Vector<'_, E> {}

impl<E: VectorElement + ?Sized> PartialEq for Vector<'_, E>
where
    for<'i> E::Item<'i>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a, E: VectorElement + ?Sized> fmt::Debug for Vector<'a, E>
where
    E::Item<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

impl<'a, E: VectorElement + ?Sized> IntoIterator for Vector<'a, E> {
    type Item = E::Item<'a>;
    type IntoIter = Iter<'a, E>;

    fn into_iter(self) -> Iter<'a, E> {
        self.iter()
    }
}

impl<'a, E: VectorElement + ?Sized> IntoIterator for &Vector<'a, E> {
    type Item = E::Item<'a>;
    type IntoIter = Iter<'a, E>;

    fn into_iter(self) -> Iter<'a, E> {
        self.iter()
    }
}

/// Iterator over the elements of a [`Vector`].
pub struct Iter<'a, E: ?Sized> {
    vector: Vector<'a, E>,
    next: usize,
    end: usize,
}

/// A vector of unions of an object, read in place. An element is `None` if the union is empty or
/// holds a member that this code does not know.
pub struct UnionVector<'a, U> {
    codes: Option<VectorView<'a>>,
    values: Option<VectorView<'a>>,
    union: PhantomData<fn() -> U>,
}

impl<'a, U: Union> UnionVector<'a, U> {
    /// The vector of these codes and values; an empty vector if they are absent.
    #[must_use]
    pub(super) fn new(codes: Option<VectorView<'a>>, values: Option<VectorView<'a>>) -> Self {
        Self {
            codes,
            values,
            union: PhantomData,
        }
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.map_or(0, |codes| codes.len())
    }

    /// Whether there are no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a position. `None` if the position is out of range, or if the union is empty
    /// or holds a member that this code does not know.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<U::Ref<'a>> {
        let code = self.codes?.scalar::<u8>(index).ok()?;
        if code == 0 {
            return None;
        }
        U::view(UnionReader(self.values?.union(index, code).ok()?))
    }

    /// The elements, in order.
    #[must_use]
    pub fn iter(&self) -> UnionIter<'a, U> {
        UnionIter {
            vector: *self,
            next: 0,
            end: self.len(),
        }
    }
}

impl<U> Clone for UnionVector<'_, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for UnionVector<'_, U> {}

impl<U: Union> PartialEq for UnionVector<'_, U>
where
    for<'i> U::Ref<'i>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a, U: Union> fmt::Debug for UnionVector<'a, U>
where
    U::Ref<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

impl<'a, U: Union> IntoIterator for UnionVector<'a, U> {
    type Item = Option<U::Ref<'a>>;
    type IntoIter = UnionIter<'a, U>;

    fn into_iter(self) -> UnionIter<'a, U> {
        self.iter()
    }
}

impl<'a, U: Union> IntoIterator for &UnionVector<'a, U> {
    type Item = Option<U::Ref<'a>>;
    type IntoIter = UnionIter<'a, U>;

    fn into_iter(self) -> UnionIter<'a, U> {
        self.iter()
    }
}

/// Iterator over the elements of a [`UnionVector`].
pub struct UnionIter<'a, U> {
    vector: UnionVector<'a, U>,
    next: usize,
    end: usize,
}

macro_rules! iterator {
    (impl[$($generics:tt)*] $iter:ty, $item:ty, |$vector:ident, $index:ident| $get:expr) => {
        impl<$($generics)*> Iterator for $iter {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                let ($vector, $index) = (&self.vector, self.next);
                if $index == self.end {
                    return None;
                }
                self.next += 1;
                $get
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.end - self.next, Some(self.end - self.next))
            }
        }

        impl<$($generics)*> DoubleEndedIterator for $iter {
            fn next_back(&mut self) -> Option<$item> {
                if self.next == self.end {
                    return None;
                }
                self.end -= 1;
                let ($vector, $index) = (&self.vector, self.end);
                $get
            }
        }

        impl<$($generics)*> ExactSizeIterator for $iter {}
        impl<$($generics)*> FusedIterator for $iter {}
    };
}

iterator!(impl['a, E: VectorElement + ?Sized] Iter<'a, E>, E::Item<'a>, |vector, i| vector.get(i));
iterator!(impl['a, U: Union] UnionIter<'a, U>, Option<U::Ref<'a>>, |vector, i| Some(vector.get(i)));

impl<E: ?Sized> fmt::Debug for Iter<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({}..{})", self.next, self.end)
    }
}

impl<U> fmt::Debug for UnionIter<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnionIter({}..{})", self.next, self.end)
    }
}
