//! The builder, to which a caller gives the entries.

use std::thread;

use dflat_engine::{Error, Result};

use super::levels::{Builder, LevelWriter};
use super::thread::LevelThread;
use crate::chunk::Address;
use crate::node::{UnhashedNode, beginning};
use crate::tree::nodes::{Output, Root, Trees, check_key, unsorted};

/// The leaves after which a second thread is started. These are about 240 KB.
const LEAVES_ALONE: usize = 64;

/// Builds a tree from entries that come one by one.
///
/// A tree of more than 64 leaves, which are about 240 KB of keys and hashes, is built by two
/// threads: from then on a thread of the builder hashes nodes and puts them into the store. It
/// ends before [`finish`](Self::finish) returns, and before a builder is dropped. If it cannot be
/// started, the caller's thread does all the work.
pub struct TreeBuilder<'t> {
    leaves: LevelWriter,
    nodes: Nodes<'t>,
    last: Vec<u8>,
    /// The first bytes of the last key, which decide most comparisons.
    last_beginning: u64,
    count: u64,
}

/// The nodes that are made of the written leaves.
enum Nodes<'t> {
    /// The caller's thread makes them.
    Here {
        levels: Builder,
        output: Output<'t>,
        leaves: usize,
    },
    /// A second thread makes them.
    There(LevelThread),
    /// A node was lost.
    Failed(Error),
}

impl Nodes<'_> {
    fn push(&mut self, leaf: UnhashedNode) -> Result<()> {
        let pushed = match self {
            Self::There(thread) => thread.push(leaf),
            Self::Here { .. } => self.push_here(leaf),
            Self::Failed(error) => return Err(error.clone()),
        };
        pushed.inspect_err(|error| *self = Self::Failed(error.clone()))
    }

    fn push_here(&mut self, leaf: UnhashedNode) -> Result<()> {
        let Self::Here {
            levels,
            output,
            leaves,
        } = self
        else {
            return Ok(());
        };
        levels.push_node(output, leaf.hash())?;
        *leaves += 1;
        if *leaves != LEAVES_ALONE {
            return Ok(());
        }
        // Order: the nodes so far are put before those of the thread.
        output.flush()?;
        let thread = thread::Builder::new().name("dflat-tree".to_owned());
        let so_far = std::mem::replace(levels, Builder::new(0, false));
        match LevelThread::start(thread, output.trees(), so_far) {
            Ok(thread) => *self = Self::There(thread),
            Err(so_far) => *levels = so_far,
        }
        Ok(())
    }
}

impl TreeBuilder<'_> {
    /// Appends an entry, whose key is above the one before.
    ///
    /// # Errors
    /// As [`Trees::build`]. An error of the store may be that of an earlier entry, and comes again
    /// with each further entry that ends a leaf and from [`finish`](Self::finish).
    ///
    /// # Panics
    /// If the store has panicked on the second thread.
    pub fn push(&mut self, key: &[u8], payload: &Address) -> Result<()> {
        check_key("build", key)?;
        let beginning = beginning(key, key.len());
        let is_above = beginning > self.last_beginning
            || beginning == self.last_beginning && *key > *self.last;
        if self.count > 0 && !is_above {
            return Err(unsorted("build", self.count));
        }
        if self.leaves.add(key, payload, 1) {
            self.nodes.push(self.leaves.nodes.finish_unhashed())?;
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.last_beginning = beginning;
        self.count += 1;
        Ok(())
    }

    /// Ends the tree.
    ///
    /// # Errors
    /// An error of the store, now or since the first entry.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub fn finish(mut self) -> Result<Root> {
        if !self.leaves.nodes.is_empty() {
            self.nodes.push(self.leaves.nodes.finish_unhashed())?;
        }
        match self.nodes {
            Nodes::Here {
                levels, mut output, ..
            } => {
                let root = levels.finish(&mut output)?;
                output.flush()?;
                Ok(root)
            }
            Nodes::There(thread) => thread.finish(),
            Nodes::Failed(error) => Err(error),
        }
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
    /// Begins a tree.
    ///
    /// The memory is that of some nodes for each level, of 128 nodes on their way into the store,
    /// and, from the 65th leaf on, of at most 128 further leaves on their way to the second
    /// thread. A leaf has about 4 KiB, another node about 8 KiB, and none more than
    /// [`Chunk::BYTES_MAX`](crate::chunk::Chunk::BYTES_MAX).
    ///
    /// The calls of the store come from the caller's thread or from the second one, never from
    /// both at a time. [`push`](TreeBuilder::push) may wait for the second thread, so the caller
    /// must hold no lock that the store needs.
    #[must_use]
    pub fn builder(&self) -> TreeBuilder<'_> {
        TreeBuilder {
            leaves: LevelWriter::new(0),
            nodes: Nodes::Here {
                levels: Builder::new(0, false),
                output: self.output(),
                leaves: 0,
            },
            last: Vec::new(),
            last_beginning: 0,
            count: 0,
        }
    }

    /// Builds the tree of these entries, whose keys ascend.
    ///
    /// The memory and the threads are those of a [`builder`](Self::builder). The time is in
    /// proportion to the entries.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](dflat_engine::ErrorKind::InvalidArgument) if a key is not
    /// above the one before, or is longer than [`KEY_BYTES_MAX`](crate::node::KEY_BYTES_MAX); an
    /// error of the store. The store may then have nodes that belong to no tree.
    ///
    /// # Panics
    /// If the store panics.
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
