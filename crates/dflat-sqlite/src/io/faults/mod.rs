//! Faults for tests: what fails when, and what a loss of power leaves.
//!
//! No part of the stable interface: it is there with the feature `faults` only.
//! `dflat_testkit::fault` makes it comfortable.

mod plan;
pub(super) mod recording;
pub(super) mod script;

pub use plan::{FaultPlan, vfs_name};
pub use recording::{Event, PowerCut, Recording};
pub use script::{Action, Failure, Fault};
