//! The changes of two trees since a common one, key by key.

use std::cmp::Ordering;
use std::iter::Peekable;

use dflat_engine::Result;

use super::diff::Diff;
use super::entry::{Edit, EntryChange};
use super::nodes::{Root, Trees};
use crate::chunk::Address;

/// The change of one key in a merge of three trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeCase {
    /// Only our tree changed the entry.
    Ours(EntryChange),
    /// Only their tree changed the entry.
    Theirs(EntryChange),
    /// Both trees made the same change.
    Same(EntryChange),
    /// Both trees changed the entry, and it differs between them.
    Conflict(MergeConflict),
}

/// An entry that two trees changed in different ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// The key.
    pub key: Box<[u8]>,
    /// The hash of the payload in the common tree, if the entry was there.
    pub base: Option<Address>,
    /// The same in our tree.
    pub ours: Option<Address>,
    /// The same in their tree.
    pub theirs: Option<Address>,
}

/// The outcome of [`Trees::merged`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The tree with the changes of both.
    Tree(Root),
    /// The entries that both trees changed in different ways. No tree was made.
    Conflicts(Vec<MergeConflict>),
}

/// The changes of two trees since a common one, in the order of the keys.
///
/// The memory is one node of each level of each tree. After an error it ends.
#[derive(Debug)]
pub struct Merge {
    ours: Peekable<Diff>,
    theirs: Peekable<Diff>,
    has_failed: bool,
}

impl Trees {
    /// The changes of two trees since `base`, key by key.
    ///
    /// # Errors
    /// As [`get`](Self::get), here and from the iterator.
    pub fn merge(&self, base: &Root, ours: &Root, theirs: &Root) -> Result<Merge> {
        Ok(Merge {
            ours: self.diff(base, ours)?.peekable(),
            theirs: self.diff(base, theirs)?.peekable(),
            has_failed: false,
        })
    }

    /// The tree with the changes of two trees since `base`, if no key is in conflict.
    ///
    /// The tree is the same with ours and theirs exchanged. The memory is in proportion to their
    /// changes, or to the conflicts.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn merged(&self, base: &Root, ours: &Root, theirs: &Root) -> Result<Merged> {
        if base == ours || ours == theirs {
            return Ok(Merged::Tree(*theirs));
        }
        if base == theirs {
            return Ok(Merged::Tree(*ours));
        }
        let (mut edits, mut conflicts) = (Vec::new(), Vec::new());
        for case in self.merge(base, ours, theirs)? {
            match case? {
                MergeCase::Theirs(change) if conflicts.is_empty() => edits.push(change.redo()),
                MergeCase::Conflict(conflict) => {
                    edits = Vec::<Edit>::new();
                    conflicts.push(conflict);
                }
                MergeCase::Theirs(_) | MergeCase::Ours(_) | MergeCase::Same(_) => {}
            }
        }
        if conflicts.is_empty() {
            self.apply(ours, edits).map(Merged::Tree)
        } else {
            Ok(Merged::Conflicts(conflicts))
        }
    }
}

impl Merge {
    fn find(&mut self) -> Result<Option<MergeCase>> {
        let order = match (self.ours.peek(), self.theirs.peek()) {
            (None, None) => return Ok(None),
            (Some(Ok(ours)), Some(Ok(theirs))) => ours.key.cmp(&theirs.key),
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        let mut next_ours = || self.ours.next().transpose();
        let mut next_theirs = || self.theirs.next().transpose();
        Ok(match order {
            Ordering::Less => next_ours()?.map(MergeCase::Ours),
            Ordering::Greater => next_theirs()?.map(MergeCase::Theirs),
            Ordering::Equal => match (next_ours()?, next_theirs()?) {
                (Some(ours), Some(theirs)) if ours.after == theirs.after => {
                    Some(MergeCase::Same(ours))
                }
                (Some(ours), Some(theirs)) => Some(MergeCase::Conflict(MergeConflict {
                    key: ours.key,
                    base: ours.before,
                    ours: ours.after,
                    theirs: theirs.after,
                })),
                _ => None,
            },
        })
    }
}

impl Iterator for Merge {
    type Item = Result<MergeCase>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let found = self.find();
        self.has_failed = found.is_err();
        found.transpose()
    }
}
