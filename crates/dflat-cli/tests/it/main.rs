//! The command line, run as a user runs it.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod fixture;
mod moving;
mod pages;
mod reading;
mod transcripts;
mod watching;
