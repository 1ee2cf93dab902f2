//! The laws and workloads on every backend, and files that others wrote.

dflat_testkit::conformance!(memory, dflat_testkit::fixture::Fixture::memory);
dflat_testkit::conformance!(sqlite, dflat_testkit::fixture::Fixture::sqlite);

mod workload;
