//! The nodes of one level of a tree, in ascending order.

use dflat_engine::Result;

use super::cursor::Frame;
use super::nodes::Trees;
use crate::node::Node;

/// A place among the nodes of one level. It moves forward only.
pub(super) struct LevelCursor<'t> {
    trees: &'t Trees,
    level: u8,
    /// The nodes above the level, from the root.
    above: Vec<Frame>,
    node: Node,
}

impl<'t> LevelCursor<'t> {
    /// A cursor for a level that is not above that of the root. It is at the root, and comes to the
    /// level with the first [`seek`](Self::seek).
    pub(super) fn new(trees: &'t Trees, root: &Node, level: u8) -> Self {
        Self {
            trees,
            level,
            above: Vec::new(),
            node: root.clone(),
        }
    }

    /// The node at the cursor.
    pub(super) const fn node(&self) -> &Node {
        &self.node
    }

    /// Whether the node is the last of its level.
    pub(super) fn is_last(&self) -> bool {
        self.above
            .iter()
            .all(|frame| frame.index + 1 == frame.node.len())
    }

    /// Goes forward to the node in which a key is or belongs.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<()> {
        let is_below = |node: &Node| {
            let view = node.view();
            view.key(view.len().saturating_sub(1)) < key
        };
        if self.node.level() == self.level && !is_below(&self.node) {
            return Ok(());
        }
        while let Some(frame) = self.above.pop() {
            if self.above.is_empty() || !is_below(&frame.node) {
                self.node = frame.node;
                break;
            }
        }
        self.descend(|node| {
            let view = node.view();
            view.lower_bound(key).min(view.len().saturating_sub(1))
        })
    }

    /// Goes to the next node. There must be one.
    pub(super) fn advance(&mut self) -> Result<()> {
        while let Some(mut frame) = self.above.pop() {
            if frame.index + 1 < frame.node.len() {
                frame.index += 1;
                self.node = self.trees.child(&frame.node, frame.index)?;
                self.above.push(frame);
                return self.descend(|_| 0);
            }
        }
        Ok(())
    }

    /// Goes from the node down to the level.
    fn descend(&mut self, choose: impl Fn(&Node) -> usize) -> Result<()> {
        while self.node.level() > self.level {
            let index = choose(&self.node);
            let child = self.trees.child(&self.node, index)?;
            let node = std::mem::replace(&mut self.node, child);
            self.above.push(Frame { node, index });
        }
        Ok(())
    }
}
