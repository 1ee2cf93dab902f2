//! Checking that nodes are a tree as this crate makes it.

use dflat_engine::{Error, ErrorKind, Result};

use super::cursor::Frame;
use super::nodes::{Root, Trees};
use super::splitter::Splitter;
use crate::node::Node;

/// Limits of a check. A tree beyond them is refused as soon as a limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckLimits {
    /// The maximum number of entries.
    pub entries: u64,
    /// The maximum number of bytes of all nodes.
    pub bytes: u64,
}

impl CheckLimits {
    /// No limits, for trees that this program has made itself.
    pub const NONE: Self = Self {
        entries: u64::MAX,
        bytes: u64::MAX,
    };
}

/// The size of a checked tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of entries.
    pub entries: u64,
    /// The number of nodes.
    pub nodes: u64,
    /// The bytes of all nodes.
    pub bytes: u64,
}

impl Trees {
    /// Checks a whole tree, which may come from a hostile peer.
    ///
    /// A tree that passes is the one that [`build`](Self::build) makes of its entries: the keys
    /// ascend, each node has the key and the count that its parent says, and each node ends where
    /// it must. So no two trees that pass have equal content and different roots.
    ///
    /// Reads every node once. The memory is one node of each level, of which there are at most 32.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the tree is none, a node is missing, or a limit is exceeded; an
    /// error of the store.
    pub fn check(&self, root: &Root, limits: &CheckLimits) -> Result<Checked> {
        let mut check = Check {
            limits,
            checked: Checked::default(),
        };
        let node = self.root_node(root)?;
        if node.level() > 0 && node.len() < 2 {
            return Err(refused(&node, "it is a root with one child"));
        }
        check.node(&node, None, true)?;
        let mut path = vec![Frame { node, index: 0 }];
        while let Some(frame) = path.last() {
            if frame.node.level() == 0 || frame.index == frame.node.len() {
                path.pop();
                if let Some(parent) = path.last_mut() {
                    parent.index += 1;
                }
                continue;
            }
            let child = self.child(&frame.node, frame.index)?;
            let is_last = path.iter().all(|frame| frame.index + 1 == frame.node.len());
            let before = path.iter().rev().find(|frame| frame.index > 0);
            let before = before.map(|frame| frame.node.view().key(frame.index - 1));
            check.child(&child, frame)?;
            check.node(&child, before, is_last)?;
            path.push(Frame {
                node: child,
                index: 0,
            });
        }
        Ok(check.checked)
    }
}

struct Check<'l> {
    limits: &'l CheckLimits,
    checked: Checked,
}

impl Check<'_> {
    /// Checks a node by itself. All its keys must be above `before`.
    fn node(&mut self, node: &Node, before: Option<&[u8]>, is_last: bool) -> Result<()> {
        let view = node.view();
        self.checked.nodes += 1;
        self.checked.bytes += node.chunk().bytes().len() as u64;
        if view.level() == 0 {
            self.checked.entries += view.len() as u64;
        }
        if self.checked.bytes > self.limits.bytes || self.checked.entries > self.limits.entries {
            return Err(refused(node, "the tree exceeds a limit"));
        }
        if !view.is_empty() && before.is_some_and(|before| view.key(0) <= before) {
            return Err(refused(node, "its first key is not above the node before"));
        }
        let mut splitter = Splitter::new(view.level());
        for (index, (key, _)) in view.pairs().enumerate() {
            let is_end = index + 1 == view.len();
            let ends = splitter.ends_after(key);
            if ends && !is_end {
                return Err(refused(node, "it ends too late"));
            }
            if is_end && !ends && !is_last {
                return Err(refused(node, "it ends too early"));
            }
        }
        Ok(())
    }

    /// Checks a node against its entry in its parent.
    fn child(&self, child: &Node, parent: &Frame) -> Result<()> {
        let (view, above) = (child.view(), parent.node.view());
        let entry = above.entry(parent.index);
        let last_key = view.key(view.len().saturating_sub(1));
        if entry.is_some_and(|entry| entry.key == last_key && entry.count == view.count()) {
            Ok(())
        } else {
            Err(refused(
                child,
                "its parent has another last key or another count",
            ))
        }
    }
}

#[cold]
fn refused(node: &Node, reason: &str) -> Error {
    let message = format!("chunk {} is no node of this tree: {reason}", node.address());
    Error::new(ErrorKind::Corrupt, message)
}
