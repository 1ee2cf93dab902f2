//! Reading single entries.

use dflat_engine::Result;

use super::entry::Entry;
use super::nodes::{Root, Trees};
use crate::chunk::Address;

impl Trees {
    /// The hash of the payload of a key.
    ///
    /// Reads one node of each level: three for a million entries.
    ///
    /// # Errors
    /// An error of the store; `Corrupt` if a node is missing or malformed.
    pub fn get(&self, root: &Root, key: &[u8]) -> Result<Option<Address>> {
        let mut node = self.root_node(root)?;
        loop {
            let view = node.view();
            if view.level() == 0 {
                return Ok(view.find(key));
            }
            let index = view.lower_bound(key);
            if index == view.len() {
                return Ok(None);
            }
            node = self.child(&node, index)?;
        }
    }

    /// The entry with this number in the order of the keys, counted from 0.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn entry(&self, root: &Root, ordinal: u64) -> Result<Option<Entry>> {
        let mut node = self.root_node(root)?;
        let mut ordinal = ordinal;
        loop {
            let view = node.view();
            let index = view.entry_of_ordinal(ordinal);
            if index == view.len() {
                return Ok(None);
            }
            if view.level() == 0 {
                return Ok(Some(Entry::of(&view, index)));
            }
            ordinal -= view.count_before(index);
            node = self.child(&node, index)?;
        }
    }

    /// The number of entries whose keys are below this key. It is the number of the entry with the
    /// key, if there is one.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn ordinal(&self, root: &Root, key: &[u8]) -> Result<u64> {
        let mut node = self.root_node(root)?;
        let mut before = 0_u64;
        loop {
            let view = node.view();
            let index = view.lower_bound(key);
            before = before.saturating_add(view.count_before(index));
            if view.level() == 0 || index == view.len() {
                return Ok(before);
            }
            node = self.child(&node, index)?;
        }
    }

    /// The number of entries. Reads the root node alone.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn len(&self, root: &Root) -> Result<u64> {
        Ok(self.root_node(root)?.view().count())
    }
}
