//! Reading: in a workspace, a snapshot or a transaction.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_model::RowId;
use dflat_workspace::{Fetch, Source};

use super::query::QueryHandle;
use super::snapshot::SnapshotHandle;
use super::value::{self, RawValue};
use super::view::ResultHandle;
use crate::boundary::{In, Lent, List, Out, OutHandle, RawView, export, invalid};
use crate::buffer::BufferHandle;
use crate::callbacks::TransactionHandle;
use crate::object::give;
use crate::table::TableHandle;
use crate::workspace::WorkspaceHandle;

/// The state to read: `dflat_source`. One member is not NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawSource<'a> {
    workspace: In<'a, WorkspaceHandle>,
    snapshot: In<'a, SnapshotHandle>,
    transaction: Lent<'a, TransactionHandle>,
}

impl<'a> RawSource<'a> {
    fn get(self) -> Result<Source<'a>> {
        let (workspace, snapshot) = (self.workspace.or_none()?, self.snapshot.or_none()?);
        match (workspace, snapshot, self.transaction.is_none()) {
            (Some(workspace), None, true) => Ok(Source::Workspace(workspace.0.engine())),
            (None, Some(snapshot), true) => Ok(Source::Snapshot(&snapshot.0)),
            (None, None, false) => Ok(self.transaction.get()?.0.source()),
            _ => Err(invalid(
                "source: one of its members must be set, and only one",
            )),
        }
    }
}

/// The query in a source, to be run.
pub(super) fn fetch<'a>(source: RawSource<'a>, query: In<'a, QueryHandle>) -> Result<Fetch<'a>> {
    let query = &query.get()?.0;
    let mut fetch = Fetch::new(source.get()?, query.table.clone());
    fetch.query = query.query.clone();
    fetch.control = query.control();
    Ok(fetch)
}

export! {
    fn dflat_fetch(
        source: RawSource<'_>,
        query: In<'_, QueryHandle>,
        result: OutHandle<'_, ResultHandle>,
    ) {
        result.begin()?;
        let fetched = fetch(source, query)?.all()?;
        result.set(ResultHandle::new(fetched, Arc::clone(&query.get()?.0)));
    }

    fn dflat_count(source: RawSource<'_>, query: In<'_, QueryHandle>, count: Out<'_, u64>) {
        count.begin("count", 0)?;
        count.set(fetch(source, query)?.count()? as u64);
    }

    fn dflat_explain(
        source: RawSource<'_>,
        query: In<'_, QueryHandle>,
        text: OutHandle<'_, BufferHandle>,
    ) {
        text.begin()?;
        let plan = fetch(source, query)?.explain()?.to_string();
        text.set(BufferHandle(plan.into_bytes()));
    }

    fn dflat_get(
        source: RawSource<'_>,
        table: In<'_, TableHandle>,
        key: List<'_, RawValue<'_>>,
        key_count: usize,
        view: Out<'_, RawView>,
    ) {
        view.begin("view", RawView::NONE)?;
        let table = &table.get()?.0;
        let key = value::key(key, key_count)?;
        let parts = table.primary_key.len();
        if key.len() != parts {
            let name = &table.type_name;
            let message = format!("key: the primary key of {name} has {parts} values");
            return Err(invalid(message));
        }
        give(source.get()?.get(table, &key)?, view);
    }

    fn dflat_find(
        source: RawSource<'_>,
        table: In<'_, TableHandle>,
        row_id: i64,
        view: Out<'_, RawView>,
    ) {
        view.begin("view", RawView::NONE)?;
        give(source.get()?.find(&table.get()?.0, RowId(row_id))?, view);
    }
}
