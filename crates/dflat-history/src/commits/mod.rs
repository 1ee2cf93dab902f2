//! Commits: states of all versioned types that have names.
//!
//! A [`Commit`] closes the steps since the one before, and has the [root](crate::tree::Root) of a
//! tree for each type. Its id depends on its parents, its content and its steps. Commits, the nodes
//! of their trees and the branches lie in the same file as the objects, and are written in the same
//! transactions.

mod advance;
mod building;
mod commit;
mod content;
mod forgotten;
mod grow;
mod log;
mod make;
mod marks;
mod refs;
mod remotes;
mod rest;
mod restore;
mod store;

pub(crate) use advance::latest;
pub(crate) use building::{Building, all_building, building, put_building};
pub use building::{
    TreeBuild, begin_builds, build_batch, build_in_background, needs_batch, tree_builds,
};
pub use commit::{Commit, CommitTable, from_wire};
pub use content::Content;
pub use forgotten::past;
pub(crate) use forgotten::{check_kept, forget_table};
pub(crate) use log::put_place;
pub use log::{CommitLog, find, has, load, place, store_commit};
pub(crate) use make::closed;
pub use make::commit;
pub(crate) use marks::{Mark, MarkKey, Marks};
pub use refs::{Branch, Head, MAIN, branches, head};
pub(crate) use refs::{
    collections, count_collection, count_rebuild, delete_branch, delete_uncollected, has_gap,
    put_branch, put_head, put_uncollected, rebuilds, tip, uncollected,
};
pub use remotes::{
    delete_incoming, delete_remote, incoming, put_incoming, put_remote, remote_name, remote_tip,
    remotes,
};
pub(crate) use rest::{Erased, forget_in_commits};
pub use restore::ensure_trees;
pub(crate) use restore::without_trees;
pub use store::FileStore;
pub(crate) use store::has_trees;

pub use crate::steps::CommitId;
