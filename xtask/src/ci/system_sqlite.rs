//! `cargo xtask system-sqlite`: the laws of the storage, and the tests of the backend and of the C
//! library, with the system's SQLite in place of the one that is compiled in.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::workspace;

/// The text of `cargo xtask system-sqlite --help`.
pub const HELP: &str = "\
Runs the laws that every backend obeys, and the tests of the SQLite backend and of the C library,
with the system's SQLite, which `pkg-config` must find, and prints its version.

Usage: cargo xtask system-sqlite [--all]

Options:
  --all  also run all other tests of `dflat-testkit` but the faults and the fuzzers; this compiles
         most crates once more
";

/// The tests of the backend and of the C library.
const TESTS: &str = "test -p dflat-sqlite -p dflat-capi --no-default-features \
                     --features dflat-capi/system-sqlite";

/// The laws.
const LAWS: &str = "test -p dflat-testkit --test laws --no-default-features \
                    --features system-sqlite";

/// The laws, and the tests beside them.
const ALL: &str = "test -p dflat-testkit --test it -- --skip fault --skip fuzz_smoke";

/// The folder of the build of all tests, in which `libsqlite3-sys` links the system's library.
const ALL_FOLDER: &str = "target/system-sqlite";

/// Functions of SQLite 3.38 and 3.44, which `rusqlite` names and which the tests do without.
const NEWER_FUNCTIONS: &str = "\
int sqlite3_set_clientdata(void *db, const char *name, void *data, void (*drop)(void *)) {
    return 0;
}
void *sqlite3_get_clientdata(void *db, const char *name) {
    return 0;
}
int sqlite3_error_offset(void *db) {
    return -1;
}
";

/// The version of SQLite that has all functions that `rusqlite` names.
const COMPLETE: [u32; 2] = [3, 44];

/// Runs the laws, and the tests of the backend and of the C library.
///
/// # Errors
/// An error if a test fails, or if there is no SQLite.
pub fn tests(root: &Path) -> Result<()> {
    println!("SQLite {}", version()?);
    cargo(root, TESTS, &[])?;
    cargo(root, LAWS, &[])
}

/// Runs these tests, and all other tests of the test kit.
///
/// # Errors
/// As [`tests`].
pub fn all(root: &Path) -> Result<()> {
    tests(root)?;
    let folder = root.join(ALL_FOLDER);
    fs::create_dir_all(&folder)?;
    let mut variables = vec![
        ("LIBSQLITE3_SYS_USE_PKG_CONFIG", "1".to_owned()),
        ("CARGO_TARGET_DIR", folder.display().to_string()),
    ];
    if !is_complete(&version()?) {
        let (source, object) = (folder.join("newer.c"), folder.join("newer.o"));
        fs::write(&source, NEWER_FUNCTIONS)?;
        let mut cc = Command::new("cc");
        cc.arg("-c").arg(&source).arg("-o").arg(&object);
        let status = cc.status()?;
        if !status.success() {
            return Err(format!("{cc:?}: {status}").into());
        }
        let flag = format!("-Clink-arg={}", object.display());
        variables.push(("RUSTFLAGS", flag));
    }
    cargo(root, ALL, &variables)
}

fn cargo(root: &Path, line: &str, variables: &[(&str, String)]) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(line.split(' ')).current_dir(root);
    cargo.env("DFLAT_SYSTEM_SQLITE", version()?);
    for (name, value) in variables {
        cargo.env(name, value);
    }
    match cargo.status()? {
        status if status.success() => Ok(()),
        status => Err(format!("`cargo {line}` failed: {status}").into()),
    }
}

/// The version of the system's SQLite.
fn version() -> Result<String> {
    let output = Command::new("pkg-config")
        .args(["--modversion", "sqlite3"])
        .output()
        .map_err(|error| format!("cannot run pkg-config: {error}"))?;
    if !output.status.success() {
        return Err("pkg-config finds no sqlite3".into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a version has all functions that `rusqlite` names.
fn is_complete(version: &str) -> bool {
    let numbers = version.split('.').map(str::parse::<u32>);
    let numbers: Vec<u32> = numbers.map_while(std::result::Result::ok).take(2).collect();
    numbers.as_slice() >= COMPLETE.as_slice()
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    use super::is_complete;

    /// The build script of the backend, run as Cargo runs it beside a system's SQLite.
    #[cfg(unix)]
    #[test]
    fn a_build_beside_an_older_sqlite_fails() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("build");
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../crates/dflat-sqlite/build.rs"
        );
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", source, "-o"]).arg(&script);
        assert!(rustc.status().unwrap().success());
        let printed = |version: &str, bundled: bool| {
            let program = folder.path().join("pkg-config");
            fs::write(&program, format!("#!/bin/sh\necho {version}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
            let mut build = Command::new(&script);
            build.env_clear().env("PKG_CONFIG", &program);
            build.envs([("HOST", "one"), ("TARGET", "one")]);
            if bundled {
                build.env("CARGO_FEATURE_BUNDLED", "1");
            }
            let output = build.current_dir(folder.path()).output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        };
        // Cargo fails a build whose script prints such a line.
        let refuses = |text: &str| text.contains("cargo::error=the system's SQLite has the");
        assert!(refuses(&printed("3.36.0", false)));
        assert!(!refuses(&printed("3.37.0", false)));
        assert!(!refuses(&printed("3.36.0", true)));
    }

    #[test]
    fn older_versions_lack_functions_of_rusqlite() {
        assert!(!is_complete("3.37.2") && !is_complete("3.40.1") && !is_complete("unknown"));
        assert!(is_complete("3.44.0") && is_complete("3.54.1") && is_complete("4.0"));
    }
}
