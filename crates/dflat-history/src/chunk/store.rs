//! The place where chunks are kept.

use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};

use super::Address;

/// The bytes of a chunk with their address. Cloning is cheap: clones share the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    address: Address,
    bytes: Arc<[u8]>,
}

impl Chunk {
    /// The maximum number of bytes of a chunk.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// The chunk of these bytes. This computes their hash.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            address: Address::of(&bytes),
            bytes,
        }
    }

    /// The chunk of bytes that a store or a peer has given for an address. This computes their
    /// hash.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the bytes have another address, or are more than
    /// [`BYTES_MAX`](Self::BYTES_MAX).
    pub fn checked(address: Address, bytes: impl Into<Arc<[u8]>>) -> Result<Self> {
        let bytes = bytes.into();
        if bytes.len() > Self::BYTES_MAX {
            let message = format!(
                "chunk {address} has {} bytes; at most {} are allowed",
                bytes.len(),
                Self::BYTES_MAX
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let chunk = Self::new(bytes);
        if chunk.address == address {
            Ok(chunk)
        } else {
            let message = format!(
                "the bytes of chunk {address} have the hash {}",
                chunk.address
            );
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }

    /// The address of the bytes.
    #[inline]
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A store of chunks.
///
/// A store need not remember the addresses of chunks that it lacks, and never needs to compare
/// chunks: a chunk that it already has is the same chunk.
pub trait ChunkStore: Send + Sync {
    /// The chunks with these addresses, in their order; `None` for each that the store lacks.
    ///
    /// # Errors
    /// If the store cannot be read, or a chunk is damaged.
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Chunk>>>;

    /// Keeps these chunks.
    ///
    /// The nodes of a tree are put from its leaves up, also within one call. So a store never has a
    /// node without its children, if a fault that loses a chunk also loses all chunks after it.
    ///
    /// # Errors
    /// If the store cannot be written. Any of the chunks may have been kept.
    fn put_many(&self, chunks: &[Chunk]) -> Result<()>;
}
