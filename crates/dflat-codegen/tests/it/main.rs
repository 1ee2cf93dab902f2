//! Generated code against the goldens in `tests/data`, rustfmt and the compiler.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chains;
mod compiled;
mod errors;
mod golden;
mod layout;
mod robustness;
mod roundtrip;
mod swift;
mod swift_pages;
