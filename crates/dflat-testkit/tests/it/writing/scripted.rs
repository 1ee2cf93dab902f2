//! A backend that wraps another one and fails on request.

use std::ops::ControlFlow;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

use dflat::{Error, ErrorKind, Result, RowId, Table};
use dflat_engine::storage::{
    Backend, BaseState, CloseOptions, Durability, IndexRepair, Indexes, Row, RowWrite, ScanPlan,
    Snapshot, StateId, View, WriteError, WriteTransaction,
};
use dflat_model::ValueRef;

/// A call that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The start of a write transaction.
    Begin,
    /// A change of a row; its failure loses the transaction, as a full disk does in SQLite.
    Write,
    /// The insertion of the row with this key. Its count does not depend on the changes that are
    /// undone and written again because the commit group was committed early.
    InsertOf(&'static str),
    /// A scan in a write transaction; its failure loses the transaction too.
    Scan,
    /// A record, or a part of one, that is appended; its failure loses the transaction too.
    Record,
    /// A commit.
    Commit,
}

/// The calls that are to fail, and the counts of the calls that were made.
#[derive(Default)]
pub(crate) struct Script {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The calls to fail, each with the number of calls of its kind that succeed before it.
    failures: Vec<(Call, usize)>,
    /// The call at which the process ends, and the number of calls of its kind before it.
    kill: Option<(Call, usize)>,
    /// The threads on which commits succeeded.
    committers: Vec<ThreadId>,
    /// The changes of rows.
    writes: usize,
    /// The number of foreign commits.
    elsewhere: u64,
    /// Whether another program commits before each transaction.
    is_contended: bool,
    /// Whether the state of the file is unknown.
    hides_states: bool,
    dropped: Option<Sender<()>>,
}

impl Script {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Lets a call fail after `before` other calls of its kind.
    pub(crate) fn fail(&self, call: Call, before: usize) {
        self.lock().failures.push((call, before));
    }

    /// Ends the process at a call, as a kill does, after `before` other calls of its kind.
    pub(crate) fn kill(&self, call: Call, before: usize) {
        self.lock().kill = Some((call, before));
    }

    /// Removes all failures.
    pub(crate) fn heal(&self) {
        self.lock().failures.clear();
    }

    /// Pretends that another program has committed.
    pub(crate) fn commit_elsewhere(&self) {
        self.lock().elsewhere += 1;
    }

    /// Pretends that another program commits before each transaction from now on.
    pub(crate) fn commit_elsewhere_before_each(&self) {
        self.lock().is_contended = true;
    }

    /// The state of the file at the start of a transaction.
    fn begin(&self) -> StateId {
        let mut state = self.lock();
        state.elsewhere += u64::from(state.is_contended);
        drop(state);
        self.state()
    }

    /// Makes the state of the file unknown from now on.
    pub(crate) fn hide_states(&self) {
        self.lock().hides_states = true;
    }

    fn hides_states(&self) -> bool {
        self.lock().hides_states
    }

    /// The state of the file, counted in foreign commits.
    fn state(&self) -> StateId {
        let state = self.lock();
        if state.hides_states {
            StateId::UNKNOWN
        } else {
            StateId(state.elsewhere)
        }
    }

    /// The commits that succeeded.
    pub(crate) fn commits(&self) -> usize {
        self.lock().committers.len()
    }

    /// The thread of the latest commit that succeeded.
    pub(crate) fn committer(&self) -> Option<ThreadId> {
        self.lock().committers.last().copied()
    }

    /// The number of changes of rows, including repeated ones.
    pub(crate) fn writes(&self) -> usize {
        self.lock().writes
    }

    /// Sends a message when the backend is dropped.
    pub(crate) fn on_drop(&self, dropped: Sender<()>) {
        self.lock().dropped = Some(dropped);
    }

    fn meets(&self, call: Call) -> Result<()> {
        self.meets_with(call, None)
    }

    /// Meets a call and, if a key is given, the insertion of the row with this key.
    fn meets_with(&self, call: Call, inserted: Option<&str>) -> Result<()> {
        let mut state = self.lock();
        state.writes += usize::from(call == Call::Write);
        match &mut state.kill {
            Some((killed, 0)) if *killed == call => std::process::abort(),
            Some((killed, before)) if *killed == call => *before -= 1,
            _ => {}
        }
        let mut fails = false;
        state.failures.retain_mut(|(failing, before)| {
            let met = match *failing {
                Call::InsertOf(key) => inserted == Some(key),
                failing => failing == call,
            };
            let now = *before == 0;
            *before -= usize::from(met && !now);
            fails |= met && now;
            !(met && now)
        });
        if fails {
            let message = format!("no space is left for {call:?}");
            return Err(Error::new(ErrorKind::StorageFull, message));
        }
        if call == Call::Commit {
            state.committers.push(thread::current().id());
        }
        Ok(())
    }
}

/// The backend.
pub(crate) struct Scripted {
    inner: Arc<dyn Backend>,
    script: Arc<Script>,
}

impl Scripted {
    pub(crate) fn new(inner: Arc<dyn Backend>) -> (Arc<Self>, Arc<Script>) {
        let script: Arc<Script> = Arc::default();
        let backend = Self {
            inner,
            script: Arc::clone(&script),
        };
        (Arc::new(backend), script)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        if let Some(dropped) = self.script.lock().dropped.take() {
            let _ = dropped.send(());
        }
    }
}

impl Backend for Scripted {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        let inner = Arc::clone(&self.inner).snapshot(view)?;
        let script = Arc::clone(&self.script);
        let pinned = StateId::default();
        Ok(Box::new(ScriptedSnapshot {
            inner,
            pinned,
            script,
        }))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        self.script.meets(Call::Begin)?;
        let inner = Arc::clone(&self.inner).begin(durability)?;
        Ok(Box::new(ScriptedTransaction {
            inner: Some(inner),
            lost: None,
            base: self.script.begin(),
            script: Arc::clone(&self.script),
        }))
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.inner.close(options)
    }
}

struct ScriptedSnapshot {
    inner: Box<dyn Snapshot>,
    pinned: StateId,
    script: Arc<Script>,
}

impl Snapshot for ScriptedSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.scan(plan, visit)
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()?;
        self.pinned = self.script.state();
        Ok(self.pinned)
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        since != self.pinned
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}

struct ScriptedTransaction {
    inner: Option<Box<dyn WriteTransaction>>,
    /// The error of every further call, after a failure.
    lost: Option<Error>,
    base: StateId,
    script: Arc<Script>,
}

impl ScriptedTransaction {
    fn inner(&mut self) -> Result<&mut dyn WriteTransaction> {
        match (&mut self.inner, &self.lost) {
            (Some(inner), None) => Ok(inner.as_mut()),
            (_, lost) => Err(lost.clone().unwrap()),
        }
    }

    /// The wrapped transaction; an error if this is the call that fails.
    fn meet(&mut self, call: Call) -> Result<&mut dyn WriteTransaction> {
        self.meet_with(call, None)
    }

    /// As [`meet`](Self::meet), also for the insertion of the row with a key.
    fn meet_with(
        &mut self,
        call: Call,
        inserted: Option<&str>,
    ) -> Result<&mut dyn WriteTransaction> {
        if self.lost.is_none()
            && let Err(error) = self.script.meets_with(call, inserted)
        {
            // The transaction is rolled back, as by SQLite on a full disk.
            drop(self.inner.take());
            self.lost = Some(error);
        }
        self.inner()
    }
}

impl Snapshot for ScriptedTransaction {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.meet(Call::Scan)?.scan(plan, visit)
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        since != self.base
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner()?.indexes(table)
    }
}

impl WriteTransaction for ScriptedTransaction {
    fn is_whole(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_whole())
    }

    fn base(&self) -> BaseState {
        let inner = self.inner.as_ref();
        let is_own = inner.is_some_and(|inner| inner.base().is_own);
        BaseState {
            id: self.base,
            is_own: is_own && !self.script.hides_states(),
        }
    }

    fn create(&mut self, table: &Table) -> Result<()> {
        self.inner()?.create(table)
    }

    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>> {
        self.inner()?.stored_schema(table)
    }

    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        self.inner()?.repair_indexes(table, repair)
    }

    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()> {
        self.inner()?.store_schema(table, schema)
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        let inserted = match row.key {
            Some([ValueRef::Text(key)]) => Some(*key),
            _ => None,
        };
        self.meet_with(Call::Write, inserted)?.insert(table, row)
    }

    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.meet(Call::Write)?.update(table, row_id, row)
    }

    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        self.meet(Call::Write)?.delete(table, row_id)
    }

    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.meet(Call::Write)?.restore(table, row_id, row)
    }

    fn is_followed(&mut self) -> bool {
        self.inner().is_ok_and(|inner| inner.is_followed())
    }

    fn append_record(&mut self, record: &[u8]) -> Result<()> {
        self.meet(Call::Record)?.append_record(record)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.meet(Call::Commit)?;
        self.inner.take().unwrap().commit()
    }
}
