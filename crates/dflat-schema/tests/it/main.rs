//! Tests of the schema compiler through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod descriptor;
mod dump;
mod evolution;
mod fixture;
mod flatc;
mod golden;
mod json;
mod loading;
mod robustness;
mod text;
