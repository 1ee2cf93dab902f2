//! Building a tree from all its entries.

mod builder;
mod levels;

pub use builder::TreeBuilder;
pub(super) use levels::{Builder, Child, LevelWriter};
