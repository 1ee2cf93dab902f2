//! The version of SQLite that the tests run on.

/// `cargo xtask system-sqlite` sets the variable to the version that `pkg-config` tells. Without
/// the variable, this test checks nothing.
#[test]
fn sqlite_is_the_one_that_the_task_names() {
    if let Some(version) = std::env::var_os("DFLAT_SYSTEM_SQLITE") {
        assert_eq!(version, rusqlite::version());
    }
}
