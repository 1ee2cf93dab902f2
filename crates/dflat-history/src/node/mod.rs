//! The nodes of trees, as FlatBuffers messages.
//!
//! `node.fbs` beside this file is the schema, and any implementation of FlatBuffers reads a node
//! by it. Of the many messages that have the same values, exactly one is a node: [`Node::read`]
//! refuses all others, so that equal content has equal bytes and one address.
//!
//! Because only one form is a node, the places of its vectors follow from three numbers: its
//! level, its entries, the bytes of its keys. `layout` computes the places once for each node,
//! where generated accessors follow an offset, a vtable and a length at each access. This is why
//! reading is written by hand.

mod layout;
mod view;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};

use crate::chunk::{Address, Chunk};

use layout::Layout;

pub(crate) use view::beginning;
pub use view::{NodeEntry, NodeView};
pub use writer::NodeWriter;

/// The maximum number of bytes of a key.
pub const KEY_BYTES_MAX: usize = 16 * 1024;

/// The maximum level of a node.
///
/// A node that is not the last of its level has at least two entries, so a tree of this height has
/// more than 2^30 entries; a tree of small keys has over 100 times as many with each level.
pub const LEVEL_MAX: u8 = 31;

/// The four bytes that mark a chunk as a node.
pub const IDENTIFIER: [u8; 4] = *b"DFTN";

/// A verified node. Cloning is cheap: clones share the bytes.
///
/// ```
/// use dflat_history::chunk::{Address, Chunk};
/// use dflat_history::node::{Node, NodeWriter};
///
/// let mut writer = NodeWriter::new(0);
/// writer.push(b"a", &Address::of(b"payload of a"), 1);
/// writer.push(b"b", &Address::of(b"payload of b"), 1);
/// let written = writer.finish();
///
/// // A store or a peer gives the bytes for the address.
/// let chunk = Chunk::checked(written.address(), written.chunk().bytes())?;
/// let node = Node::read(chunk)?;
/// let view = node.view();
/// assert_eq!((view.level(), view.len(), view.key(1)), (0, 2, &b"b"[..]));
/// assert_eq!(view.find(b"a"), Some(Address::of(b"payload of a")));
/// # Ok::<(), dflat_engine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    chunk: Chunk,
    layout: Layout,
}

/// A node whose bytes are not hashed yet.
#[derive(Debug)]
pub(crate) struct UnhashedNode {
    bytes: Arc<[u8]>,
    layout: Layout,
}

impl UnhashedNode {
    /// The node. This computes its hash.
    pub(crate) fn hash(self) -> Node {
        Node {
            chunk: Chunk::new(self.bytes),
            layout: self.layout,
        }
    }
}

impl Node {
    /// Verifies a chunk as a node.
    ///
    /// The bytes are any bytes. The time is in proportion to them, and no memory is allocated.
    /// This does not verify the place of the node in a tree:
    /// [`Trees::check`](crate::tree::Trees::check) does.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the chunk is not a node: its message has another form, its keys do
    /// not ascend or are too long, its counts do not ascend, or its level is above [`LEVEL_MAX`].
    pub fn read(chunk: Chunk) -> Result<Self> {
        match layout::verify(chunk.bytes()) {
            Ok(layout) => Ok(Self { chunk, layout }),
            Err(reason) => {
                let message = format!("chunk {} is not a node: {reason}", chunk.address());
                Err(Error::new(ErrorKind::Corrupt, message))
            }
        }
    }

    /// The chunk of the node.
    #[inline]
    #[must_use]
    pub const fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    /// The address of the chunk.
    #[inline]
    #[must_use]
    pub const fn address(&self) -> Address {
        self.chunk.address()
    }

    /// The level: 0 for a leaf.
    #[inline]
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.layout.level
    }

    /// The number of entries.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.layout.len
    }

    /// Whether the node has no entries. Only the root of the empty tree has none.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.layout.len == 0
    }

    /// The entries, for reading in place. This allocates nothing.
    #[inline]
    #[must_use]
    pub fn view(&self) -> NodeView<'_> {
        NodeView::new(self.chunk.bytes(), &self.layout)
    }
}
