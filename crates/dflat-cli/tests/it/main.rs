//! The command line, run as a user runs it.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod changing;
mod completing;
mod concurrent;
mod fixture;
mod forgotten;
#[cfg(target_os = "linux")]
mod in_terminal;
mod moving;
mod pages;
#[path = "../../../dflat-postgres/tests/it/process.rs"]
mod process;
mod reading;
mod round_trip;
mod servers;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod syncing;
mod terminal;
mod transcripts;
mod watching;
