//! The levels of a tree that is being built.

use dflat_engine::Result;

use crate::chunk::Address;
use crate::node::{Node, NodeWriter};
use crate::tree::nodes::{Output, Root};
use crate::tree::splitter::Splitter;

/// A child, as an entry of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) key: Box<[u8]>,
    pub(crate) address: Address,
    pub(crate) count: u64,
}

impl Child {
    pub(crate) fn of(node: &Node) -> Self {
        let view = node.view();
        Self {
            key: view.key(view.len().saturating_sub(1)).into(),
            address: node.address(),
            count: view.count(),
        }
    }
}

/// Entries of one level in, nodes out.
pub(crate) struct LevelWriter {
    pub(crate) splitter: Splitter,
    pub(crate) nodes: NodeWriter,
}

impl LevelWriter {
    pub(crate) fn new(level: u8) -> Self {
        Self {
            splitter: Splitter::new(level),
            nodes: NodeWriter::new(level),
        }
    }

    /// Appends an entry, and returns whether the node ends after the entry.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8], address: &Address, count: u64) -> bool {
        self.nodes.push(key, address, count);
        self.splitter.ends_after(key)
    }

    /// Appends an entry, and returns the node if it ends after the entry.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], address: &Address, count: u64) -> Option<Node> {
        self.add(key, address, count).then(|| self.nodes.finish())
    }

    /// The node of the entries after the last boundary, if there are any.
    pub(crate) fn finish(&mut self) -> Option<Node> {
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
pub(crate) struct Builder {
    base: u8,
    levels: Vec<Level>,
    soon: bool,
}

impl Builder {
    /// A builder whose entries are those of this level. With `soon`, the nodes stay in memory.
    pub(crate) fn new(base: u8, soon: bool) -> Self {
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
    pub(crate) fn push(
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

    /// Appends a whole node of the level of the entries, in place of its entries.
    pub(super) fn push_node(&mut self, output: &mut Output<'_>, node: Node) -> Result<()> {
        self.ended(output, 0, node)
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
    pub(crate) fn finish(mut self, output: &mut Output<'_>) -> Result<Root> {
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
