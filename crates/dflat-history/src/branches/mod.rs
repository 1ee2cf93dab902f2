//! Branches: names for commits, whose objects the tables can be given.

mod attempt;
mod base;
mod cases;
mod checkout;
mod conflict;
mod forward;
mod graph;
mod merge;
mod names;
mod object;
mod payloads;
mod set;
mod start;
mod unique;

pub use checkout::{Checkout, checkout};
pub use conflict::{ConflictReason, ObjectConflict};
pub use forward::{forward, forward_branch};
pub(crate) use graph::Graph;
pub use merge::{Merge, Merged};
pub(crate) use names::{check_name, check_remote};
pub use names::{create, create_at, delete, tip_of};
pub(crate) use start::start;
