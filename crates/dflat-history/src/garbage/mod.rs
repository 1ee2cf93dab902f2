//! Deletes what is not needed: the commits and nodes of trees that no branch has, and the history
//! of a type.

mod collect;
mod forget;
mod mark;

pub use collect::{Collected, collect, collect_through};
pub use forget::forget;
pub use mark::KeepTrees;
