//! A backend that notes the reads of its snapshots.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use dflat::{Result, Table};
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Indexes, Looked, Records, Row, ScanPlan, Snapshot, Source,
    StateId, View, WriteTransaction,
};
use dflat_sqlite::SqliteBackend;

/// A scan of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) table: String,
    /// The rows that were asked for by their ids; `None` for those of a query or a key.
    pub(super) row_ids: Option<usize>,
}

/// The scans so far, the first one first.
pub(super) type Reads = Arc<Mutex<Vec<Read>>>;

/// The backend. It notes the reads of its snapshots, and not those of its transactions.
pub(super) struct Counted {
    inner: Arc<SqliteBackend>,
    reads: Reads,
}

impl Counted {
    pub(super) fn new(inner: Arc<SqliteBackend>) -> (Arc<Self>, Reads) {
        let reads = Reads::default();
        let counted = Self {
            inner,
            reads: Arc::clone(&reads),
        };
        (Arc::new(counted), reads)
    }
}

impl Backend for Counted {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(CountedSnapshot {
            inner: Arc::clone(&self.inner).snapshot(view)?,
            reads: Arc::clone(&self.reads),
        }))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Arc::clone(&self.inner).begin(durability)
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        Backend::follow(&*self.inner, look);
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.inner.close(options)
    }
}

struct CountedSnapshot {
    inner: Box<dyn Snapshot>,
    reads: Reads,
}

impl Snapshot for CountedSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let row_ids = match plan.source {
            Source::RowIds(row_ids) => Some(row_ids.len()),
            _ => None,
        };
        self.reads.lock().unwrap().push(Read {
            table: plan.table.name.to_string(),
            row_ids,
        });
        self.inner.scan(plan, visit)
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        self.inner.is_overtaken(since)
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        self.inner.records(since, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}
