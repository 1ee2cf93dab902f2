//! The history of versioned types.

mod blame;
mod branches;
mod commit_faults;
mod commit_groups;
mod commits;
mod conflicts;
mod cost;
mod diff;
mod faults;
mod files;
mod forget;
mod garbage;
mod merge_cases;
mod merges;
mod model;
mod past;
mod random_merges;
mod random_programs;
mod steps;
mod strangers;
mod undo;
