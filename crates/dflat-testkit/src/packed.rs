//! A backend that writes to memory and reads from packs, so that the laws of reading run on packs,
//! and on packs with layers.
//!
//! Each snapshot reads packs of the state in which it was begun. Row ids are positions in the order
//! of keys there, and in the order of insertion in memory: a law must insert its objects in the
//! order of their keys, and must not change an object that it has read.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dflat::Result;
use dflat_engine::object::field_value;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, IndexRepair, Indexes, MemoryBackend, Row, RowWrite,
    ScanPlan, Snapshot, Source, StateId, View, WriteError, WriteTransaction,
};
use dflat_model::{RowId, Table, Value, ValueRef};
use dflat_pack::{Pack, PackBackend};

/// Writes to memory, and reads from packs.
pub struct PackedBackend {
    memory: Arc<MemoryBackend>,
    written: Arc<Mutex<Written>>,
    /// The number of layers of the packs.
    layers: usize,
}

#[derive(Default)]
struct Written {
    /// The tables that were written.
    tables: Vec<Table>,
    /// The pack of the state after the last commit.
    pack: Option<Pack>,
}

impl PackedBackend {
    /// An empty store.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::layered(0)
    }

    /// An empty store whose packs have this number of layers.
    #[must_use]
    pub fn layered(layers: usize) -> Arc<Self> {
        Arc::new(Self {
            memory: MemoryBackend::new(),
            written: Arc::default(),
            layers,
        })
    }

    /// A pack of all tables. Its file has no name any more.
    fn pack(&self) -> Result<Pack> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pack) = &written.pack {
            return Ok(pack.clone());
        }
        let tables = written.tables.clone();
        let mut snapshot = Arc::clone(&self.memory).snapshot(View::Pinned)?;
        let mut objects = Vec::new();
        for table in &tables {
            let plan = ScanPlan {
                table,
                source: Source::Rows,
                payload: true,
            };
            snapshot.scan(&plan, &mut |row| {
                objects.push((table.clone(), row.payload.to_vec()));
                ControlFlow::Continue(())
            })?;
        }
        let directory = tempfile::tempdir().unwrap();
        let pack = layered(directory.path(), &tables, &objects, self.layers)?;
        written.pack = Some(pack.clone());
        Ok(pack)
    }
}

/// A pack of objects, of which some are in the file and the others in layers. Each layer removes
/// objects that the next one puts back, so that most of them are changed more than once.
///
/// # Errors
/// As [`Pack::build`] and [`PackEdit::finish`](dflat_pack::PackEdit::finish).
pub fn layered(
    directory: &Path,
    tables: &[Table],
    objects: &[(Table, Vec<u8>)],
    layers: usize,
) -> Result<Pack> {
    let is_first = |number: &usize| layers == 0 || number % (layers + 1) != 1;
    let first = objects.iter().enumerate();
    let first = first.filter(|(number, _)| is_first(number));
    let first = first.map(|(_, object)| object.clone());
    let mut pack = Pack::build(directory, tables.iter().cloned(), first)?;
    for layer in 1..=layers {
        let mut edit = pack.edit();
        for (number, (table, payload)) in objects.iter().enumerate() {
            let is_removed = layer < layers && number % (layers + 1) == layer + 1;
            edit = if is_removed {
                let values = key_of(table, payload);
                let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
                edit.remove(table, &values)
            } else if layer == layers || number % (layers + 1) == layer {
                edit.upsert(table, payload)
            } else {
                edit
            };
        }
        pack = edit.finish()?;
        if layer % 2 == 0 {
            pack = Pack::open(pack.save(directory)?.path())?;
        }
    }
    Ok(pack)
}

fn key_of(table: &Table, payload: &[u8]) -> Vec<Value> {
    let value = |field| field_value(payload, field).unwrap().to_value();
    table.primary_key.iter().map(value).collect()
}

impl Backend for PackedBackend {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        PackBackend::new(self.pack()?).snapshot(view)
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Ok(Box::new(Writer {
            inner: Arc::clone(&self.memory).begin(durability)?,
            written: Arc::clone(&self.written),
        }))
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.memory.close(options)
    }
}

/// A transaction in memory that notes its tables.
struct Writer {
    inner: Box<dyn WriteTransaction>,
    written: Arc<Mutex<Written>>,
}

impl Snapshot for Writer {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.scan(plan, visit)
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}

impl WriteTransaction for Writer {
    fn is_whole(&self) -> bool {
        self.inner.is_whole()
    }

    fn create(&mut self, table: &Table) -> Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.tables.retain(|other| other.name != table.name);
        written.tables.push(table.clone());
        drop(written);
        self.inner.create(table)
    }

    fn stored_schema(&mut self, table: &Table) -> Result<Option<Vec<u8>>> {
        self.inner.stored_schema(table)
    }

    fn store_schema(&mut self, table: &Table, schema: &[u8]) -> Result<()> {
        self.inner.store_schema(table, schema)
    }

    fn insert(&mut self, table: &Table, row: &RowWrite<'_>) -> Result<RowId, WriteError> {
        self.inner.insert(table, row)
    }

    fn update(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.inner.update(table, row_id, row)
    }

    fn delete(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        self.inner.delete(table, row_id)
    }

    fn restore(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.inner.restore(table, row_id, row)
    }

    fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        self.inner.repair_indexes(table, repair)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        // Order: no snapshot begins between the commit and the end of the old pack.
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.commit()?;
        written.pack = None;
        Ok(())
    }
}
