//! The laws on files of the system's SQLite.

#[path = "it/sqlite_version.rs"]
mod sqlite_version;

dflat_testkit::conformance!(sqlite, dflat_testkit::fixture::Fixture::sqlite);
