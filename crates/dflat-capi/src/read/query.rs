//! Queries that are decoded once and run often.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use dflat_engine::fetch::{Cancellation, Control, cursor_of};
use dflat_engine::object::RawObject;
use dflat_engine::observe::ShapedQuery;
use dflat_model::{Query, Table};

use crate::boundary::{Bytes, In, Kind, OutHandle, Owned, export, export_release, invalid};
use crate::object::borrow;
use crate::table::TableHandle;

/// A query on a table, which is used often.
pub(crate) struct PreparedQuery {
    pub(crate) table: Table,
    pub(crate) query: Query,
    /// How long a read may take.
    time_max: Option<Duration>,
    cancellation: Option<Cancellation>,
    /// The form in which subscriptions share it, made when it is asked for.
    shaped: OnceLock<ShapedQuery>,
}

impl PreparedQuery {
    const fn new(table: Table, query: Query) -> Self {
        Self {
            table,
            query,
            time_max: None,
            cancellation: None,
            shaped: OnceLock::new(),
        }
    }

    /// The bounds of a read that begins now.
    pub(crate) fn control(&self) -> Control {
        Control {
            deadline: self.time_max.map(|time_max| Instant::now() + time_max),
            cancellation: self.cancellation.clone(),
            ..Control::default()
        }
    }

    /// The query with another condition, order or window, and the same bounds.
    fn with(&self, query: Query) -> Self {
        Self {
            time_max: self.time_max,
            cancellation: self.cancellation.clone(),
            ..Self::new(self.table.clone(), query)
        }
    }

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
        Self::of(PreparedQuery::new(table, query))
    }

    fn of(prepared: PreparedQuery) -> Self {
        Self(Arc::new(prepared))
    }
}

/// A cancellation for the caller.
pub(crate) struct CancellationHandle(Cancellation);

impl Kind for CancellationHandle {
    const TAG: u64 = 0xDF1A_700D;
    const NAME: &'static str = "dflat_cancellation";
}

/// A time of a century or more is no bound; a clock could not count further.
const TIME_MAX_MILLISECONDS: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

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
            false => Query::from_bytes_of_any_size(bytes)
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
        windowed.set(QueryHandle::of(whole.with(inner)));
    }

    fn dflat_query_after(
        query: In<'_, QueryHandle>,
        object: RawObject,
        next: OutHandle<'_, QueryHandle>,
    ) {
        next.begin()?;
        let whole = &query.get()?.0;
        let object = borrow(object).ok_or_else(|| invalid("object: there is none"))?;
        let mut inner = whole.query.clone();
        inner.after = Some(cursor_of(&whole.table, &inner, &object)?);
        inner.offset = 0;
        next.set(QueryHandle::of(whole.with(inner)));
    }

    fn dflat_query_bounded(
        query: In<'_, QueryHandle>,
        milliseconds_max: u64,
        cancellation: In<'_, CancellationHandle>,
        bounded: OutHandle<'_, QueryHandle>,
    ) {
        bounded.begin()?;
        let whole = &query.get()?.0;
        let cancellation = cancellation.or_none()?;
        let has_bound = milliseconds_max < TIME_MAX_MILLISECONDS;
        bounded.set(QueryHandle::of(PreparedQuery {
            time_max: has_bound.then(|| Duration::from_millis(milliseconds_max)),
            cancellation: cancellation.map(|cancellation| cancellation.0.clone()),
            ..PreparedQuery::new(whole.table.clone(), whole.query.clone())
        }));
    }

    fn dflat_cancellation_new(cancellation: OutHandle<'_, CancellationHandle>) {
        cancellation.begin()?;
        cancellation.set(CancellationHandle(Cancellation::new()));
    }

    fn dflat_cancellation_cancel(cancellation: In<'_, CancellationHandle>) {
        cancellation.get()?.0.cancel();
    }
}

export_release! {
    fn dflat_cancellation_release(cancellation: Owned<CancellationHandle>) {
        drop(cancellation.take()?);
    }

    fn dflat_query_release(query: Owned<QueryHandle>) {
        drop(query.take()?);
    }
}
