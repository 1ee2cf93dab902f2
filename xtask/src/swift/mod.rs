//! `cargo xtask swift`: builds the C library, and tests or measures the Swift package.

mod bench;
mod readme;
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::c_library::{self, Choice, Profile};
use crate::workspace;
use toolchain::{Toolchain, toolchain};

/// The text of `cargo xtask swift --help`.
pub const HELP: &str = "\
Builds the C library for tests, and runs the tests of the Swift package, in Swift's language mode 6,
and the program in swift/README.md.

Uses the program `swift` in the PATH. If there is none, the script swift/toolchain puts Swift into
target/swift/toolchain, which downloads packages of Debian and takes 1.2 GB. If that is not
possible, prints the reason, and succeeds.

Usage: cargo xtask swift [--long | --sanitize | --bench [--quick]]

Options:
  --long      in language mode 5, with 10,000 random programs, for up to two hours
  --sanitize  under Swift's thread sanitizer; the C library is not compiled for it
  --bench     measures the scenarios of crates/dflat-bench through Swift, beside Rust
  --quick     with --bench: few objects, to see that everything works
";

/// How long the tests run.
struct Length {
    /// The seconds that the tests and their build may take.
    seconds_max: &'static str,
    /// The language mode.
    mode: &'static str,
    /// The number of random programs.
    programs: &'static str,
    /// Further options of `swift test`.
    options: &'static [&'static str],
}

const SHORT: Length = Length {
    seconds_max: "360",
    mode: "6",
    programs: "200",
    options: &[],
};

const LONG: Length = Length {
    seconds_max: "7200",
    mode: "5",
    programs: "10000",
    options: &[],
};

const SANITIZED: Length = Length {
    seconds_max: "3600",
    mode: "6",
    programs: "50",
    options: &["--sanitize=thread"],
};

/// The folders of a build, and the programs of Swift.
struct Place {
    root: PathBuf,
    /// Cargo's folder.
    target: PathBuf,
    /// The folder of everything that these tasks build.
    folder: PathBuf,
    toolchain: Toolchain,
}

impl Place {
    /// Finds or installs Swift; prints the reason if that is not possible.
    fn new(root: &Path) -> Result<Option<Self>> {
        let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
        let target = PathBuf::from(workspace::text(&metadata["target_directory"]));
        let folder = target.join("swift");
        match toolchain(root, &folder.join("toolchain")) {
            Ok(toolchain) => Ok(Some(Self {
                root: root.to_owned(),
                target,
                folder,
                toolchain,
            })),
            Err(reason) => {
                println!("skipped: {reason}");
                Ok(None)
            }
        }
    }

    /// Builds the C library, and returns its folder.
    fn c_library(&self, profile: Profile) -> Result<PathBuf> {
        let library = self.folder.join(match profile {
            Profile::Debug => "c",
            Profile::Release => "c-release",
        });
        let choice = Choice {
            system_sqlite: true,
            schema: false,
        };
        c_library::install(&self.root, &library, choice, profile)?;
        Ok(library)
    }

    /// A program that finds Swift and the C library.
    fn command(&self, program: &str, library: &Path) -> Command {
        let mut command = self.toolchain.command(program);
        command.env("PKG_CONFIG_PATH", library.join("lib/pkgconfig"));
        command.env("LD_LIBRARY_PATH", library.join("lib"));
        command.current_dir(&self.root);
        command
    }

    /// Builds a program of the workspace, and returns its path. The features are those of the whole
    /// workspace, as in other builds, so that few packages are compiled again.
    fn program(&self, name: &str) -> Result<PathBuf> {
        let mut cargo = workspace::cargo();
        cargo.args(["build", "--workspace", "--bin", name]);
        run_to_end(cargo.current_dir(&self.root), name)?;
        Ok(self.target.join("debug").join(name))
    }
}

/// Runs a command, whose failure is an error.
fn run_to_end(command: &mut Command, name: &str) -> Result<()> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{name} fails: {status}").into())
}

/// Builds the C library, and runs the tests of the Swift package and the program of its README,
/// unless there is no Swift.
///
/// # Errors
/// An error if the library does not compile, or a test fails.
pub fn run(root: &Path) -> Result<()> {
    let Some(place) = Place::new(root)? else {
        return Ok(());
    };
    test(&place, &SHORT)?;
    readme::run(&place)
}

/// As the tests of [`run`], in language mode 5 and with more random programs.
///
/// # Errors
/// As those of [`run`].
pub fn run_long(root: &Path) -> Result<()> {
    Place::new(root)?.map_or(Ok(()), |place| test(&place, &LONG))
}

/// As the tests of [`run`], under the thread sanitizer.
///
/// # Errors
/// As those of [`run`].
pub fn run_sanitized(root: &Path) -> Result<()> {
    Place::new(root)?.map_or(Ok(()), |place| test(&place, &SANITIZED))
}

/// Measures the Swift package beside Rust.
///
/// # Errors
/// An error if something does not compile, or a scenario fails.
pub fn measure(root: &Path, quick: bool) -> Result<()> {
    Place::new(root)?.map_or(Ok(()), |place| bench::run(&place, quick))
}

fn test(place: &Place, length: &Length) -> Result<()> {
    let library = place.c_library(Profile::Debug)?;
    let files = place.program("swift_files")?;
    let mut swift = place.command("timeout", &library);
    swift.args([length.seconds_max, "swift", "test", "--scratch-path"]);
    let kind = length.options.first().map_or("", |_| "-sanitized");
    let build = format!("build{}{kind}", length.mode);
    swift.arg(place.folder.join(build)).args(length.options);
    swift.env("DFLAT_SWIFT_STRICT", length.mode);
    swift.env("DFLAT_SWIFT_PROGRAMS", length.programs);
    swift.env("DFLAT_SWIFT_COMBINE", "1");
    swift.env("DFLAT_SWIFT_FILES", files);
    if !length.options.is_empty() {
        // The first report ends the tests. Tests that end a process by a trap see the variable.
        swift.env("TSAN_OPTIONS", "halt_on_error=1 report_signal_unsafe=0");
        swift.env("DFLAT_SWIFT_SANITIZED", "1");
    }
    run_to_end(&mut swift, "swift test")
}
