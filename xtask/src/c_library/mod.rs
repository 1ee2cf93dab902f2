//! `cargo xtask c-library`: builds the C library, and installs it into a folder.

mod symbols;

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, OS};
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::workspace;

/// The text of `cargo xtask c-library --help`.
pub const HELP: &str = "\
Builds the C library in the release profile, and installs it into a folder: the shared library and
the static library, the header, the module map and the file for pkg-config. On Linux, the shared
library is `libdflat_capi.so.1` with a link `libdflat_capi.so`, and both libraries have the symbols
of the header and no others; this needs `ld`, `objcopy`, `ar` and `nm`.

Usage: cargo xtask c-library DIR [--system-sqlite]

Options:
  --system-sqlite  link the system's SQLite, so that a program that uses SQLite has one copy of it
";

/// The crate of the library.
const CRATE: &str = "dflat-capi";

/// The name of the library, as Cargo builds it.
const LIBRARY: &str = "dflat_capi";

/// The version of the interface in the file name of the shared library: `DFLAT_ABI_VERSION`.
const ABI_VERSION: u32 = 1;

/// Builds the library and installs it.
///
/// # Errors
/// An error if the library does not compile, or a file cannot be written.
pub fn run(root: &Path, prefix: &str, system_sqlite: bool) -> Result<()> {
    install(root, Path::new(prefix), system_sqlite, Profile::Release)
}

/// How the library is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Optimized.
    Release,
    /// Not optimized, which compiles faster; for tests.
    Debug,
}

/// Builds the library in a profile, and installs it.
///
/// # Errors
/// As [`run`].
pub fn install(root: &Path, prefix: &Path, system_sqlite: bool, profile: Profile) -> Result<()> {
    let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let target = PathBuf::from(workspace::text(&metadata["target_directory"]));
    let mut cargo = workspace::cargo();
    cargo.args(["rustc", "-p", CRATE, "--lib"]);
    let built = match profile {
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
        Profile::Debug => "debug",
    };
    if system_sqlite {
        cargo.args(["--no-default-features", "--features", "system-sqlite"]);
    }
    if let Some(name) = install_name() {
        cargo.args(["--", "-C", &format!("link-arg={name}")]);
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
    install_libraries(&target.join(built), &libraries)?;
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

/// The linker's argument for the name by which programs find the shared library.
fn install_name() -> Option<String> {
    match OS {
        "linux" => Some(format!("-Wl,-soname,lib{LIBRARY}.so.{ABI_VERSION}")),
        "macos" => Some(format!("-Wl,-install_name,@rpath/lib{LIBRARY}.dylib")),
        _ => None,
    }
}

/// Copies the libraries that Cargo has built.
fn install_libraries(built: &Path, libraries: &Path) -> Result<()> {
    let shared = format!("{DLL_PREFIX}{LIBRARY}{DLL_SUFFIX}");
    let archive = format!("lib{LIBRARY}.a");
    if OS != "linux" {
        for file in [shared, archive] {
            fs::copy(built.join(&file), libraries.join(&file))?;
        }
        return Ok(());
    }
    let versioned = format!("{shared}.{ABI_VERSION}");
    fs::copy(built.join(&shared), libraries.join(&versioned))?;
    let link = libraries.join(&shared);
    if link.symlink_metadata().is_ok() {
        fs::remove_file(&link)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&versioned, &link)?;
    symbols::hide(&built.join(&archive), &libraries.join(&archive))?;
    symbols::check(&libraries.join(&versioned), true)?;
    symbols::check(&libraries.join(&archive), false)
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

    use super::{ABI_VERSION, filled};

    #[test]
    fn shared_library_has_the_version_of_the_header() {
        let header = include_str!("../../../crates/dflat-capi/include/dflat.h");
        let line = format!("#define DFLAT_ABI_VERSION {ABI_VERSION}");
        assert!(header.lines().any(|other| other == line));
    }

    #[test]
    fn file_for_pkg_config_names_the_folder_the_version_and_sqlite() {
        let template = include_str!("../../../crates/dflat-capi/include/dflat.pc.in");
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
