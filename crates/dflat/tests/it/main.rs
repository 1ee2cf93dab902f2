//! Tests of the typed interface on the memory backend.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failing test panics"
)]

mod async_calls;
mod compatibility;
mod concurrency_page;
#[cfg(feature = "sqlite")]
mod durability_page;
mod ease;
mod features;
mod guide_page;
#[cfg(feature = "history")]
mod history_page;
mod live_queries;
mod macros;
#[cfg(all(feature = "pack", feature = "sqlite"))]
mod packs_page;
mod payload;
mod performance_page;
mod query_pages;
mod readme;
mod tour;

#[path = "../../../dflat-codegen/tests/data/bench_doc/rust.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the test uses a part of it"
)]
mod bench_doc;

#[path = "../../../dflat-codegen/tests/data/flags/rust.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the test uses a part of it"
)]
mod flags;

#[path = "../../../dflat-codegen/tests/data/required/rust.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the test uses a part of it"
)]
mod required;

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the test uses a part of it"
)]
mod post;
