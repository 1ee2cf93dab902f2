//! Chunks: messages that are stored under the hash of their bytes.
//!
//! A chunk never changes. A [`Chunk`] exists only with the [`Address`] of its bytes, so a reader
//! sees if a store returns other bytes than those that were asked for. The bytes may still be any
//! message: a program that chooses the bytes also chooses their hash. [`node`](crate::node)
//! verifies them.

mod address;
mod memory;
mod store;

pub use address::Address;
pub use memory::MemoryStore;
pub use store::{Chunk, ChunkStore};
