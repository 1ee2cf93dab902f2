//! Tests of trees beside a model: an ordered map in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing test panics"
)]

mod builds;
mod chunk_reads;
mod differences;
mod hostile;
mod lookups;
mod merges;
mod model;
mod page;
mod random;
mod sequences;
