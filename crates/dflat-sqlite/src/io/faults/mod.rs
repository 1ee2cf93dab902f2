//! Faults for tests: which calls fail and when, and which content a loss of power leaves.
//!
//! This module is not part of the stable interface and exists only with the feature `faults`.
//! `dflat_testkit::fault` wraps it for tests.

mod plan;
pub(super) mod recording;
pub(super) mod script;

pub use plan::{FaultPlan, vfs_name};
pub use recording::{Event, PowerCut, Recording};
pub use script::{Action, Failure, Fault};
