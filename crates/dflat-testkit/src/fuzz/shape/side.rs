//! An engine with objects of a schema made at run time, and another program that writes to its
//! file.

use std::ops::ControlFlow;
use std::rc::Rc;

use dflat_engine::engine::{Engine, EngineOptions, PerformOptions};
use dflat_engine::fetch::{self, Control};
use dflat_engine::object::Object;
use dflat_engine::storage::{
    CloseOptions, IndexState, Indexes, MemoryBackend, Row, ScanPlan, Snapshot, Source, View,
};
use dflat_engine::transaction::{self, Transaction};
use dflat_engine::{ErrorKind, Result};
use dflat_model::{Expression, Query, RowId, Table, Value, ValueRef};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use rusqlite::{Connection, params_from_iter, types};
use tempfile::TempDir;

use crate::random::Random;

/// An object to write.
pub(super) struct Change {
    pub(super) payload: Vec<u8>,
    /// Whether another object has its key or a unique value.
    pub(super) taken: bool,
}

/// An engine on a backend.
pub(super) struct Side {
    engine: Engine,
    table: Table,
    control: Control,
}

impl Side {
    pub(super) fn memory(table: &Table) -> Self {
        let engine = Engine::new(MemoryBackend::new(), EngineOptions::default());
        Self::of(engine, table)
    }

    pub(super) fn of(engine: Engine, table: &Table) -> Self {
        Self {
            engine,
            table: table.clone(),
            control: Control::default(),
        }
    }

    pub(super) fn on(file: &File, table: &Table) -> Self {
        let path = file.0.path().join("test.db");
        let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
        Self::of(Engine::new(backend, EngineOptions::default()), table)
    }

    /// Closes the engine after its background work has ended.
    pub(super) fn close(&self) {
        self.engine.shutdown(CloseOptions::default()).unwrap();
    }

    /// Sets the number of rows that a query reads by a key before it may give the key up.
    pub(super) fn set_patience(&mut self, patience: usize) {
        self.control.rows_before_count = patience;
    }

    pub(super) const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) const fn table(&self) -> &Table {
        &self.table
    }

    pub(super) const fn control(&self) -> &Control {
        &self.control
    }

    fn perform(&self, work: impl FnOnce(&Rc<Transaction>) -> Result<()>) {
        let tables = vec![self.table.clone()];
        let options = PerformOptions::default();
        self.engine
            .perform_here(tables, options, work, |_| {})
            .unwrap();
    }

    /// Writes objects; checks that taken values are refused.
    pub(super) fn write(&self, changes: &[Change]) {
        self.perform(|tx| {
            for Change { payload, taken } in changes {
                let written = tx.submit(&self.table, transaction::Change::Upsert { payload });
                match written {
                    Ok(_) => assert!(!taken, "a value was taken twice"),
                    Err(error) => {
                        assert!(
                            *taken && error.kind() == ErrorKind::AlreadyExists,
                            "{error}"
                        );
                    }
                }
            }
            Ok(())
        });
    }

    pub(super) fn delete(&self, key: &[Value]) {
        self.perform(|tx| {
            let object = tx.get(&self.table, key)?.unwrap();
            let base = tx.latest(&self.table, &object)?.unwrap();
            let deleted = tx.submit(&self.table, transaction::Change::Delete { base });
            deleted.map(drop)
        });
    }

    pub(super) fn fetch(&self, query: &Query) -> Vec<Object> {
        let (table, control) = (&self.table, &self.control);
        let view = fetch::view_for(table, query);
        let fetched = self.engine.read(table, view, |snapshot, origin| {
            fetch::fetch(
                &mut Once::new(snapshot, view),
                table,
                query,
                control,
                origin,
            )
        });
        fetched.unwrap()
    }

    pub(super) fn count(&self, query: &Query) -> usize {
        let (table, control) = (&self.table, &self.control);
        let view = fetch::view_for(table, query);
        let counted = self.engine.read(table, view, |snapshot, _| {
            fetch::count(&mut Once::new(snapshot, view), table, query, control)
        });
        counted.unwrap()
    }

    /// The values of some fields, in the query's order.
    pub(super) fn select(&self, query: &Query, fields: &[Expression]) -> Vec<Vec<Value>> {
        let (table, control) = (&self.table, &self.control);
        let view = fetch::view_for(table, query);
        let selected = self.engine.read(table, view, |snapshot, _| {
            let read = &mut |row: Row<'_>| {
                let values = fields.iter().map(|field| fetch::value_of(&row, field));
                values.map(|value| Ok(value?.to_value())).collect()
            };
            fetch::select(
                &mut Once::new(snapshot, view),
                table,
                query,
                fields,
                control,
                read,
            )
        });
        selected.unwrap()
    }

    /// The values of a field, in no order.
    pub(super) fn aggregate(&self, query: &Query, field: &Expression) -> Vec<Value> {
        let (table, control) = (&self.table, &self.control);
        let view = fetch::view_to_aggregate(table, query, field);
        let mut values = Vec::new();
        let aggregated = self.engine.read(table, view, |snapshot, _| {
            values.clear();
            let fold = &mut |value: ValueRef<'_>| values.push(value.to_value());
            fetch::aggregate(
                &mut Once::new(snapshot, view),
                table,
                query,
                field,
                control,
                fold,
            )
        });
        aggregated.unwrap();
        values
    }

    pub(super) fn settle(&self) {
        self.engine.settle().unwrap();
    }

    /// Waits until all indexes are built.
    pub(super) fn build(&self) {
        let tables = std::slice::from_ref(&self.table);
        self.engine.build_indexes(tables).unwrap();
        self.settle();
    }

    /// Continues with the table of another version of the program.
    pub(super) fn set_table(&mut self, table: &Table) {
        self.table = table.clone();
    }

    /// Whether each index is ready.
    pub(super) fn is_indexed(&self) -> bool {
        let states = self.engine.read(&self.table, View::Pinned, |snapshot, _| {
            snapshot.indexes(&self.table).map(|indexes| indexes.states)
        });
        states
            .unwrap()
            .iter()
            .all(|state| *state == IndexState::Ready)
    }
}

/// Fails at a second scan of a view of the latest state, because two scans may see two states.
struct Once<'s> {
    snapshot: &'s mut dyn Snapshot,
    view: View,
    scans: usize,
}

impl<'s> Once<'s> {
    fn new(snapshot: &'s mut dyn Snapshot, view: View) -> Self {
        Self {
            snapshot,
            view,
            scans: 0,
        }
    }
}

impl Snapshot for Once<'_> {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let by_ids = matches!(plan.source, Source::RowIds(_));
        self.scans += usize::from(plan.payload);
        assert!(
            self.view == View::Pinned || (self.scans <= 1 && !by_ids),
            "a second scan without a snapshot: {:?}",
            plan.source
        );
        self.snapshot.scan(plan, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        assert!(
            self.view == View::Pinned,
            "states of indexes without a snapshot"
        );
        self.snapshot.indexes(table)
    }
}

/// A file, and another program that knows its tables but not its indexes.
pub(super) struct File(TempDir);

impl File {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> Connection {
        Connection::open(self.0.path().join("test.db")).unwrap()
    }

    /// Makes a change to most of the indexes.
    pub(super) fn lose(&self, table: &Table, change: &str, random: &mut Random) {
        let sql = self.open();
        for index in table.indexes.iter() {
            if !random.one_in(4) {
                let ours = if index.is_plain() { "" } else { "dflat__" };
                let name = format!("{ours}{}__{}", table.name, index.storage_key());
                sql.execute_batch(&change.replace("{}", &name)).unwrap();
            }
        }
    }

    pub(super) fn replace(&self, table: &Table, row_id: RowId, payload: &[u8]) {
        let text = format!("UPDATE {} SET p = ? WHERE rowid = ?", table.name);
        self.open().execute(&text, (payload, row_id.0)).unwrap();
    }

    pub(super) fn delete(&self, table: &Table, row_id: RowId) {
        let text = format!("DELETE FROM {} WHERE rowid = ?", table.name);
        self.open().execute(&text, [row_id.0]).unwrap();
    }

    pub(super) fn insert(&self, table: &Table, key: &[Value], payload: &[u8], gap: i64) {
        let columns: Vec<String> = (0..key.len()).map(|part| format!("__pk{part}, ")).collect();
        let marks = "?, ".repeat(key.len());
        let text = format!(
            "INSERT INTO {} ({}p, rowid) VALUES ({marks}?, \
             coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = '{}'), 0) + {gap})",
            table.name,
            columns.concat(),
            table.name,
        );
        let mut values: Vec<types::Value> = key.iter().map(column).collect();
        values.push(types::Value::Blob(payload.to_vec()));
        self.open()
            .execute(&text, params_from_iter(values))
            .unwrap();
    }
}

fn column(value: &Value) -> types::Value {
    match value {
        Value::Null => types::Value::Null,
        Value::Int(number) => types::Value::Integer(*number),
        Value::UInt(number) => types::Value::Blob(number.to_be_bytes().to_vec()),
        Value::Float(number) => types::Value::Real(*number),
        Value::Text(text) => types::Value::Text(text.clone().into_owned()),
    }
}
