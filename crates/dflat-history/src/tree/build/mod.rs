//! Building a tree from all its entries.

mod builder;
mod levels;
mod thread;

pub use builder::TreeBuilder;
pub(super) use levels::{Builder, Child, LevelWriter};
