//! Deletes the commits and the nodes of trees that no branch needs.

mod collect;
mod mark;

pub use collect::{Collected, collect};
pub use mark::KeepTrees;
