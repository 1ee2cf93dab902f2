//! Building a tree from all its entries.

use dflat_engine::Result;

use super::nodes::{Output, Root, Trees, check_key, unsorted};
use super::splitter::Splitter;
use crate::chunk::Address;
use crate::node::{Node, NodeWriter, beginning};

/// A child, as an entry of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) key: Box<[u8]>,
    pub(super) address: Address,
    pub(super) count: u64,
}

impl Child {
    pub(super) fn of(node: &Node) -> Self {
        let view = node.view();
        Self {
            key: view.key(view.len().saturating_sub(1)).into(),
            address: node.address(),
            count: view.count(),
        }
    }
}

/// Entries of one level in, nodes out.
pub(super) struct LevelWriter {
    pub(super) splitter: Splitter,
    pub(super) nodes: NodeWriter,
}

impl LevelWriter {
    pub(super) fn new(level: u8) -> Self {
        Self {
            splitter: Splitter::new(level),
            nodes: NodeWriter::new(level),
        }
    }

    /// Appends an entry, and returns the node if it ends after the entry.
    #[inline]
    pub(super) fn push(&mut self, key: &[u8], address: &Address, count: u64) -> Option<Node> {
        self.nodes.push(key, address, count);
        self.splitter.ends_after(key).then(|| self.nodes.finish())
    }

    /// The node of the entries after the last boundary, if there are any.
    pub(super) fn finish(&mut self) -> Option<Node> {
        self.splitter.reset();
        (!self.nodes.is_empty()).then(|| self.nodes.finish())
    }
}

/// One level of a tree that is being built.
struct Level {
    writer: LevelWriter,
    ended: u64,
    /// The last ended node.
    last: Option<Address>,
}

/// The levels of a tree that is being built, from the level of the entries up.
pub(super) struct Builder {
    base: u8,
    levels: Vec<Level>,
    soon: bool,
}

impl Builder {
    /// A builder whose entries are those of this level. With `soon`, the nodes stay in memory.
    pub(super) fn new(base: u8, soon: bool) -> Self {
        Self {
            base,
            levels: Vec::new(),
            soon,
        }
    }

    fn level(&mut self, depth: usize) -> &mut Level {
        let base = usize::from(self.base);
        while self.levels.len() <= depth {
            let level = base + self.levels.len();
            self.levels.push(Level {
                writer: LevelWriter::new(u8::try_from(level).unwrap_or(u8::MAX)),
                ended: 0,
                last: None,
            });
        }
        &mut self.levels[depth]
    }

    /// Appends an entry, whose key is above the last one.
    #[inline]
    pub(super) fn push(
        &mut self,
        output: &mut Output<'_>,
        key: &[u8],
        address: &Address,
        count: u64,
    ) -> Result<()> {
        let lowest = match self.levels.first_mut() {
            Some(lowest) => lowest,
            None => self.level(0),
        };
        match lowest.writer.push(key, address, count) {
            Some(node) => self.ended(output, 0, node),
            None => Ok(()),
        }
    }

    /// Keeps a node that has ended, and enters it into its parent, which may end in turn.
    fn ended(&mut self, output: &mut Output<'_>, mut depth: usize, node: Node) -> Result<()> {
        let mut ended = Some(node);
        while let Some(node) = ended {
            let child = Child::of(&node);
            output.put(node, self.soon)?;
            let level = self.level(depth);
            level.ended += 1;
            level.last = Some(child.address);
            depth += 1;
            let parent = &mut self.level(depth).writer;
            ended = parent.push(&child.key, &child.address, child.count);
        }
        Ok(())
    }

    /// The root of the tree. The lowest level of one node has it.
    pub(super) fn finish(mut self, output: &mut Output<'_>) -> Result<Root> {
        for depth in 0.. {
            let level = self.level(depth);
            match (level.writer.finish(), level.ended, level.last) {
                (None, 1, Some(root)) => return Ok(Root::from_address(root)),
                (None, 0, _) => break,
                (None, ..) => {}
                (Some(root), 0, _) => {
                    let address = root.address();
                    output.put(root, self.soon)?;
                    return Ok(Root::from_address(address));
                }
                (Some(last), ..) => self.ended(output, depth, last)?,
            }
        }
        Ok(Root::EMPTY)
    }
}

/// Builds a tree from entries that come one by one.
pub struct TreeBuilder<'t> {
    builder: Builder,
    output: Output<'t>,
    last: Vec<u8>,
    /// The first bytes of the last key, which decide most comparisons.
    last_beginning: u64,
    count: u64,
}

impl TreeBuilder<'_> {
    /// Appends an entry, whose key is above the one before.
    ///
    /// # Errors
    /// As [`Trees::build`].
    pub fn push(&mut self, key: &[u8], payload: &Address) -> Result<()> {
        check_key("build", key)?;
        let beginning = beginning(key, key.len());
        let is_above = beginning > self.last_beginning
            || beginning == self.last_beginning && *key > *self.last;
        if self.count > 0 && !is_above {
            return Err(unsorted("build", self.count));
        }
        self.builder.push(&mut self.output, key, payload, 1)?;
        self.last.clear();
        self.last.extend_from_slice(key);
        self.last_beginning = beginning;
        self.count += 1;
        Ok(())
    }

    /// Ends the tree.
    ///
    /// # Errors
    /// An error of the store.
    pub fn finish(mut self) -> Result<Root> {
        let root = self.builder.finish(&mut self.output)?;
        self.output.flush()?;
        Ok(root)
    }
}

impl std::fmt::Debug for TreeBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeBuilder")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Trees {
    /// Begins a tree. The memory is that of some nodes for each level.
    #[must_use]
    pub fn builder(&self) -> TreeBuilder<'_> {
        TreeBuilder {
            builder: Builder::new(0, false),
            output: self.output(),
            last: Vec::new(),
            last_beginning: 0,
            count: 0,
        }
    }

    /// Builds the tree of these entries, whose keys ascend.
    ///
    /// The memory is that of some nodes for each level. The time is in proportion to the entries.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](dflat_engine::ErrorKind::InvalidArgument) if a key is not
    /// above the one before, or is longer than [`KEY_BYTES_MAX`](crate::node::KEY_BYTES_MAX); an
    /// error of the store. The store may then have nodes that belong to no tree.
    pub fn build<K: AsRef<[u8]>>(
        &self,
        entries: impl IntoIterator<Item = (K, Address)>,
    ) -> Result<Root> {
        let mut builder = self.builder();
        for (key, payload) in entries {
            builder.push(key.as_ref(), &payload)?;
        }
        builder.finish()
    }
}
