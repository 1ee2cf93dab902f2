//! A commit that is being received, and its checks.

use std::collections::BTreeMap;

use dflat_engine::engine::Engine;
use dflat_engine::storage::{Snapshot, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use super::forgotten::forgotten_here;
use super::parts::Parts;
use super::wire::{malformed, too_much};
use crate::commits::{Commit, collections, has};
use crate::tree::{MissingChunk, Root, Trees};

/// The maximum number of parents of a commit.
const PARENTS_MAX: usize = 16;

/// A commit that is being received.
pub(super) struct Incoming {
    pub(super) commit: Commit,
    pub(super) parents: Vec<Commit>,
    /// The roots with the changes so far.
    pub(super) roots: BTreeMap<String, Root>,
    /// The table and the key of the latest change.
    place: Option<(usize, Vec<u8>)>,
    pub(super) parts: Parts,
    /// Whether parts are in the file already.
    pub(super) is_begun: bool,
    /// The number of collections of garbage before the first node was read or written.
    collections: u64,
}

impl Incoming {
    /// A commit without the changes since its parents. `collections` is the number of collections
    /// of garbage before the parents were read.
    pub(super) fn new(commit: Commit, parents: Vec<Commit>, collections: u64) -> Self {
        let first = parents.first();
        let roots = commit.tables.iter().map(|of| {
            let root = first.map_or(Root::EMPTY, |parent| parent.root(&of.name));
            (of.name.clone(), root)
        });
        Self {
            roots: roots.collect(),
            commit,
            parents,
            place: None,
            parts: Parts::default(),
            is_begun: false,
            collections,
        }
    }

    /// Checks that the tables and keys of the changes ascend.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if they do not.
    pub(super) fn check_order(&mut self, number: usize, key: &[u8]) -> Result<()> {
        let place = Some((number, key.to_vec()));
        if self.place >= place {
            return Err(malformed("the changes of a commit are not in their order"));
        }
        self.place = place;
        Ok(())
    }

    /// Checks that the roots and the numbers of objects are those that the commit says.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if they are not; [`ErrorKind::InvalidArgument`] if this side has
    /// forgotten objects of a parent; otherwise the errors of reading.
    pub(super) fn check_roots(&self, trees: &Trees) -> Result<()> {
        let commit = &self.commit;
        for of in &commit.tables {
            let root = self.roots.get(&of.name).copied();
            let is_same = root.is_some() && root == of.kept();
            let objects = match root.filter(|_| is_same) {
                Some(root) => trees.len(&root)?,
                None => 0,
            };
            let is_counted = match of.has_forgotten_objects {
                true => objects <= of.objects,
                false => objects == of.objects,
            };
            if is_same && is_counted {
                continue;
            }
            let mut of_parents = self.parents.iter().flat_map(|parent| &parent.tables);
            if of_parents.any(|other| other.name == of.name && other.has_forgotten_objects) {
                let why = "it may have an object";
                return Err(forgotten_here(commit, &of.name, why));
            }
            let why = format!(
                "the objects of {} in commit {}; if one was forgotten on the other side, accept \
                 forgotten objects, or forget it on this side, too",
                of.name, commit.id
            );
            return Err(malformed(&why));
        }
        Ok(())
    }

    /// Checks that since the first node was read neither garbage was collected nor an object
    /// forgotten.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if it was; otherwise the errors of reading.
    pub(super) fn check_same(&self, writer: &mut dyn WriteTransaction) -> Result<()> {
        if collections(writer)? == self.collections {
            return Ok(());
        }
        let message = format!(
            "cannot sync commit {}: garbage was collected meanwhile; sync again",
            self.commit.id
        );
        Err(Error::new(ErrorKind::Busy, message))
    }
}

/// Checks that the file has the parents of a commit. `collections_before` is the number of
/// collections of garbage before this side has said which commits it has.
///
/// # Errors
/// - [`ErrorKind::Corrupt`] if the commit was sent before one of its parents.
/// - [`ErrorKind::Busy`] if a parent was deleted meanwhile.
/// - [`ErrorKind::InvalidArgument`] if the parents are too many.
/// - Otherwise the errors of reading.
pub(super) fn check_parents(
    snapshot: &mut dyn Snapshot,
    commit: &Commit,
    collections_before: u64,
) -> Result<()> {
    let (id, count) = (commit.id, commit.parents.len());
    if count > PARENTS_MAX {
        return Err(too_much(&format!("a commit with {count} parents")));
    }
    let found = has(snapshot, &commit.parents)?.into_iter();
    let mut parents = commit.parents.iter().zip(found);
    let Some((parent, _)) = parents.find(|(_, is_there)| !is_there) else {
        return Ok(());
    };
    if collections(snapshot)? == collections_before {
        return Err(malformed(&format!("commit {id} comes before its parents")));
    }
    let message = format!(
        "cannot sync commit {id}: garbage collection, or forgetting an object, has deleted commit \
         {parent} before it meanwhile; sync again"
    );
    Err(Error::new(ErrorKind::Busy, message))
}

/// The error of an exchange: [`ErrorKind::Busy`] if this file lacks a node or a commit, and garbage
/// was collected since `collections_before`. Other errors stay as they are.
pub(super) fn busy_if_collected(engine: &Engine, collections_before: u64, error: Error) -> Error {
    let is_missing =
        error.kind() == ErrorKind::NotFound || error.cause_as::<MissingChunk>().is_some();
    if !is_missing {
        return error;
    }
    match engine.read_history(collections) {
        Ok(now) if now != collections_before => {
            let message = "cannot sync: garbage was collected meanwhile; sync again";
            Error::with_source(ErrorKind::Busy, message, error)
        }
        _ => error,
    }
}

/// Checks that a commit has the types that its parents have, as far as they are known.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if the history of one was forgotten on the other side.
pub(super) fn check_types(
    commit: &Commit,
    parents: &[Commit],
    is_known: impl Fn(&str) -> bool,
) -> Result<()> {
    let mut of_parents = parents.iter().flat_map(|parent| &parent.tables);
    let lost = of_parents.find(|of| {
        of.root != Root::EMPTY
            && is_known(&of.name)
            && !commit.tables.iter().any(|other| other.name == of.name)
    });
    let Some(of) = lost else {
        return Ok(());
    };
    let message = format!(
        "cannot sync commit {}: it has no objects of {}, whose history was forgotten on the other \
         side; forget it on this side, too",
        commit.id, of.name
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}
