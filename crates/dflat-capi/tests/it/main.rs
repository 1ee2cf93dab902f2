//! The C interface, as programs in C use it.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod coverage;
mod declarations;
mod header;
mod misuse;
mod page;
mod posts;
mod programs;
#[cfg(all(feature = "thread-sanitizer", unix))]
mod races;
mod symbols;
