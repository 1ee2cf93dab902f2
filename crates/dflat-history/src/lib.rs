//! The foundation of versions of the objects of the Dflat object database.
//!
//! A version of all objects of one type is a [tree] that is named by a hash of its content.
//! Its leaves hold the [keys](dflat_model::key) of the objects in their order, each with the hash
//! of the object's payload. Its [nodes](node) are FlatBuffers messages, stored as [chunks](chunk)
//! under the hashes of their bytes.
//!
//! Equal content has an equal root, whatever changes led to it and whatever program made them.
//! Two trees are therefore compared by reading only the nodes that differ.
//!
//! The modules, top down; each uses only those below it: [`tree`]; [`node`]; [`chunk`]. The page
//! `docs/history-format.md` of the repository has the exact bytes.
//!
//! The [steps] of a history are the change records of the transactions on versioned types. The
//! [keeper] appends them. Going back over them gives the states of the [past], which needs no tree.
//! [Commits](commits) name states, and have their trees; [compare] has the differences of two
//! states, and [branches] gives the tables the objects of a commit.
//! [garbage] deletes what no branch needs. [received] has the changes of commits that another file
//! has made.
//! [Sync](sync) exchanges commits with other files.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod branches;
mod bytes;
pub mod chunk;
mod commit_id;
pub mod commits;
pub mod compare;
pub mod garbage;
pub mod keeper;
pub mod node;
pub mod past;
pub mod received;
pub mod steps;
pub mod sync;
pub mod tree;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
