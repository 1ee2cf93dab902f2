//! Repository tasks: what continuous integration runs, and the checks that no other tool makes.
//!
//! Everything here is a function from text to findings, so that each check has unit tests; only
//! [`workspace`] reads files, and [`ci`], [`package`] and [`c_library`] start programs. The library
//! is separate from the program so that `cargo test --workspace` runs the checks too.

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

pub mod bench;
pub mod c_library;
pub mod ci;
pub mod cost;
pub mod finding;
pub mod licences;
pub mod package;
pub mod picture;
pub mod rust;
pub mod swift;
pub mod tidy;
pub mod workspace;

/// The error of a task, as text for a terminal.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of a task.
pub type Result<T, E = Error> = std::result::Result<T, E>;
