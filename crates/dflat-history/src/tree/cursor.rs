//! A place among the entries of a tree.

use dflat_engine::Result;

use super::nodes::{Root, Trees};
use crate::node::{Node, NodeEntry, NodeView};

/// A node on the path to an entry, and the entry of the node that the path takes.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) node: Node,
    pub(super) index: usize,
}

/// A place among the entries of a tree, which moves both ways.
///
/// A cursor that has left the tree at either end is at no entry, until one of the `seek` methods
/// places it again. A cursor reads a node when it enters the node, and keeps one node of each
/// level.
#[derive(Debug)]
pub struct TreeCursor<'t> {
    trees: &'t Trees,
    root: Root,
    /// From the root to a leaf; empty at no entry.
    path: Vec<Frame>,
}

impl Trees {
    /// A cursor at no entry of the tree.
    #[must_use]
    pub const fn cursor(&self, root: &Root) -> TreeCursor<'_> {
        TreeCursor {
            trees: self,
            root: *root,
            path: Vec::new(),
        }
    }
}

impl TreeCursor<'_> {
    /// The entry at the cursor.
    #[inline]
    #[must_use]
    pub fn entry(&self) -> Option<NodeEntry<'_>> {
        let leaf = self.path.last()?;
        leaf.node.view().entry(leaf.index)
    }

    /// Goes to the first entry whose key is not below this key, and says whether there is one.
    ///
    /// # Errors
    /// As [`Trees::get`]. The cursor is then at no entry.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.descend(|view| view.lower_bound(key))
    }

    /// Goes to the entry with this number, counted from 0, and says whether there is one.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_ordinal(&mut self, ordinal: u64) -> Result<bool> {
        let mut ordinal = ordinal;
        self.descend(|view| {
            let index = view.entry_of_ordinal(ordinal);
            ordinal = ordinal.saturating_sub(view.count_before(index));
            index
        })
    }

    /// Goes to the first entry, and says whether there is one.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_first(&mut self) -> Result<bool> {
        self.descend(|_| 0)
    }

    /// Goes to the last entry, and says whether there is one.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_last(&mut self) -> Result<bool> {
        self.descend(|view| view.len().saturating_sub(1))
    }

    /// Goes to the next entry, and says whether there is one.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        if let Some(leaf) = self.path.last_mut()
            && leaf.index + 1 < leaf.node.len()
        {
            leaf.index += 1;
            return Ok(true);
        }
        self.turn(
            |frame| (frame.index + 1 < frame.node.len()).then(|| frame.index + 1),
            |_| 0,
        )
    }

    /// Goes to the entry before, and says whether there is one.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    #[inline]
    pub fn retreat(&mut self) -> Result<bool> {
        if let Some(leaf) = self.path.last_mut()
            && leaf.index > 0
        {
            leaf.index -= 1;
            return Ok(true);
        }
        let last = |view: &NodeView<'_>| view.len().saturating_sub(1);
        self.turn(|frame| frame.index.checked_sub(1), last)
    }

    /// Leaves the leaf for the one beside it.
    fn turn(
        &mut self,
        beside: impl Fn(&Frame) -> Option<usize>,
        choose: impl FnMut(&NodeView<'_>) -> usize,
    ) -> Result<bool> {
        self.path.pop();
        while let Some(frame) = self.path.last_mut() {
            if let Some(index) = beside(frame) {
                frame.index = index;
                return self.descend_further(choose);
            }
            self.path.pop();
        }
        Ok(false)
    }

    fn descend(&mut self, mut choose: impl FnMut(&NodeView<'_>) -> usize) -> Result<bool> {
        self.path.clear();
        let node = self.trees.root_node(&self.root)?;
        let index = choose(&node.view());
        if index >= node.len() {
            return Ok(false);
        }
        self.path.push(Frame { node, index });
        self.descend_further(choose)
    }

    fn descend_further(&mut self, mut choose: impl FnMut(&NodeView<'_>) -> usize) -> Result<bool> {
        while let Some(frame) = self.path.last()
            && frame.node.level() > 0
        {
            let child = self.trees.child(&frame.node, frame.index);
            let node = child.inspect_err(|_| self.path.clear())?;
            let index = choose(&node.view());
            if index >= node.len() {
                // The keys or counts of the child are not those of its parent.
                self.path.clear();
                return Ok(false);
            }
            self.path.push(Frame { node, index });
        }
        Ok(!self.path.is_empty())
    }
}
