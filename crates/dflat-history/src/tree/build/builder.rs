//! The builder, to which a caller gives the entries.

use dflat_engine::Result;

use super::levels::Builder;
use crate::chunk::Address;
use crate::node::beginning;
use crate::tree::nodes::{Output, Root, Trees, check_key, unsorted};

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
