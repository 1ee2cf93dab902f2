//! The laws and workloads on every backend, files that the original wrote, and files that nobody
//! should have written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod backup;
mod costs;
mod declared_indexes;
mod defects;
mod dictionary;
mod disk;
mod durability;
mod elsewhere;
mod evolution;
mod fault_building;
mod fault_calls;
mod fault_free;
mod fault_power;
mod fixtures;
mod foreign;
mod foreign_definitions;
mod foreign_indexes;
mod fuzz_smoke;
mod gaps;
mod group_size;
mod groups;
mod history;
mod hostile;
mod index_states;
mod kill;
mod kill_building;
mod large;
mod made_anew;
mod original;
mod pages;
mod patience;
#[cfg(unix)]
mod read_only;
mod readers;
mod repair;
mod scripted;
mod sharing;
mod steps;
mod stored_schema;
mod subscribing;
mod suspension;
mod telemetry;
mod wire;
mod workload;

dflat_testkit::conformance!(memory, dflat_testkit::fixture::Fixture::memory);
dflat_testkit::conformance!(sqlite, dflat_testkit::fixture::Fixture::sqlite);
