//! Trees in a store: their roots, and the nodes that are read and written.

use std::fmt;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};

use super::cache::NodeCache;
use crate::chunk::{Address, Chunk, ChunkStore};
use crate::node::{KEY_BYTES_MAX, Node};

/// The bytes of nodes that [`Trees::new`] keeps in memory.
pub const CACHE_BYTES_DEFAULT: usize = 16 * 1024 * 1024;

/// The number of chunks that are put into the store at once.
const CHUNKS_A_PUT: usize = 128;

/// The name of a tree: the address of its root node. Trees with equal content have equal roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root(Address);

impl Root {
    /// The root of the tree without entries. No store needs its chunk.
    pub const EMPTY: Self = Self(Address::from_bytes([
        0xe6, 0xfc, 0xd9, 0x63, 0x5e, 0xc3, 0x22, 0xcd, 0xdb, 0x76, 0x9c, 0x94, 0x10, 0x80, 0x90,
        0xe4, 0x62, 0xb2, 0x61, 0x93, 0x1f, 0xbd, 0xb1, 0x2a, 0xcf, 0x10, 0x33, 0x8c, 0xf4, 0xdc,
        0x3b, 0x45,
    ]));

    /// The root that has been read from a store or from a peer.
    #[must_use]
    pub const fn from_address(address: Address) -> Self {
        Self(address)
    }

    /// The address of the root node.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.0
    }
}

/// The cause of an error: the store lacks a node of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissingChunk(Address);

impl fmt::Display for MissingChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} of a tree is missing", self.0)
    }
}

impl std::error::Error for MissingChunk {}

/// Reads and makes trees in a store.
///
/// Any number of threads may use a `Trees` at the same time; clones are the same. It keeps verified
/// nodes in memory, within a number of bytes. Nodes are verified when they are read;
/// [`check`](Self::check) finds whether they form a tree as this crate makes it. Reading a tree
/// that does not pass this check gives wrong answers or an error, and never a panic. Such a tree
/// may promise more entries than any memory holds, so check a tree of others before you edit,
/// compare or merge it.
#[derive(Clone)]
pub struct Trees {
    store: Arc<dyn ChunkStore>,
    cache: Arc<NodeCache>,
}

impl Trees {
    /// Trees in this store, with [`CACHE_BYTES_DEFAULT`] of nodes in memory.
    #[must_use]
    pub fn new(store: Arc<dyn ChunkStore>) -> Self {
        Self::with_cache(store, CACHE_BYTES_DEFAULT)
    }

    /// Trees in this store, with at most this many bytes of nodes in memory.
    #[must_use]
    pub fn with_cache(store: Arc<dyn ChunkStore>, bytes_max: usize) -> Self {
        Self {
            store,
            cache: Arc::new(NodeCache::new(bytes_max)),
        }
    }

    /// Reads a node.
    pub(super) fn node(&self, address: &Address) -> Result<Node> {
        match self.cache.get(address) {
            Some(node) => Ok(node),
            None => self.load(address),
        }
    }

    /// Reads the root node of a tree.
    pub(super) fn root_node(&self, root: &Root) -> Result<Node> {
        if *root == Root::EMPTY {
            return Ok(crate::node::NodeWriter::new(0).finish());
        }
        self.node(&root.0)
    }

    /// Reads the child at an entry of a node that is not a leaf.
    #[inline]
    pub(super) fn child(&self, parent: &Node, index: usize) -> Result<Node> {
        let child = self.node(&parent.view().address(index))?;
        // A level that falls bounds the depth, also of a tree that a peer has made up.
        if child.level().checked_add(1) == Some(parent.level()) && !child.is_empty() {
            Ok(child)
        } else {
            Err(misplaced(&child, parent))
        }
    }

    #[cold]
    fn load(&self, address: &Address) -> Result<Node> {
        let mut found = self.store.get_many(std::slice::from_ref(address))?;
        let chunk = found.pop().flatten().ok_or_else(|| {
            let missing = MissingChunk(*address);
            Error::with_source(ErrorKind::Corrupt, missing.to_string(), missing)
        })?;
        if chunk.address() != *address {
            let message = format!("the store gave chunk {} for {address}", chunk.address());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let node = Node::read(chunk)?;
        self.cache.put(node.clone());
        Ok(node)
    }

    pub(super) fn output(&self) -> Output<'_> {
        Output {
            trees: self,
            pending: Vec::new(),
        }
    }
}

impl fmt::Debug for Trees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trees").finish_non_exhaustive()
    }
}

#[cold]
fn misplaced(child: &Node, parent: &Node) -> Error {
    let message = format!(
        "chunk {} is not a child of chunk {}: it has level {} and {} entries, the parent has level \
         {}",
        child.address(),
        parent.address(),
        child.level(),
        child.len(),
        parent.level()
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// Fails for a key that is too long for a tree.
#[inline]
pub(super) fn check_key(operation: &str, key: &[u8]) -> Result<()> {
    if key.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "cannot {operation} a tree: a key has {} bytes; at most {KEY_BYTES_MAX} are allowed",
        key.len()
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Fails for a key that is not above the key before.
#[cold]
pub(super) fn unsorted(operation: &str, number: u64) -> Error {
    let message = format!("cannot {operation} a tree: key {number} is not above the key before it");
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Edits make such a node only of one that a hostile peer has made without ends.
#[cold]
fn too_large(bytes: usize) -> Error {
    let message = format!(
        "cannot edit a tree: a node would have {bytes} bytes; at most {} are allowed",
        Chunk::BYTES_MAX
    );
    Error::new(ErrorKind::Corrupt, message)
}

/// New nodes on their way into the store.
pub(super) struct Output<'t> {
    trees: &'t Trees,
    pending: Vec<Chunk>,
}

impl<'t> Output<'t> {
    /// The trees whose nodes these are.
    pub(super) const fn trees(&self) -> &'t Trees {
        self.trees
    }

    /// Keeps a new node. With `soon`, it also stays in memory, because it is about to be read.
    pub(super) fn put(&mut self, node: Node, soon: bool) -> Result<()> {
        let bytes = node.chunk().bytes().len();
        if bytes > Chunk::BYTES_MAX {
            return Err(too_large(bytes));
        }
        self.pending.push(node.chunk().clone());
        if soon {
            self.trees.cache.put(node);
        }
        if self.pending.len() < CHUNKS_A_PUT {
            return Ok(());
        }
        self.flush()
    }

    /// Puts the remaining nodes into the store.
    pub(super) fn flush(&mut self) -> Result<()> {
        if !self.pending.is_empty() {
            self.trees.store.put_many(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }
}
