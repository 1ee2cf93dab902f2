//! The laws and workloads on every backend, files of Dflat for Swift, and invalid files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod books;
mod condition_language;
mod evolution;
mod faults;
mod files;
mod fuzz_smoke;
mod history;
mod other_programs;
mod packs;
mod reading;
mod sqlite_version;
mod system_calls;
mod unprivileged;
mod workspaces;
mod writing;

dflat_testkit::conformance!(memory, dflat_testkit::fixture::Fixture::memory);
dflat_testkit::conformance!(sqlite, dflat_testkit::fixture::Fixture::sqlite);
