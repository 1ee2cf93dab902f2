//! The objects of a query in groups.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use dflat_engine::fetch::{self, Grouping, PREDICATE_DEPTH_MAX};
use dflat_model::{Direction, Domain, Expression, FieldKind, Nulls, Scalar, Value};

use super::Fetch;
use super::aggregate::Sum;
use crate::{AsyncCall, Error, ErrorKind, Field, FieldType, Number, Object, Result};

/// The objects that have the same value of a field: their number and, if one was asked for, a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Group<K, S = ()> {
    /// The value that the objects share; `None` for the objects without one. Zeros of both signs
    /// are one group. A number that an enum of this code does not know is a group of its own, whose
    /// key reads as the enum's default.
    pub key: Option<K>,
    /// The number of the objects, at least 1.
    pub count: usize,
    /// The sum that [`GroupBy::sum`] asked for: `None` if no object of the group has a value, or if
    /// the values include both infinities.
    pub sum: S,
}

/// The objects of a query in groups by a field, made by [`Fetch::group_by`]: to be read once by
/// [`all`](Self::all), or to be subscribed to, as any [`Observable`](crate::Observable).
///
/// Groups come in ascending order of their keys; the group without a key comes first. Groups
/// without objects are not listed.
///
/// A subscription delivers all groups after each commit that changes one of them. The groups are
/// kept up to date from the changed objects alone: no object is read again and none is kept. The
/// cost of a commit grows with its changed objects and, if a delivery is made, with the number of
/// groups.
#[must_use = "groups do nothing until they are read or subscribed to"]
pub struct GroupBy<'w, T, K: ?Sized, S = ()> {
    pub(crate) fetch: Fetch<'w, T>,
    order: dflat_model::Order,
    nulls_first: Option<bool>,
    sum: Option<(Expression, Domain)>,
    pub(crate) reader: Reader<S>,
    key: PhantomData<fn() -> Box<K>>,
}

/// Reads a sum from its plain form.
pub(crate) type Reader<S> = fn(&Value) -> S;

impl<'w, T: Object> Fetch<'w, T> {
    /// The objects of the query in groups by a field or a computed value: the number of objects of
    /// each group and, with [`sum`](GroupBy::sum), a sum; as a list with sections needs them. The
    /// order of the query has no effect.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Color, Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let colors = workspace.fetch::<Post>().group_by(Post::COLOR).sum(Post::PRIORITY);
    /// let live = workspace.observe(colors)?.watch()?;
    ///
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     for (title, color) in [("a", Color::Red), ("b", Color::Blue), ("c", Color::Red)] {
    ///         let title = title.into();
    ///         let data = PostData { title, color, priority: 2, ..PostData::default() };
    ///         tx.submit(PostChangeRequest::creation(data))?;
    ///     }
    ///     Ok(())
    /// })?;
    ///
    /// let groups = workspace.fetch::<Post>().group_by(Post::COLOR).sum(Post::PRIORITY).all()?;
    /// let sections: Vec<_> = groups.iter().map(|g| (g.key, g.count, g.sum)).collect();
    /// assert_eq!(sections, [(Some(Color::Red), 2, Some(4)), (Some(Color::Blue), 1, Some(2))]);
    /// workspace.settle()?;
    /// assert_eq!(*live.latest().expect("the groups as they are")?, *groups);
    /// # Ok(())
    /// # }
    /// ```
    pub fn group_by<K: FieldType + ?Sized, P>(
        mut self,
        field: Field<T, K, P>,
    ) -> GroupBy<'w, T, K> {
        let (key, depth) = field.into_data();
        if depth > PREDICATE_DEPTH_MAX {
            self.refuse_as_too_deep();
        }
        GroupBy {
            fetch: self,
            order: dflat_model::Order {
                key,
                direction: Direction::Ascending,
                nulls: Nulls::Smallest,
            },
            nulls_first: None,
            sum: None,
            reader: |_| (),
            key: PhantomData,
        }
    }
}

impl<'w, T: Object, K: FieldType + ?Sized, S> GroupBy<'w, T, K, S> {
    /// Adds the sum of a field in each group, in `i64`, `u64` or `f64`. The sum is exact; a sum of
    /// floats is rounded once at the end, so it does not depend on the order of the objects, nor on
    /// those that were in the group before. A later call replaces an earlier one.
    pub fn sum<N: Number, P>(mut self, field: Field<T, N, P>) -> GroupBy<'w, T, K, Option<Sum<N>>> {
        let (expression, depth) = field.into_data();
        if depth > PREDICATE_DEPTH_MAX {
            self.fetch.refuse_as_too_deep();
        }
        GroupBy {
            fetch: self.fetch,
            order: self.order,
            nulls_first: self.nulls_first,
            sum: Some((expression, N::DOMAIN)),
            reader: |value| N::Wide::from_value(value.as_ref()),
            key: PhantomData,
        }
    }

    /// Orders the groups from the largest key; the group without a key comes last.
    pub fn descending(mut self) -> Self {
        self.order.direction = Direction::Descending;
        self
    }

    /// Puts the group without a key first, in both directions.
    pub fn nulls_first(mut self) -> Self {
        self.nulls_first = Some(true);
        self
    }

    /// Puts the group without a key last, in both directions.
    pub fn nulls_last(mut self) -> Self {
        self.nulls_first = Some(false);
        self
    }

    /// The groups in their order.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the query has a limit, an offset or a
    /// cursor position, or if a sum does not fit; otherwise as [`Fetch::all`].
    ///
    /// # Cost
    /// As [`Fetch::count`], and memory for each group. Only the field's index is read, if it has
    /// one, nothing is summed and the query has no condition.
    pub fn all(self) -> Result<Vec<Group<K::Owned, S>>> {
        self.fetch.check()?;
        let groups = self.fetch.inner.fetch.groups(&self.grouping())?;
        read::<T, K, S>(&groups, self.reader)
    }

    pub(crate) fn grouping(&self) -> Arc<Grouping> {
        let mut order = self.order.clone();
        let ascends = order.direction == Direction::Ascending;
        if let Some(nulls_first) = self.nulls_first {
            order.nulls = if nulls_first == ascends {
                Nulls::Smallest
            } else {
                Nulls::Largest
            };
        }
        let sum = self.sum.clone();
        Arc::new(Grouping { order, sum })
    }
}

impl<T: Object, K: FieldType + ?Sized, S: Send + 'static> GroupBy<'_, T, K, S> {
    /// [`all`](Self::all) as a future, as the [asynchronous reads](Fetch::all_async) of a query.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn all_async(self) -> AsyncCall<Vec<Group<K::Owned, S>>> {
        let Self {
            fetch,
            order,
            nulls_first,
            sum,
            reader,
            ..
        } = self;
        fetch.later(move |fetch| {
            let groups: GroupBy<'_, T, K, S> = GroupBy {
                fetch,
                order,
                nulls_first,
                sum,
                reader,
                key: PhantomData,
            };
            groups.all()
        })
    }
}

/// Groups of plain data as typed groups.
pub(crate) fn read<T: Object, K: FieldType + ?Sized, S>(
    groups: &[fetch::Group],
    reader: Reader<S>,
) -> Result<Vec<Group<K::Owned, S>>> {
    let groups = groups.iter().map(|group| {
        let Some(sum) = &group.sum else {
            let name = &T::TABLE.type_name;
            let key = match (K::KIND, &group.key) {
                (FieldKind::Scalar(Scalar::Bool), Value::Int(0)) => "false".to_owned(),
                (FieldKind::Scalar(Scalar::Bool), Value::Int(_)) => "true".to_owned(),
                (_, key) => key.to_string(),
            };
            let message =
                format!("cannot sum a field of {name}: the sum of group {key} does not fit");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        Ok(Group {
            key: K::from_value(group.key.as_ref()),
            count: group.count,
            sum: reader(sum),
        })
    });
    groups.collect()
}

impl<T, K: ?Sized, S> fmt::Debug for GroupBy<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupBy({:?} by {})", self.fetch, self.order)
    }
}
