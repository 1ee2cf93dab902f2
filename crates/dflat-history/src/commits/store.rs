//! The chunks of a file.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dflat_engine::Result;
use dflat_engine::engine::{Engine, EngineSnapshot};
use dflat_engine::storage::{NamedTable, Snapshot, WriteTransaction};
use dflat_model::Table;

use crate::chunk::{Address, Chunk, ChunkStore};
use crate::tree::Root;

/// The chunks of a file, and new ones that a transaction is to write.
pub struct FileStore {
    source: ChunkSource,
    new: Mutex<NewChunks>,
}

/// Where chunks are read from.
enum ChunkSource {
    /// The present state.
    Latest(Engine),
    /// A snapshot, and a table of it.
    Held(EngineSnapshot, Table),
}

impl ChunkSource {
    fn read(&self, read: impl FnOnce(&mut dyn Snapshot) -> Result<()>) -> Result<()> {
        match self {
            Self::Latest(engine) => engine.read_history(read),
            Self::Held(snapshot, table) => snapshot.read(table, |snapshot, _| read(snapshot)),
        }
    }
}

/// Chunks in the order in which they were put, so that no node is written before its children.
#[derive(Default)]
struct NewChunks {
    chunks: Vec<Chunk>,
    places: HashMap<Address, usize>,
    bytes: usize,
    reads: u64,
}

impl FileStore {
    /// The chunks of an engine's file.
    #[must_use]
    pub fn new(engine: &Engine) -> Arc<Self> {
        Self::of(ChunkSource::Latest(engine.clone()))
    }

    /// The chunks that a snapshot sees. `table` is any table.
    #[must_use]
    pub fn of_snapshot(snapshot: &EngineSnapshot, table: &Table) -> Arc<Self> {
        Self::of(ChunkSource::Held(snapshot.clone(), table.clone()))
    }

    fn of(source: ChunkSource) -> Arc<Self> {
        Arc::new(Self {
            source,
            new: Mutex::default(),
        })
    }

    /// The number of chunks that were read from the file.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.fresh().reads
    }

    /// The bytes of the new chunks that are not written yet.
    pub(crate) fn new_bytes(&self) -> usize {
        self.fresh().bytes
    }

    /// Writes the new chunks.
    ///
    /// # Errors
    /// The errors of writing, which lose the transaction.
    pub(crate) fn write(&self, writer: &mut dyn WriteTransaction) -> Result<()> {
        let new = {
            let mut fresh = self.fresh();
            let reads = fresh.reads;
            std::mem::replace(
                &mut *fresh,
                NewChunks {
                    reads,
                    ..NewChunks::default()
                },
            )
        };
        for chunk in new.chunks {
            let name = chunk.address();
            writer.put_named(NamedTable::Chunks, name.as_bytes(), chunk.bytes())?;
        }
        Ok(())
    }

    fn fresh(&self) -> MutexGuard<'_, NewChunks> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChunkStore for FileStore {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Chunk>>> {
        let mut found: Vec<Option<Chunk>> = {
            let new = self.fresh();
            let find = |address| new.places.get(address).and_then(|at| new.chunks.get(*at));
            addresses
                .iter()
                .map(|address| find(address).cloned())
                .collect()
        };
        let missing = addresses
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none());
        let names: Vec<&[u8]> = missing
            .map(|(address, _)| &address.as_bytes()[..])
            .collect();
        if names.is_empty() {
            return Ok(found);
        }
        self.fresh().reads += names.len() as u64;
        let mut read: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        self.source.read(|snapshot| {
            snapshot.named(NamedTable::Chunks, &names, &mut |row| {
                read.insert(row.name.to_vec(), row.bytes.to_vec());
                ControlFlow::Continue(())
            })
        })?;
        for (address, found) in addresses.iter().zip(&mut found) {
            // An address may stand there several times.
            if let Some(bytes) = read.get(&address.as_bytes()[..]) {
                *found = Some(Chunk::checked(*address, bytes.as_slice())?);
            }
        }
        Ok(found)
    }

    fn put_many(&self, chunks: &[Chunk]) -> Result<()> {
        let mut new = self.fresh();
        for chunk in chunks {
            // The first place stays: a chunk stands before the nodes above it.
            if !new.places.contains_key(&chunk.address()) {
                let place = new.chunks.len();
                new.places.insert(chunk.address(), place);
                new.bytes += chunk.bytes().len();
                new.chunks.push(chunk.clone());
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileStore").finish_non_exhaustive()
    }
}

/// Whether the file has the nodes of these trees. A root is never there without them.
///
/// # Errors
/// The errors of reading.
pub(crate) fn has_trees(
    snapshot: &mut dyn Snapshot,
    roots: impl IntoIterator<Item = Root>,
) -> Result<bool> {
    let roots = roots.into_iter().filter(|root| *root != Root::EMPTY);
    let addresses: HashSet<Address> = roots.map(|root| root.address()).collect();
    let names: Vec<&[u8]> = addresses
        .iter()
        .map(|address| &address.as_bytes()[..])
        .collect();
    let mut found = 0;
    snapshot.named(NamedTable::Chunks, &names, &mut |_| {
        found += 1;
        ControlFlow::Continue(())
    })?;
    Ok(found == names.len())
}
