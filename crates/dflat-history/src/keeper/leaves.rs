//! The leaves of a tree, read within a transaction.

use std::ops::ControlFlow;

use dflat_engine::storage::{NamedTable, Snapshot};
use dflat_engine::{Error, ErrorKind, Result};

use crate::chunk::{Address, Chunk};
use crate::node::Node;
use crate::tree::Root;

/// The leaves of a tree in the order of their keys. One path of nodes is in memory.
pub(super) struct Leaves {
    /// The nodes to read, the next one last, and the levels that they may have.
    rest: Vec<(Address, Option<u8>)>,
}

impl Leaves {
    pub(super) fn of(root: Root) -> Self {
        let rest = match root {
            Root::EMPTY => Vec::new(),
            root => vec![(root.address(), None)],
        };
        Self { rest }
    }

    /// The next leaf.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if a node is missing or malformed; otherwise the errors of reading.
    pub(super) fn next(&mut self, snapshot: &mut dyn Snapshot) -> Result<Option<Node>> {
        while let Some((address, level)) = self.rest.pop() {
            let mut bytes = None;
            snapshot.named(NamedTable::Chunks, &[address.as_bytes()], &mut |row| {
                bytes = Some(row.bytes.to_vec());
                ControlFlow::Break(())
            })?;
            let bytes = bytes.ok_or_else(|| damaged(address, "is missing"))?;
            let node = Node::read(Chunk::checked(address, bytes)?)?;
            if level.is_some_and(|level| node.level() != level) {
                return Err(damaged(address, "has another level"));
            }
            let Some(below) = node.level().checked_sub(1) else {
                return Ok(Some(node));
            };
            let view = node.view();
            let children = (0..view.len()).rev();
            let children = children.map(|index| (view.address(index), Some(below)));
            self.rest.extend(children);
        }
        Ok(None)
    }
}

fn damaged(address: Address, why: &str) -> Error {
    let message = format!("the node {address} of a tree {why}");
    Error::new(ErrorKind::Corrupt, message)
}
