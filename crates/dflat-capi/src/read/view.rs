//! Results for the caller.

use std::sync::{Arc, OnceLock};

use dflat_engine::fetch::Fetched;

use super::query::PreparedQuery;
use crate::boundary::{
    In, Kind, Out, OutHandle, Owned, RawView, export, export_release, invalid, lent_view_of,
};
use crate::object::give;

/// The objects of a query, for the caller.
pub(crate) struct ResultHandle {
    pub(crate) fetched: Fetched,
    query: Arc<PreparedQuery>,
    /// Made when they are asked for. The objects above hold their counts.
    views: OnceLock<Box<[RawView]>>,
}

impl Kind for ResultHandle {
    const TAG: u64 = 0xDF1A_7008;
    const NAME: &'static str = "dflat_result";
}

impl ResultHandle {
    pub(crate) const fn new(fetched: Fetched, query: Arc<PreparedQuery>) -> Self {
        let views = OnceLock::new();
        Self {
            fetched,
            query,
            views,
        }
    }

    /// Another handle on the same objects.
    pub(crate) fn another(&self) -> Self {
        Self::new(self.fetched.clone(), Arc::clone(&self.query))
    }

    /// Whether it is a result of a query.
    pub(crate) fn is_of(&self, query: &PreparedQuery) -> bool {
        self.query.is_same(query)
    }

    fn views(&self) -> &[RawView] {
        let objects = &self.fetched.objects;
        let make = || objects.iter().map(lent_view_of).collect();
        self.views.get_or_init(make)
    }
}

export! {
    fn dflat_result_views(
        result: In<'_, ResultHandle>,
        views: Out<'_, *const RawView>,
        count: Out<'_, usize>,
    ) {
        count.set(0);
        views.begin("views", std::ptr::null())?;
        count.begin("count", 0)?;
        let found = result.get()?.views();
        views.set(found.as_ptr());
        count.set(found.len());
    }

    fn dflat_result_count(result: In<'_, ResultHandle>, count: Out<'_, usize>) {
        count.begin("count", 0)?;
        count.set(result.get()?.fetched.objects.len());
    }

    fn dflat_result_view(
        result: In<'_, ResultHandle>,
        position: usize,
        view: Out<'_, RawView>,
    ) {
        view.begin("view", RawView::NONE)?;
        let objects = &result.get()?.fetched.objects;
        let object = objects.get(position).ok_or_else(|| {
            let count = objects.len();
            invalid(format!("position: the result has {count} objects, and none at {position}"))
        })?;
        give(Some(object.clone()), view);
    }

    fn dflat_result_retain(
        result: In<'_, ResultHandle>,
        retained: OutHandle<'_, ResultHandle>,
    ) {
        retained.begin()?;
        retained.set(result.get()?.another());
    }
}

export_release! {
    fn dflat_result_release(result: Owned<ResultHandle>) {
        drop(result.take()?);
    }
}
