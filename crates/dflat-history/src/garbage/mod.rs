//! Deletes the commits and the nodes of trees that no branch needs.

mod collect;
mod mark;

pub use collect::{Collected, collect, collect_through};
pub use mark::KeepTrees;
