//! Random workloads on every backend.

use dflat_testkit::fixture::Fixture;
use dflat_testkit::workload::run;

const SEEDS: &str = include_str!("../seeds.txt");

#[test]
fn random_work_in_memory_agrees_with_the_model() {
    run(Fixture::memory, SEEDS);
}

#[test]
fn random_work_on_a_file_agrees_with_the_model() {
    run(Fixture::sqlite, SEEDS);
}
