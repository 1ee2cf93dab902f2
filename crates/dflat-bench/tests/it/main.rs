//! Checks the use of memory, and that Dflat and the floor do the same work.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod files;
mod memory;
mod program;
mod soak;
