//! Refuses to link a system's SQLite that is too old.
//!
//! If the version cannot be found here, the check at the opening of a file remains.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::version::Version;

#[path = "src/ffi/version.rs"]
mod version;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/ffi/version.rs");
    let variables = [
        "LIBSQLITE3_SYS_USE_PKG_CONFIG",
        "SQLITE3_LIB_DIR",
        "SQLITE3_INCLUDE_DIR",
        "PKG_CONFIG",
        "PKG_CONFIG_PATH",
    ];
    for variable in variables {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // The crate `libsqlite3-sys` decides in the same way.
    let uses_system = env::var_os("LIBSQLITE3_SYS_USE_PKG_CONFIG").is_some_and(|set| set != "0");
    let is_bundled = env::var_os("CARGO_FEATURE_BUNDLED").is_some() && !uses_system;
    let is_native = env::var_os("HOST") == env::var_os("TARGET");
    let has_folder = env::var_os("SQLITE3_LIB_DIR").is_some();
    if is_bundled || !(is_native || has_folder) {
        return;
    }
    let found = if has_folder {
        version_of_header()
    } else {
        version_of_package()
    };
    if let Some(refusal) = found.and_then(Version::refusal) {
        println!("cargo::error={refusal}: compile SQLite in by the feature `bundled`");
    }
}

/// The version that `pkg-config` tells.
fn version_of_package() -> Option<Version> {
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let output = Command::new(program)
        .args(["--modversion", "sqlite3"])
        .output()
        .ok()?;
    Version::parse(&String::from_utf8(output.stdout).ok()?)
}

/// The version in the header of the library in a folder.
fn version_of_header() -> Option<Version> {
    let folder = env::var_os("SQLITE3_INCLUDE_DIR")?;
    let path = Path::new(&folder).join("sqlite3.h");
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("#define SQLITE_VERSION "))?;
    Version::parse(line.trim().trim_matches('"'))
}
