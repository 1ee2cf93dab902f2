//! The laws on a PostgreSQL server that the tests start themselves.
//!
//! Skipped without the server's programs, except with `DFLAT_REQUIRE_POSTGRES=1` in the
//! environment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a step that fails is a test that fails"
)]

mod administration;
mod commits;
mod conflicts;
mod copies;
mod cuts;
mod disturbed;
mod encryption;
mod engines;
mod following;
mod full;
mod page;
mod pooler;
mod process;
mod proxy;
mod recreated;
mod removed_indexes;
mod round_trips;
mod server;
mod silent;

dflat_testkit::conformance!(laws, crate::server::open);
