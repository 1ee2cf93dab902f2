//! The nodes of trees.

use std::collections::HashSet;

use dflat_engine::Result;

use super::nodes::{Root, Trees};
use crate::chunk::Address;

impl Trees {
    /// Adds the addresses of all nodes of a tree. Nodes that are known already are not read again,
    /// nor those below them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn mark(&self, root: &Root, nodes: &mut HashSet<Address>) -> Result<()> {
        if *root == Root::EMPTY || !nodes.insert(root.address()) {
            return Ok(());
        }
        let mut left = vec![self.root_node(root)?];
        while let Some(node) = left.pop() {
            let view = node.view();
            let is_above_leaves = view.level() == 1;
            for index in 0..view.len() {
                if view.level() == 0 || !nodes.insert(view.address(index)) {
                    continue;
                }
                // Leaves have no nodes below, and need not be read.
                if !is_above_leaves {
                    left.push(self.child(&node, index)?);
                }
            }
        }
        Ok(())
    }
}
