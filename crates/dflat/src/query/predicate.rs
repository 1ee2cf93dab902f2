//! Typed conditions.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

use dflat_engine::fetch::PREDICATE_DEPTH_MAX;
use dflat_model::Predicate as Data;

use crate::{Error, ErrorKind, Object, Result};

/// A condition on objects of type `R`.
///
/// Conditions combine with `&`, `|` and `!`. Logic is three-valued, as in SQL: a comparison with a
/// missing value is unknown, and an object qualifies only if its condition is true.
///
/// Conditions may nest 256 deep; `&` and `|` of many conditions do not nest. A query with a deeper
/// condition fails with [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
pub struct Predicate<R> {
    inner: Data,
    /// The depth of the condition: at least 1. Beyond the limit `inner` is not kept, because
    /// copying, evaluating or dropping a deeper condition could overflow a stack.
    depth: usize,
    object: PhantomData<fn() -> R>,
}

impl<R> Predicate<R> {
    pub(super) fn nested(inner: Data, depth: usize) -> Self {
        let inner = if depth > PREDICATE_DEPTH_MAX {
            Data::Constant(false)
        } else {
            inner
        };
        Self {
            inner,
            depth,
            object: PhantomData,
        }
    }

    /// The condition that all objects meet, or none.
    #[must_use]
    pub fn constant(value: bool) -> Self {
        Self::nested(Data::Constant(value), 1)
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

    /// The condition as plain data, and whether it nests too deeply to be kept.
    pub(crate) fn into_data(self) -> (Data, bool) {
        (self.inner, self.depth > PREDICATE_DEPTH_MAX)
    }

    /// The condition as plain data, and how deep it nests.
    pub(super) fn into_parts(self) -> (Data, usize) {
        (self.inner, self.depth)
    }

    /// The condition as bytes, to be stored or sent. The first byte is a version;
    /// `docs/query-format.md` describes the format. A condition of up to 1 MiB can be read again.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it nests too deeply.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if self.depth > PREDICATE_DEPTH_MAX {
            let message = format!("cannot encode a condition nested {} deep", self.depth);
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(self.inner.to_bytes())
    }

    /// Combines two conditions; lists of the same kind become one list.
    fn combine(
        self,
        other: Self,
        is_list: impl Fn(&Data) -> bool,
        combine: impl FnOnce(Data, Data) -> Data,
    ) -> Self {
        let below = |part: &Self| part.depth - usize::from(is_list(&part.inner));
        let depth = 1 + below(&self).max(below(&other));
        // A condition that is built on one that is too deep is too deep as well.
        let depth = match self.depth.max(other.depth) {
            deepest if deepest > PREDICATE_DEPTH_MAX => deepest,
            _ => depth,
        };
        Self::nested(combine(self.inner, other.inner), depth)
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
        Ok(Self::nested(inner, depth))
    }
}

impl<R> BitAnd for Predicate<R> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.combine(other, |part| matches!(part, Data::And(_)), Data::and)
    }
}

impl<R> BitOr for Predicate<R> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.combine(other, |part| matches!(part, Data::Or(_)), Data::or)
    }
}

impl<R> Not for Predicate<R> {
    type Output = Self;

    fn not(self) -> Self {
        let depth = match self.inner {
            Data::Not(_) => self.depth - 1,
            _ => self.depth + 1,
        };
        Self::nested(self.inner.negate(), depth)
    }
}

impl<R> Clone for Predicate<R> {
    fn clone(&self) -> Self {
        Self::nested(self.inner.clone(), self.depth)
    }
}

impl<R> fmt::Debug for Predicate<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Predicate({})", self.inner)
    }
}

impl<R> fmt::Display for Predicate<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
