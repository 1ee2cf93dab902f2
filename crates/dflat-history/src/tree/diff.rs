//! The difference between two trees.
//!
//! Both trees are walked at once, in the order of the keys. Where both are at the same node, the
//! node is skipped with all below it. A node is read only if the other tree may have an entry in
//! its range of keys, or has none there at all.

use std::cmp::Ordering;

use dflat_engine::Result;

use super::cursor::Frame;
use super::entry::EntryChange;
use super::nodes::{Root, Trees};
use crate::node::{NodeEntry, NodeView};

/// The entries that differ between two trees, in the order of their keys.
///
/// The memory is one node of each level of both trees. After an error it ends.
#[derive(Debug)]
pub struct Diff {
    before: Walk,
    after: Walk,
}

impl Trees {
    /// The entries that differ between two trees.
    ///
    /// Nodes that both trees share are not read, so the cost depends on the difference alone.
    ///
    /// # Errors
    /// As [`get`](Self::get), here and from the iterator.
    pub fn diff(&self, before: &Root, after: &Root) -> Result<Diff> {
        let is_same = before == after;
        let walk = |root| Walk::new(self, if is_same { &Root::EMPTY } else { root });
        Ok(Diff {
            before: walk(before)?,
            after: walk(after)?,
        })
    }
}

/// The next step of a comparison.
enum Step {
    /// An entry is in one tree only.
    Deleted,
    Inserted,
    /// An entry is in both trees.
    Updated,
    /// Both trees have the same.
    Same,
    /// A node must be read, or two.
    Descend {
        before: bool,
        after: bool,
    },
    End,
}

impl Diff {
    fn find(&mut self) -> Result<Option<EntryChange>> {
        loop {
            let (before, after) = (&mut self.before, &mut self.after);
            if before.is_in_leaf() && after.is_in_leaf() {
                skip_equal_entries(before, after);
            }
            match step(before, after) {
                Step::End => return Ok(None),
                Step::Same => {
                    before.advance();
                    after.advance();
                }
                Step::Descend {
                    before: is_before,
                    after: is_after,
                } => {
                    if is_before {
                        before.descend()?;
                    }
                    if is_after {
                        after.descend()?;
                    }
                }
                Step::Deleted => return Ok(before.take().map(|entry| change(Some(entry), None))),
                Step::Inserted => return Ok(after.take().map(|entry| change(None, Some(entry)))),
                Step::Updated => return Ok(Some(change(before.take(), after.take()))),
            }
        }
    }
}

type Taken = (Box<[u8]>, crate::chunk::Address);

fn change(before: Option<Taken>, after: Option<Taken>) -> EntryChange {
    let (before_payload, after_payload) =
        (before.as_ref().map(|b| b.1), after.as_ref().map(|a| a.1));
    EntryChange {
        key: after.or(before).map(|taken| taken.0).unwrap_or_default(),
        before: before_payload,
        after: after_payload,
    }
}

fn step(before: &Walk, after: &Walk) -> Step {
    match (before.item(), after.item()) {
        (None, None) => Step::End,
        (Some((_, 0)), None) => Step::Deleted,
        (None, Some((_, 0))) => Step::Inserted,
        (Some(_), None) => Step::Descend {
            before: true,
            after: false,
        },
        (None, Some(_)) => Step::Descend {
            before: false,
            after: true,
        },
        (Some((old, 0)), Some((new, 0))) => match old.key.cmp(new.key) {
            Ordering::Less => Step::Deleted,
            Ordering::Greater => Step::Inserted,
            Ordering::Equal if old.address == new.address => Step::Same,
            Ordering::Equal => Step::Updated,
        },
        (Some((old, old_level)), Some((new, new_level))) => {
            if old_level == new_level && old.address == new.address {
                return Step::Same;
            }
            let new_is_below = old_level > 0 && !before.begins_before(new.key);
            let old_is_below = new_level > 0 && !after.begins_before(old.key);
            match (old_level, new_level) {
                (0, _) if old_is_below => Step::Deleted,
                (_, 0) if new_is_below => Step::Inserted,
                _ if old_is_below => Step::Descend {
                    before: true,
                    after: false,
                },
                _ if new_is_below => Step::Descend {
                    before: false,
                    after: true,
                },
                _ => Step::Descend {
                    before: old_level >= new_level,
                    after: new_level >= old_level,
                },
            }
        }
    }
}

/// Moves both walks, which are in leaves, over the entries that are equal.
fn skip_equal_entries(before: &mut Walk, after: &mut Walk) {
    let (Some(old), Some(new)) = (before.frames.last_mut(), after.frames.last_mut()) else {
        return;
    };
    let (old_view, new_view) = (old.node.view(), new.node.view());
    let left = (old_view.len() - old.index).min(new_view.len() - new.index);
    let is_equal = |place: &usize| {
        let (old, new) = (old.index + place, new.index + place);
        old_view.address(old) == new_view.address(new) && old_view.key(old) == new_view.key(new)
    };
    let equal = (0..left).find(|place| !is_equal(place)).unwrap_or(left);
    let (old_index, new_index) = (old.index + equal, new.index + equal);
    (old.index, new.index) = (old_index, new_index);
    before.leave_ended();
    after.leave_ended();
}

/// A place in one tree: an entry of a leaf, or a node that has not been read.
#[derive(Debug)]
struct Walk {
    trees: Trees,
    /// From the root. No frame is behind the last entry of its node.
    frames: Vec<Frame>,
}

impl Walk {
    fn new(trees: &Trees, root: &Root) -> Result<Self> {
        let node = trees.root_node(root)?;
        let mut walk = Self {
            trees: trees.clone(),
            frames: vec![Frame { node, index: 0 }],
        };
        walk.leave_ended();
        Ok(walk)
    }

    fn is_in_leaf(&self) -> bool {
        self.frames
            .last()
            .is_some_and(|frame| frame.node.level() == 0)
    }

    /// The entry at the place, and the level of its node.
    fn item(&self) -> Option<(NodeEntry<'_>, u8)> {
        let frame = self.frames.last()?;
        let view: NodeView<'_> = frame.node.view();
        Some((view.entry(frame.index)?, view.level()))
    }

    /// Whether the node at the place may have a key that is not above this one. All its keys are
    /// above the last key of the node before.
    fn begins_before(&self, key: &[u8]) -> bool {
        let before = self.frames.iter().rev().find(|frame| frame.index > 0);
        before.is_none_or(|frame| frame.node.view().key(frame.index - 1) < key)
    }

    /// Reads the node at the place, and goes to its first entry.
    fn descend(&mut self) -> Result<()> {
        if let Some(frame) = self.frames.last() {
            let node = self.trees.child(&frame.node, frame.index)?;
            self.frames.push(Frame { node, index: 0 });
        }
        Ok(())
    }

    fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.index += 1;
        }
        self.leave_ended();
    }

    /// Leaves the nodes that have no further entry.
    fn leave_ended(&mut self) {
        while let Some(frame) = self.frames.last()
            && frame.index >= frame.node.len()
        {
            self.frames.pop();
            if let Some(parent) = self.frames.last_mut() {
                parent.index += 1;
            }
        }
    }

    /// Takes the entry at the place.
    fn take(&mut self) -> Option<Taken> {
        let entry = self
            .item()
            .map(|(entry, _)| (entry.key.into(), entry.address));
        self.advance();
        entry
    }
}

impl Iterator for Diff {
    type Item = Result<EntryChange>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.find();
        if found.is_err() {
            self.before.frames.clear();
            self.after.frames.clear();
        }
        found.transpose()
    }
}
