//! Typed conditions.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

use dflat_model::Predicate as Data;

use super::nested::Nested;
use crate::{Error, ErrorKind, Object, Result};

/// A condition on objects of type `R`.
///
/// Conditions combine with `&`, `|` and `!`. Logic is three-valued, as in SQL: a comparison with a
/// missing value is unknown, and an object qualifies only if its condition is true.
///
/// Conditions may nest 256 deep; `&` and `|` of many conditions do not nest. A query with a deeper
/// condition fails with [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::Predicate;
/// use post::{Color, Post};
/// let urgent: Predicate<Post> = Post::PRIORITY.gt(100) & !Post::COLOR.eq(Color::Blue);
/// let shown = urgent | Post::TAG.is_null();
/// assert_eq!(shown.to_string(), "((priority > 100 && !(color == 2)) || tag is null)");
/// ```
pub struct Predicate<R> {
    data: Nested<Data>,
    object: PhantomData<fn() -> R>,
}

impl<R> Predicate<R> {
    pub(super) fn of(data: Nested<Data>) -> Self {
        let object = PhantomData;
        Self { data, object }
    }

    /// The condition that all objects meet, or none.
    #[must_use]
    pub fn constant(value: bool) -> Self {
        Self::of(Nested::constant(value))
    }

    /// The condition that all of these conditions are met; without any, all objects meet it. So
    /// optional filters need no branch: an `Option` is an iterator.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Predicate;
    /// use post::{Color, Post};
    /// let (least, color): (Option<i32>, Option<Color>) = (Some(5), None);
    /// let filters = [
    ///     least.map(|least| Post::PRIORITY.ge(least)),
    ///     color.map(|color| Post::COLOR.eq(color)),
    /// ];
    /// let condition = Predicate::all(filters.into_iter().flatten());
    /// assert_eq!(condition.to_string(), "priority >= 5");
    /// ```
    #[must_use]
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let all = conditions.into_iter().reduce(|all, one| all & one);
        all.unwrap_or_else(|| Self::constant(true))
    }

    /// The condition that one of these conditions at least is met; without any, no object meets it.
    #[must_use]
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let any = conditions.into_iter().reduce(|any, one| any | one);
        any.unwrap_or_else(|| Self::constant(false))
    }

    /// The condition as plain data, with the depth of its nesting.
    pub(crate) fn into_nested(self) -> Nested<Data> {
        self.data
    }

    /// The condition as bytes, to be stored or sent. The first byte is a version;
    /// `docs/query-format.md` describes the format. A condition of up to 1 MiB can be read again.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it nests too deeply.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if self.data.is_too_deep() {
            let message = format!("cannot encode a condition nested {} deep", self.data.depth);
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(self.data.inner.to_bytes())
    }
}

impl<R: Object> Predicate<R> {
    /// Reads a condition from the bytes of [`to_bytes`](Self::to_bytes), written here or elsewhere.
    /// Any bytes may be given.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the bytes are malformed, of an unknown
    /// version or more than 1 MiB, or if the condition is not about an `R`: it names fields that
    /// `R` does not have, or has with another type.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Predicate;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let urgent = Post::PRIORITY.gt(100) & !Post::TAG.starts_with("old");
    /// let bytes = urgent.to_bytes()?;
    /// let read = Predicate::<Post>::from_bytes(&bytes)?;
    /// assert_eq!(read.to_string(), urgent.to_string());
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let refuse = |reason: String| {
            let name = &R::TABLE.type_name;
            let message = format!("cannot read a condition on {name}: {reason}");
            Error::new(ErrorKind::InvalidArgument, message)
        };
        let inner = Data::from_bytes(bytes).map_err(|error| refuse(error.to_string()))?;
        if !inner.is_about(&R::TABLE) {
            return Err(refuse("it names fields that are not there".to_owned()));
        }
        let depth = inner.depth();
        Ok(Self::of(Nested::of(inner, depth)))
    }
}

impl<R> BitAnd for Predicate<R> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::of(self.data.and(other.data))
    }
}

impl<R> BitOr for Predicate<R> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::of(self.data.or(other.data))
    }
}

impl<R> Not for Predicate<R> {
    type Output = Self;

    fn not(self) -> Self {
        Self::of(self.data.negate())
    }
}

impl<R> Clone for Predicate<R> {
    fn clone(&self) -> Self {
        Self::of(self.data.clone())
    }
}

impl<R> fmt::Debug for Predicate<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Predicate({})", self.data.inner)
    }
}

impl<R> fmt::Display for Predicate<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.inner.fmt(f)
    }
}
