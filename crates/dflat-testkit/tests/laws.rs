//! The laws on files of the system's SQLite.

dflat_testkit::conformance!(sqlite, dflat_testkit::fixture::Fixture::sqlite);

/// `cargo xtask system-sqlite` sets the variable to the version that `pkg-config` tells.
#[test]
fn sqlite_is_the_one_of_the_system() {
    if let Some(version) = std::env::var_os("DFLAT_SYSTEM_SQLITE") {
        assert_eq!(version, rusqlite::version());
    }
}
