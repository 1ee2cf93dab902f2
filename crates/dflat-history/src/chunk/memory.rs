//! A store in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use dflat_engine::Result;

use super::{Address, Chunk, ChunkStore};

/// Chunks in memory, for tests, measurements and data that is received before it is checked.
///
/// Any number of threads may use the store at the same time. It has no limit: the caller bounds it
/// by [`bytes`](Self::bytes).
#[derive(Debug, Default)]
pub struct MemoryStore {
    chunks: RwLock<Kept>,
    reads: AtomicU64,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: HashMap<Address, Chunk>,
    bytes: u64,
}

impl MemoryStore {
    /// A store without chunks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read(|kept| kept.chunks.len())
    }

    /// Whether the store has no chunk.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all chunks together, without their addresses.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read(|kept| kept.bytes)
    }

    /// The number of chunks that were asked for since the store was made.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// The addresses of all chunks, in no order.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        self.read(|kept| kept.chunks.keys().copied().collect())
    }

    fn read<T>(&self, use_kept: impl FnOnce(&Kept) -> T) -> T {
        use_kept(&self.chunks.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChunkStore for MemoryStore {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Chunk>>> {
        let count = addresses.len() as u64;
        self.reads.fetch_add(count, Ordering::Relaxed);
        let find = |kept: &Kept| {
            addresses
                .iter()
                .map(|address| kept.chunks.get(address).cloned())
                .collect()
        };
        Ok(self.read(find))
    }

    fn put_many(&self, chunks: &[Chunk]) -> Result<()> {
        let mut kept = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        for chunk in chunks {
            if kept.chunks.insert(chunk.address(), chunk.clone()).is_none() {
                kept.bytes += chunk.bytes().len() as u64;
            }
        }
        Ok(())
    }
}
