//! Builds the first tree of a table in batches, beside writers.
//!
//! A ref has the state: the tree has all objects up to a key, as they were after a step. A batch is
//! a transaction that applies the changes of later steps to these objects, and adds the next ones.

mod batch;
mod state;
mod worker;

pub(crate) use batch::is_far;
pub use batch::{build_batch, needs_batch};
pub(crate) use state::{Building, all_building, building, put_building};
pub use state::{TreeBuild, tree_builds};
pub use worker::{begin_builds, build_in_background};
