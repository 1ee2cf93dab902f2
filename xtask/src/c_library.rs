//! `cargo xtask c-library`: builds the C library, and installs it into a folder.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::workspace;

/// The text of `cargo xtask c-library --help`.
pub const HELP: &str = "\
Builds the C library in the release profile, and installs it into a folder: the shared library and
the static library, the header, the module map and the file for pkg-config.

Usage: cargo xtask c-library DIR [--system-sqlite]

Options:
  --system-sqlite  link the system's SQLite, so that a program that uses SQLite has one copy of it
";

/// The crate of the library.
const CRATE: &str = "dflat-capi";

/// The name of the library, as Cargo builds it.
const LIBRARY: &str = "dflat_capi";

/// Builds the library and installs it.
///
/// # Errors
/// An error if the library does not compile, or a file cannot be written.
pub fn run(root: &Path, prefix: &str, system_sqlite: bool) -> Result<()> {
    let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let target = PathBuf::from(workspace::text(&metadata["target_directory"]));
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "-p", CRATE]);
    if system_sqlite {
        cargo.args(["--no-default-features", "--features", "system-sqlite"]);
    }
    let status = cargo.current_dir(root).status()?;
    if !status.success() {
        return Err(format!("the library does not compile: {status}").into());
    }
    fs::create_dir_all(prefix)?;
    let prefix = fs::canonicalize(prefix)?;
    let (libraries, headers) = (prefix.join("lib"), prefix.join("include"));
    let package_config = libraries.join("pkgconfig");
    fs::create_dir_all(&package_config)?;
    fs::create_dir_all(&headers)?;
    let shared = format!("{DLL_PREFIX}{LIBRARY}{DLL_SUFFIX}");
    for file in [shared, format!("lib{LIBRARY}.a")] {
        fs::copy(target.join("release").join(&file), libraries.join(&file))?;
    }
    let sources = root.join("crates").join(CRATE).join("include");
    for file in ["dflat.h", "module.modulemap"] {
        fs::copy(sources.join(file), headers.join(file))?;
    }
    let template = fs::read_to_string(sources.join("dflat.pc.in"))?;
    let packages = workspace::packages(root)?;
    let version = packages.iter().find(|package| package.name == CRATE);
    let version = version.map_or("", |package| &package.version);
    let text = filled(&template, &prefix, version, system_sqlite);
    fs::write(package_config.join("dflat.pc"), text)?;
    println!("the C library is in {}", prefix.display());
    Ok(())
}

/// The file for pkg-config.
fn filled(template: &str, prefix: &Path, version: &str, system_sqlite: bool) -> String {
    let required = if system_sqlite { "sqlite3" } else { "" };
    template
        .replace("@PREFIX@", &prefix.display().to_string())
        .replace("@VERSION@", version)
        .replace("@REQUIRES@", required)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::filled;

    #[test]
    fn file_for_pkg_config_names_the_folder_the_version_and_sqlite() {
        let template = include_str!("../../crates/dflat-capi/include/dflat.pc.in");
        let text = filled(template, Path::new("/opt/dflat"), "1.2.3", true);
        for line in [
            "prefix=/opt/dflat",
            "Version: 1.2.3",
            "Requires.private: sqlite3",
            "Libs: -L${libdir} -ldflat_capi",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}");
        }
        assert!(!text.contains('@'));
    }
}
