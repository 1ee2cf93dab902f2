//! Entries of a tree, their edits, and their changes between trees.

use crate::chunk::Address;
use crate::node::NodeView;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Box<[u8]>,
    /// The hash of the payload.
    pub payload: Address,
}

impl Entry {
    pub(super) fn of(leaf: &NodeView<'_>, index: usize) -> Self {
        Self {
            key: leaf.key(index).into(),
            payload: leaf.address(index),
        }
    }
}

/// An edit of one entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The key.
    pub key: Box<[u8]>,
    /// The hash of the payload after the edit; `None` deletes the entry.
    pub payload: Option<Address>,
}

impl Edit {
    /// Inserts an entry, or replaces the one with this key.
    #[must_use]
    pub fn put(key: impl Into<Box<[u8]>>, payload: Address) -> Self {
        Self {
            key: key.into(),
            payload: Some(payload),
        }
    }

    /// Deletes the entry with this key, if there is one.
    #[must_use]
    pub fn delete(key: impl Into<Box<[u8]>>) -> Self {
        Self {
            key: key.into(),
            payload: None,
        }
    }
}

/// The change of one entry between two trees. `before` and `after` differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The key.
    pub key: Box<[u8]>,
    /// The hash of the payload in the first tree; `None` if the entry was inserted.
    pub before: Option<Address>,
    /// The hash of the payload in the second tree; `None` if the entry was deleted.
    pub after: Option<Address>,
}

impl EntryChange {
    /// The edit that turns this key's entry of the first tree into that of the second.
    #[must_use]
    pub fn redo(self) -> Edit {
        Edit {
            key: self.key,
            payload: self.after,
        }
    }

    /// The edit that turns this key's entry of the second tree into that of the first.
    #[must_use]
    pub fn undo(self) -> Edit {
        Edit {
            key: self.key,
            payload: self.before,
        }
    }
}
