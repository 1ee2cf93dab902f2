//! Branches: names for commits, whose objects the tables can be given.

mod base;
mod cases;
mod checkout;
mod conflict;
mod graph;
mod merge;
mod names;
mod object;
mod payloads;
mod set;

pub use checkout::{Checkout, checkout};
pub use conflict::{ConflictReason, ObjectConflict};
pub(crate) use graph::Graph;
pub use merge::{Merge, Merged};
pub use names::{create, delete, tip_of};
