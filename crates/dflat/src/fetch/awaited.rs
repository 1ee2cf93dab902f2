//! The reads of a query as futures.

use std::marker::PhantomData;

use dflat_workspace::Source;

use super::aggregate::Sum;
use super::{Fetch, FetchedResult, Selection};
use crate::codec::KeyParts;
use crate::{AsyncCall, Explanation, Field, FieldType, Number, Object, Result, Value};

/// The methods whose names end in `_async` read as the methods without that ending do, on threads
/// of the library: each returns an [`AsyncCall`], a future that blocks no runtime. A read sees the
/// commits that ended before its future was polled for the first time, and maybe later ones.
///
/// They fail with [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a query of a
/// transaction, and if a transaction's handler polls them: only the blocking forms read the state
/// of the transaction.
impl<T: Object> Fetch<'_, T> {
    /// [`all`](Self::all) as a future.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{FetchedResult, Result, Workspace};
    /// use post::Post;
    ///
    /// async fn urgent(workspace: &Workspace) -> Result<FetchedResult<Post>> {
    ///     workspace.fetch::<Post>().filter(Post::PRIORITY.gt(100)).all_async().await
    /// }
    /// # fn main() -> dflat::Result<()> {
    /// # let workspace = Workspace::in_memory();
    /// # assert!(futures::executor::block_on(urgent(&workspace))?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`all`](Self::all).
    ///
    /// # Cost
    /// As [`all`](Self::all), and the way to another thread and back.
    pub fn all_async(self) -> AsyncCall<FetchedResult<T>> {
        self.later(|fetch| fetch.all())
    }

    /// [`first`](Self::first) as a future.
    ///
    /// # Errors
    /// As [`first`](Self::first).
    pub fn first_async(self) -> AsyncCall<Option<T>> {
        self.later(|fetch| fetch.first())
    }

    /// [`count`](Self::count) as a future.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn count_async(self) -> AsyncCall<usize> {
        self.later(|fetch| fetch.count())
    }

    /// [`exists`](Self::exists) as a future.
    ///
    /// # Errors
    /// As [`exists`](Self::exists).
    pub fn exists_async(self) -> AsyncCall<bool> {
        self.later(|fetch| fetch.exists())
    }

    /// [`min`](Self::min) as a future.
    ///
    /// # Errors
    /// As [`min`](Self::min).
    pub fn min_async<V: FieldType + ?Sized, P: 'static>(
        self,
        field: Field<T, V, P>,
    ) -> AsyncCall<Option<V::Owned>> {
        self.later(|fetch| fetch.min(field))
    }

    /// [`max`](Self::max) as a future.
    ///
    /// # Errors
    /// As [`max`](Self::max).
    pub fn max_async<V: FieldType + ?Sized, P: 'static>(
        self,
        field: Field<T, V, P>,
    ) -> AsyncCall<Option<V::Owned>> {
        self.later(|fetch| fetch.max(field))
    }

    /// [`sum`](Self::sum) as a future.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub fn sum_async<N: Number, P: 'static>(
        self,
        field: Field<T, N, P>,
    ) -> AsyncCall<Option<Sum<N>>> {
        self.later(|fetch| fetch.sum(field))
    }

    /// [`avg`](Self::avg) as a future.
    ///
    /// # Errors
    /// As [`avg`](Self::avg).
    pub fn avg_async<N: Number, P: 'static>(self, field: Field<T, N, P>) -> AsyncCall<Option<f64>> {
        self.later(|fetch| fetch.avg(field))
    }

    /// [`select`](Self::select) as a future.
    ///
    /// # Errors
    /// As [`select`](Self::select).
    pub fn select_async<S>(self, selection: S) -> AsyncCall<Vec<S::Output>>
    where
        S: Selection<T> + Send + 'static,
    {
        self.later(|fetch| fetch.select(selection))
    }

    /// [`explain`](Self::explain) as a future.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_async(self) -> AsyncCall<Explanation> {
        self.later(|fetch| fetch.explain())
    }

    /// Runs the query on a thread of the library.
    pub(super) fn later<R: Send + 'static>(
        self,
        read: impl FnOnce(Fetch<'_, T>) -> Result<R> + Send + 'static,
    ) -> AsyncCall<R> {
        let (source, detached) = self.inner.detach();
        AsyncCall::reading(source, T::TABLE, move |source, abandonment| {
            let inner = detached.attach(source, abandonment);
            let object = PhantomData;
            read(Fetch { inner, object })
        })
    }
}

/// The object with a primary key, as a future.
pub(crate) fn get_async<T: Object>(source: Source<'_>, key: T::Key<'_>) -> AsyncCall<Option<T>> {
    let key = owned(&T::key_values(key));
    AsyncCall::reading(source.to_owned(), T::TABLE, move |source, _| {
        let found = source.get(&T::TABLE, &parts(&key))?;
        Ok(found.map(T::from_handle))
    })
}

/// The objects with these primary keys, in the order of the keys, as a future.
pub(crate) fn get_many_async<'k, T: Object>(
    source: Source<'_>,
    keys: impl IntoIterator<Item = T::Key<'k>>,
) -> AsyncCall<Vec<Option<T>>> {
    let keys: Vec<_> = keys
        .into_iter()
        .map(|key| owned(&T::key_values(key)))
        .collect();
    AsyncCall::reading(source.to_owned(), T::TABLE, move |source, _| {
        let keys: Vec<_> = keys.iter().map(|key| parts(key)).collect();
        let found = source.get_many(&T::TABLE, &keys)?.into_iter();
        Ok(found.map(|found| found.map(T::from_handle)).collect())
    })
}

fn owned(key: &KeyParts<'_>) -> Vec<Value> {
    key.iter().map(|part| part.to_value()).collect()
}

fn parts(key: &[Value]) -> KeyParts<'_> {
    key.iter().map(Value::as_ref).collect()
}
