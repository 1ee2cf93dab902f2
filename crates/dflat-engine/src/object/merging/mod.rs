//! Merges an update by older code into a payload that newer code wrote.
//!
//! This room reads, compares and writes payloads with the other files of `object`, and uses neither
//! `memory` nor handles on objects. [`Knowledge`] finds the values that newer code wrote, and
//! [`merge()`] keeps them. [`assign()`] copies a payload with another key. [`canonical()`]
//! gives objects with equal values equal bytes, and [`combine()`] takes each field from one of
//! several payloads.

mod align;
mod assign;
mod canonical;
mod copy;
mod fields;
mod knowledge;
mod merge;
mod parts;
mod vectors;

pub use assign::{Assigned, assign};
pub use canonical::canonical;
pub use fields::{combine, differing_fields};
pub use knowledge::Knowledge;
pub use merge::{Unmergeable, merge};
