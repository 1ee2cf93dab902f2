//! Applying edits to a tree.
//!
//! The edits of the entries are applied to the leaves that they concern. Each run of leaves that
//! are written anew becomes edits of the entries of their parents, and so on up to the root.
//!
//! A run begins at the beginning of an old node, because the boundary before that node remains. It
//! ends where a boundary of the new nodes is one of the old nodes: from there on, both are equal.

use dflat_engine::{Error, ErrorKind, Result};

use super::build::{Builder, Child, LevelWriter};
use super::entry::Edit;
use super::level_cursor::LevelCursor;
use super::nodes::{Output, Root, Trees, check_key, unsorted};
use crate::chunk::Address;
use crate::node::{LEVEL_MAX, Node, NodeView};

/// An edit of one entry of a node, of any level.
struct NodeEdit {
    key: Box<[u8]>,
    /// The address and the count of the entry after the edit.
    entry: Option<(Address, u64)>,
}

impl Trees {
    /// The tree after these edits, whose keys ascend.
    ///
    /// An edit that changes nothing is allowed: the deletion of a key that is absent, or the
    /// payload that the key has. The memory is in proportion to the edits. Nodes below which no
    /// key is edited are neither read nor written, save those up to the next common boundary.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if a key is not above the one before, or is longer than
    /// [`KEY_BYTES_MAX`](crate::node::KEY_BYTES_MAX); an error of the store; `Corrupt` if a node of
    /// the tree is missing or malformed. The store may then have nodes that belong to no tree.
    pub fn apply(&self, root: &Root, edits: impl IntoIterator<Item = Edit>) -> Result<Root> {
        let mut sorted: Vec<NodeEdit> = Vec::new();
        for edit in edits {
            check_key("edit", &edit.key)?;
            if sorted.last().is_some_and(|last| last.key >= edit.key) {
                return Err(unsorted("edit", sorted.len() as u64));
            }
            sorted.push(NodeEdit {
                key: edit.key,
                entry: edit.payload.map(|payload| (payload, 1)),
            });
        }
        if sorted.is_empty() {
            return Ok(*root);
        }
        let top = self.root_node(root)?;
        let mut output = self.output();
        let mut edits = sorted;
        for level in 0..top.level() {
            let mut above = Vec::new();
            self.apply_level(&top, level, &edits, &mut output, &mut |old, new| {
                append_edits(old, new, &mut above);
            })?;
            if above.is_empty() {
                return Ok(*root);
            }
            edits = above;
        }
        let mut nodes = Vec::new();
        self.apply_level(&top, top.level(), &edits, &mut output, &mut |_, new| {
            nodes = new
        })?;
        let root = self.raise(top.level(), &nodes, &mut output)?;
        output.flush()?;
        Ok(root)
    }

    /// Applies the edits of one level. `replaced` gets the old and the new nodes of each run.
    fn apply_level(
        &self,
        top: &Node,
        level: u8,
        edits: &[NodeEdit],
        output: &mut Output<'_>,
        replaced: &mut dyn FnMut(Vec<Child>, Vec<Child>),
    ) -> Result<()> {
        let mut cursor = LevelCursor::new(self, top, level);
        let mut run = Run {
            writer: LevelWriter::new(level),
            output,
            new: Vec::new(),
        };
        let mut rest = edits;
        while let Some(first) = rest.first() {
            cursor.seek(&first.key)?;
            let begin = cursor.node().address();
            let (mut old, waiting) = (Vec::new(), rest.len());
            loop {
                let node = cursor.node();
                let is_last = cursor.is_last();
                if !node.is_empty() {
                    old.push(Child::of(node));
                }
                run.write_node(&node.view(), &mut rest, is_last)?;
                if is_last {
                    run.finish()?;
                }
                if run.writer.nodes.is_empty() {
                    break;
                }
                cursor.advance()?;
            }
            if rest.len() == waiting {
                // The parent of the node has another last key than the node.
                let message = format!(
                    "cannot edit a tree: chunk {begin} lacks the last key that its parent has"
                );
                return Err(Error::new(ErrorKind::Corrupt, message));
            }
            replaced(old, std::mem::take(&mut run.new));
        }
        Ok(())
    }

    /// The root above these nodes, which are all nodes of their level.
    fn raise(&self, level: u8, nodes: &[Child], output: &mut Output<'_>) -> Result<Root> {
        match nodes {
            [] => Ok(Root::EMPTY),
            [only] => {
                output.flush()?;
                self.lowest_root(only.address)
            }
            _ if level >= LEVEL_MAX => {
                let message = "cannot edit a tree: it would become too high";
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
            _ => {
                let mut builder = Builder::new(level + 1, true);
                for child in nodes {
                    builder.push(output, &child.key, &child.address, child.count)?;
                }
                builder.finish(output)
            }
        }
    }

    /// The root below this node: the highest node that is alone in its level but has several
    /// entries.
    fn lowest_root(&self, address: Address) -> Result<Root> {
        let mut node = self.node(&address)?;
        while node.level() > 0 && node.len() == 1 {
            node = self.child(&node, 0)?;
        }
        Ok(Root::from_address(node.address()))
    }
}

/// The nodes of a level that are being written.
struct Run<'o, 't> {
    writer: LevelWriter,
    output: &'o mut Output<'t>,
    new: Vec<Child>,
}

impl Run<'_, '_> {
    /// Writes the entries of a node with the edits that belong to it, and takes these off `rest`.
    fn write_node(
        &mut self,
        view: &NodeView<'_>,
        rest: &mut &[NodeEdit],
        is_last: bool,
    ) -> Result<()> {
        // Until a key is inserted or deleted, the new node has the boundaries of the old one.
        let mut is_alike = self.writer.nodes.is_empty();
        let last_key = view.key(view.len().saturating_sub(1));
        let mut index = 0;
        while let Some((edit, after)) = rest.split_first() {
            if !is_last && *edit.key > *last_key {
                break;
            }
            *rest = after;
            let at = view.lower_bound_from(index, &edit.key);
            self.copy(view, index..at, is_alike)?;
            let is_present = at < view.len() && *view.key(at) == *edit.key;
            index = at + usize::from(is_present);
            is_alike &= is_present && edit.entry.is_some();
            if let Some((address, count)) = edit.entry {
                let ends = !is_alike || index == view.len();
                self.push(&edit.key, (&address, count), ends)?;
            }
        }
        self.copy(view, index..view.len(), is_alike)
    }

    fn copy(
        &mut self,
        view: &NodeView<'_>,
        entries: std::ops::Range<usize>,
        is_alike: bool,
    ) -> Result<()> {
        let mut rest = entries;
        if is_alike {
            // The old node did not end before its last entry, and neither does the new one.
            let inner = rest.start..rest.end.min(view.len().saturating_sub(1));
            if !inner.is_empty() {
                rest.start = inner.end;
                let count = inner.len();
                let key_bytes = self.writer.nodes.push_all(view, inner);
                self.writer.splitter.add_all(count, key_bytes);
            }
        }
        for index in rest {
            let count = view.count_before(index + 1) - view.count_before(index);
            self.push(view.key(index), (&view.address(index), count), true)?;
        }
        Ok(())
    }

    /// Appends an entry. Unless the node may end after it, its key is not hashed.
    #[inline]
    fn push(&mut self, key: &[u8], entry: (&Address, u64), may_end: bool) -> Result<()> {
        let (address, count) = entry;
        if !may_end {
            self.writer.nodes.push(key, address, count);
            self.writer.splitter.add(key);
            return Ok(());
        }
        match self.writer.push(key, address, count) {
            Some(node) => self.keep(node),
            None => Ok(()),
        }
    }

    fn keep(&mut self, node: Node) -> Result<()> {
        self.new.push(Child::of(&node));
        self.output.put(node, true)
    }

    /// Ends the last node of the level.
    fn finish(&mut self) -> Result<()> {
        match self.writer.finish() {
            Some(node) => self.keep(node),
            None => Ok(()),
        }
    }
}

/// Appends the edits that turn the entries of these old nodes into those of the new ones.
fn append_edits(old: Vec<Child>, new: Vec<Child>, edits: &mut Vec<NodeEdit>) {
    let mut old = old.into_iter().peekable();
    for child in new {
        let is_before = |old: &Child| old.key < child.key;
        while let Some(Child { key, .. }) = old.next_if(is_before) {
            edits.push(NodeEdit { key, entry: None });
        }
        let same_key = old.next_if(|old| old.key == child.key);
        if same_key.is_none_or(|old| old.address != child.address) {
            edits.push(NodeEdit {
                key: child.key,
                entry: Some((child.address, child.count)),
            });
        }
    }
    edits.extend(old.map(|Child { key, .. }| NodeEdit { key, entry: None }));
}
