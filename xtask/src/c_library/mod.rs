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
of the header and no others, and no debug information; this needs `ld`, `objcopy`, `ar` and `nm`.

Usage: cargo xtask c-library DIR [--system-sqlite] [--schema]

Options:
  --system-sqlite  link the system's SQLite, so that a program that uses SQLite has one copy of it
  --schema         also install the library of `dflat_schema.h`, which compiles schemas while the
                   program runs
";

/// A library, by the files that describe it.
struct Library {
    package: &'static str,
    /// Its name, as Cargo builds it.
    name: &'static str,
    /// The version of the interface in the file name of the shared library: that of the header.
    abi_version: u32,
    header: &'static str,
    /// The file for pkg-config.
    config: &'static str,
}

/// The library that each installation has.
const MAIN: Library = Library {
    package: "dflat-capi",
    name: "dflat_capi",
    abi_version: 1,
    header: "dflat.h",
    config: "dflat.pc",
};

/// The schema compiler.
const SCHEMA: Library = Library {
    package: "dflat-capi-schema",
    name: "dflat_capi_schema",
    abi_version: 1,
    header: "dflat_schema.h",
    config: "dflat_schema.pc",
};

/// The parts of an installation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Whether to link the system's SQLite.
    pub system_sqlite: bool,
    /// Whether to build the schema compiler too.
    pub schema: bool,
}

impl Choice {
    /// The choice of some options.
    ///
    /// # Errors
    /// An error that names an unknown option.
    pub fn of(options: &[&str]) -> Result<Self> {
        let mut choice = Self::default();
        for option in options {
            match *option {
                "--system-sqlite" => choice.system_sqlite = true,
                "--schema" => choice.schema = true,
                other => return Err(format!("unknown option: {other}\n\n{HELP}").into()),
            }
        }
        Ok(choice)
    }
}

/// Builds the libraries and installs them.
///
/// # Errors
/// An error if a library does not compile, or a file cannot be written.
pub fn run(root: &Path, prefix: &str, options: &[&str]) -> Result<()> {
    install(
        root,
        Path::new(prefix),
        Choice::of(options)?,
        Profile::Release,
    )
}

/// How a library is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Optimized.
    Release,
    /// Not optimized, which compiles faster; for tests.
    Debug,
}

/// Builds the libraries in a profile, and installs them.
///
/// # Errors
/// As [`run`].
pub fn install(root: &Path, prefix: &Path, choice: Choice, profile: Profile) -> Result<()> {
    fs::create_dir_all(prefix)?;
    let prefix = fs::canonicalize(prefix)?;
    let (libraries, headers) = (prefix.join("lib"), prefix.join("include"));
    let package_config = libraries.join("pkgconfig");
    fs::create_dir_all(&package_config)?;
    fs::create_dir_all(&headers)?;
    let packages = workspace::packages(root)?;
    let mut module_map = String::new();
    let schema = choice.schema.then_some(SCHEMA);
    for library in [MAIN].into_iter().chain(schema) {
        let features = library.package == MAIN.package && choice.system_sqlite;
        let built = build(root, &library, features, profile)?;
        install_libraries(&library, &built, &libraries)?;
        let sources = root.join("crates").join(library.package).join("include");
        fs::copy(sources.join(library.header), headers.join(library.header))?;
        module_map += &fs::read_to_string(sources.join("module.modulemap"))?;
        let template = fs::read_to_string(sources.join(format!("{}.in", library.config)))?;
        let version = packages.iter().find(|other| other.name == library.package);
        let version = version.map_or("", |package| &package.version);
        let text = filled(&template, &prefix, version, choice.system_sqlite);
        fs::write(package_config.join(library.config), text)?;
    }
    fs::write(headers.join("module.modulemap"), module_map)?;
    println!("the C library is in {}", prefix.display());
    Ok(())
}

/// Builds a library, and returns the folder that Cargo leaves it in.
fn build(root: &Path, library: &Library, system_sqlite: bool, profile: Profile) -> Result<PathBuf> {
    let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let target = PathBuf::from(workspace::text(&metadata["target_directory"]));
    let mut cargo = workspace::cargo();
    cargo.args(["rustc", "-p", library.package, "--lib"]);
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
    if let Some(name) = install_name(library) {
        cargo.args(["--", "-C", &format!("link-arg={name}")]);
    }
    let status = cargo.current_dir(root).status()?;
    if !status.success() {
        let package = library.package;
        return Err(format!("the library of `{package}` does not compile: {status}").into());
    }
    Ok(target.join(built))
}

/// The linker's argument for the name by which programs find the shared library.
fn install_name(library: &Library) -> Option<String> {
    let Library {
        name, abi_version, ..
    } = library;
    match OS {
        "linux" => Some(format!("-Wl,-soname,lib{name}.so.{abi_version}")),
        "macos" => Some(format!("-Wl,-install_name,@rpath/lib{name}.dylib")),
        _ => None,
    }
}

/// Copies the libraries that Cargo has built.
fn install_libraries(library: &Library, built: &Path, libraries: &Path) -> Result<()> {
    let shared = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", library.name);
    let archive = format!("lib{}.a", library.name);
    if OS != "linux" {
        for file in [shared, archive] {
            fs::copy(built.join(&file), libraries.join(&file))?;
        }
        return Ok(());
    }
    let versioned = format!("{shared}.{}", library.abi_version);
    symbols::strip(&built.join(&shared), &libraries.join(&versioned))?;
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

    use super::{Choice, Library, MAIN, SCHEMA, filled};

    #[test]
    fn shared_libraries_have_the_versions_of_their_headers() {
        let check = |library: &Library, header: &str, name: &str| {
            let line = format!("#define {name} {}", library.abi_version);
            assert!(header.lines().any(|other| other == line), "{line}");
        };
        let header = include_str!("../../../crates/dflat-capi/include/dflat.h");
        check(&MAIN, header, "DFLAT_ABI_VERSION");
        let header = include_str!("../../../crates/dflat-capi-schema/include/dflat_schema.h");
        check(&SCHEMA, header, "DFLAT_SCHEMA_ABI_VERSION");
    }

    #[test]
    fn files_for_pkg_config_name_the_folder_the_version_and_sqlite() {
        let check = |template: &str, lines: &[&str]| {
            let text = filled(template, Path::new("/opt/dflat"), "1.2.3", true);
            for line in ["prefix=/opt/dflat", "Version: 1.2.3"].iter().chain(lines) {
                assert!(text.lines().any(|other| other == *line), "{line}");
            }
            assert!(!text.contains('@'));
        };
        check(
            include_str!("../../../crates/dflat-capi/include/dflat.pc.in"),
            &[
                "Requires.private: sqlite3",
                "Libs: -L${libdir} -ldflat_capi",
            ],
        );
        check(
            include_str!("../../../crates/dflat-capi-schema/include/dflat_schema.pc.in"),
            &["Requires: dflat", "Libs: -L${libdir} -ldflat_capi_schema"],
        );
    }

    #[test]
    fn options_may_be_in_any_order() {
        let all = Choice {
            system_sqlite: true,
            schema: true,
        };
        assert_eq!(Choice::of(&["--schema", "--system-sqlite"]).unwrap(), all);
        assert_eq!(Choice::of(&[]).unwrap(), Choice::default());
        assert!(Choice::of(&["--sqlite"]).is_err());
    }
}
