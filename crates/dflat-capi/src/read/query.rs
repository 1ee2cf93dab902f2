//! Queries that are decoded once and run often.

use std::sync::{Arc, OnceLock};

use dflat_engine::observe::ShapedQuery;
use dflat_model::{Query, Table};

use crate::boundary::{Bytes, In, Kind, OutHandle, Owned, export, export_release, invalid};
use crate::table::TableHandle;

/// A query on a table, which is used often.
pub(crate) struct PreparedQuery {
    pub(crate) table: Table,
    pub(crate) query: Query,
    /// The form in which subscriptions share it, made when it is asked for.
    shaped: OnceLock<ShapedQuery>,
}

impl PreparedQuery {
    /// The query in the form in which subscriptions share it.
    pub(crate) fn shaped(&self) -> ShapedQuery {
        let shaped = self.shaped.get_or_init(|| self.query.clone().into());
        shaped.clone()
    }

    /// Whether both are the same query on the same table.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || (self.table.is_stored_as(&other.table) && self.query == other.query)
    }
}

/// A query for the caller.
pub(crate) struct QueryHandle(pub(crate) Arc<PreparedQuery>);

impl Kind for QueryHandle {
    const TAG: u64 = 0xDF1A_7003;
    const NAME: &'static str = "dflat_query";
}

impl QueryHandle {
    pub(crate) fn new(table: Table, query: Query) -> Self {
        let shaped = OnceLock::new();
        Self(Arc::new(PreparedQuery {
            table,
            query,
            shaped,
        }))
    }
}

/// A number of objects; `None` for the largest number.
fn limit(objects: u64) -> Option<usize> {
    match objects {
        u64::MAX => None,
        objects => Some(usize::try_from(objects).unwrap_or(usize::MAX)),
    }
}

export! {
    fn dflat_query_new(
        table: In<'_, TableHandle>,
        encoded: Bytes<'_>,
        query: OutHandle<'_, QueryHandle>,
    ) {
        query.begin()?;
        let bytes = encoded.get("encoded")?;
        let decoded = match bytes.is_empty() {
            true => Query::default(),
            false => Query::from_bytes(bytes)
                .map_err(|error| invalid(format!("cannot make a query: {error}")))?,
        };
        query.set(QueryHandle::new(table.get()?.0.clone(), decoded));
    }

    fn dflat_query_window(
        query: In<'_, QueryHandle>,
        offset: u64,
        objects_max: u64,
        windowed: OutHandle<'_, QueryHandle>,
    ) {
        windowed.begin()?;
        let whole = &query.get()?.0;
        let mut inner = whole.query.clone();
        inner.offset = usize::try_from(offset).unwrap_or(usize::MAX);
        inner.limit = limit(objects_max);
        windowed.set(QueryHandle::new(whole.table.clone(), inner));
    }
}

export_release! {
    fn dflat_query_release(query: Owned<QueryHandle>) {
        drop(query.take()?);
    }
}
