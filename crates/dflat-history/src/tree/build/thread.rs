//! The second thread of a large tree.
//!
//! The thread of the caller writes leaves. This thread hashes them, which takes longer, writes the
//! nodes above them, and puts all nodes into the store. While enough leaves wait for it, the thread
//! of the caller hashes some itself, so neither waits long for the other.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use dflat_engine::{Error, ErrorKind, Result};

use super::levels::Builder;
use crate::node::{Node, UnhashedNode};
use crate::tree::nodes::{Root, Trees};

/// The leaves that the thread gets at once. Waking the thread takes as long as hashing some leaves.
const LEAVES: usize = 32;

/// The number of such batches that may wait for the thread. One more is being hashed.
const WAITING: usize = 2;

enum Work {
    /// The levels so far. They come first.
    Levels(Builder),
    /// The next leaves.
    Leaves(Vec<UnhashedNode>),
    /// The same, already hashed.
    Nodes(Vec<Node>),
    /// The end of the tree. If it does not come, the tree has no root.
    End,
}

/// The levels of a tree, on a thread that ends with this value.
pub(super) struct LevelThread {
    /// The leaves of the next batch.
    leaves: Vec<UnhashedNode>,
    /// None if the thread has ended.
    running: Option<Running>,
}

struct Running {
    work: SyncSender<Work>,
    thread: JoinHandle<Result<Option<Root>>>,
}

impl LevelThread {
    /// Goes on with these levels on a thread. If it cannot be started, the levels come back.
    pub(super) fn start(
        thread: thread::Builder,
        trees: &Trees,
        levels: Builder,
    ) -> Result<Self, Builder> {
        let (work, received) = sync_channel(WAITING);
        let trees = trees.clone();
        let Ok(thread) = thread.spawn(move || build(&trees, &received)) else {
            return Err(levels);
        };
        match work.send(Work::Levels(levels)) {
            Ok(()) => Ok(Self {
                leaves: Vec::with_capacity(LEAVES),
                running: Some(Running { work, thread }),
            }),
            Err(unsent) => match unsent.0 {
                Work::Levels(levels) => Err(levels),
                _ => Err(Builder::new(0, false)),
            },
        }
    }

    /// Gives the thread the next leaf.
    ///
    /// # Errors
    /// That of the thread, if it has failed meanwhile. A panic goes on here.
    pub(super) fn push(&mut self, leaf: UnhashedNode) -> Result<()> {
        self.leaves.push(leaf);
        match self.leaves.len() < LEAVES {
            true => Ok(()),
            false => self.send_leaves(),
        }
    }

    fn send_leaves(&mut self) -> Result<()> {
        let leaves = std::mem::replace(&mut self.leaves, Vec::with_capacity(LEAVES));
        let Some(running) = &self.running else {
            return Err(ended());
        };
        match running.work.try_send(Work::Leaves(leaves)) {
            // The thread has enough to do, so this one hashes as well.
            Err(TrySendError::Full(Work::Leaves(leaves))) => {
                let nodes = leaves.into_iter().map(UnhashedNode::hash);
                self.send(Work::Nodes(nodes.collect()))
            }
            Err(TrySendError::Full(work) | TrySendError::Disconnected(work)) => self.send(work),
            Ok(()) => Ok(()),
        }
    }

    fn send(&mut self, work: Work) -> Result<()> {
        let sent = self.running.as_ref().map(|to| to.work.send(work));
        match sent {
            Some(Ok(())) => Ok(()),
            // Only a thread that has failed takes no work.
            _ => self.join().and(Err(ended())),
        }
    }

    /// The root of the tree.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(super) fn finish(mut self) -> Result<Root> {
        self.send_leaves()?;
        self.send(Work::End)?;
        self.join()
    }

    fn join(&mut self) -> Result<Root> {
        let Running { work, thread } = self.running.take().ok_or_else(ended)?;
        drop(work);
        let root = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        root?.ok_or_else(ended)
    }
}

impl Drop for LevelThread {
    fn drop(&mut self) {
        if let Some(Running { work, thread }) = self.running.take() {
            drop(work);
            // A panic has been printed, and no caller waits for the root.
            let _ = thread.join();
        }
    }
}

/// The root, if the tree is ended.
fn build(trees: &Trees, received: &Receiver<Work>) -> Result<Option<Root>> {
    let mut output = trees.output();
    let mut levels = Builder::new(0, false);
    for work in received {
        match work {
            Work::Levels(so_far) => levels = so_far,
            Work::Leaves(leaves) => {
                for leaf in leaves {
                    levels.push_node(&mut output, leaf.hash())?;
                }
            }
            Work::Nodes(nodes) => {
                for node in nodes {
                    levels.push_node(&mut output, node)?;
                }
            }
            Work::End => {
                let root = levels.finish(&mut output)?;
                output.flush()?;
                return Ok(Some(root));
            }
        }
    }
    Ok(None)
}

#[cold]
fn ended() -> Error {
    let message = "cannot build a tree: the thread that hashes its nodes has panicked";
    Error::new(ErrorKind::Panicked, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chunk::MemoryStore;

    /// No thread has a stack of the whole address space.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn levels_come_back_if_no_thread_can_be_started() {
        let trees = Trees::new(Arc::new(MemoryStore::new()));
        let thread = thread::Builder::new().stack_size(1 << 47);
        assert!(LevelThread::start(thread, &trees, Builder::new(0, false)).is_err());
    }
}
