//! Merges an update by older code into a payload that newer code wrote.
//!
//! This room stands at the top of `object`, beside `memory`: it reads, compares and writes payloads
//! with the files below, and knows no handle. [`Knowledge`] finds the values that newer code wrote,
//! and [`merge()`] keeps them.

mod align;
mod copy;
mod knowledge;
mod merge;

pub use knowledge::Knowledge;
pub use merge::{Unmergeable, merge};
