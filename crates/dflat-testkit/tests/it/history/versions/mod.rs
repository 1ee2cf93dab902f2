//! States with names: commits, branches, merges, and their trees.

mod beside;
mod branches;
mod commit_faults;
mod commit_groups;
mod commit_storage;
pub(super) mod commits;
mod diff;
mod forgotten;
mod garbage;
mod later_types;
mod merge_cases;
mod merge_model;
mod merges;
mod random_branches;
mod random_merges;
mod received;
mod tree_builds;
