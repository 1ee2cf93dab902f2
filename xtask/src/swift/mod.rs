//! `cargo xtask swift`: builds the C library, and runs the tests of the Swift package.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::c_library::{self, Profile};
use crate::workspace;

/// The text of `cargo xtask swift --help`.
pub const HELP: &str = "\
Builds the C library for tests, and runs the tests of the Swift package, in Swift's language mode 6.

Uses the program `swift` in the PATH. If there is none, the script swift/toolchain puts Swift into
target/swift/toolchain, which downloads packages of Debian and takes 1.2 GB. If that is not
possible, prints the reason, and succeeds.

Usage: cargo xtask swift [--long]

Options:
  --long  in language mode 5, with 10,000 random programs, for up to two hours
";

/// The seconds that the script may take.
const INSTALLATION_SECONDS_MAX: &str = "300";

/// How long the tests run.
struct Length {
    /// The seconds that the tests and their build may take.
    seconds_max: &'static str,
    /// The language mode.
    mode: &'static str,
    /// The number of random programs.
    programs: &'static str,
}

const SHORT: Length = Length {
    seconds_max: "360",
    mode: "6",
    programs: "200",
};

const LONG: Length = Length {
    seconds_max: "7200",
    mode: "5",
    programs: "10000",
};

/// Builds the C library, and runs the tests of the Swift package, unless there is no Swift.
///
/// # Errors
/// An error if the library does not compile, or a test fails.
pub fn run(root: &Path) -> Result<()> {
    test(root, &SHORT)
}

/// As [`run`], in language mode 5 and with more random programs.
///
/// # Errors
/// As those of [`run`].
pub fn run_long(root: &Path) -> Result<()> {
    test(root, &LONG)
}

fn test(root: &Path, length: &Length) -> Result<()> {
    let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let folder = PathBuf::from(workspace::text(&metadata["target_directory"])).join("swift");
    let toolchain = match toolchain(root, &folder.join("toolchain")) {
        Ok(toolchain) => toolchain,
        Err(reason) => {
            println!("skipped: {reason}");
            return Ok(());
        }
    };
    let library = folder.join("c");
    c_library::install(root, &library, true, Profile::Debug)?;
    let mut swift = toolchain.command("timeout");
    swift.args([length.seconds_max, "swift", "test", "--scratch-path"]);
    let build = format!("build{}", length.mode);
    swift.arg(folder.join(build)).current_dir(root);
    swift.env("PKG_CONFIG_PATH", library.join("lib/pkgconfig"));
    swift.env("LD_LIBRARY_PATH", library.join("lib"));
    swift.env("DFLAT_SWIFT_STRICT", length.mode);
    swift.env("DFLAT_SWIFT_PROGRAMS", length.programs);
    swift.env("DFLAT_SWIFT_COMBINE", "1");
    let status = swift.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("tests of the Swift package fail: {status}").into())
    }
}

/// Where the programs of Swift are.
enum Toolchain {
    /// In the PATH.
    Installed,
    /// In a folder that swift/toolchain has made.
    Folder(PathBuf),
}

impl Toolchain {
    /// A program that finds Swift in its PATH.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let Self::Folder(folder) = self else {
            return command;
        };
        let programs = folder.join("usr/libexec/swift/bin");
        let others = env::var_os("PATH").unwrap_or_default();
        let paths = [programs].into_iter().chain(env::split_paths(&others));
        if let Ok(paths) = env::join_paths(paths) {
            command.env("PATH", paths);
        }
        command.env("SDKROOT", folder);
        command
    }
}

/// Finds Swift or puts it into a folder, or returns the reason why that is not possible.
fn toolchain(root: &Path, folder: &Path) -> std::result::Result<Toolchain, String> {
    let sqlite = Command::new("pkg-config")
        .args(["--exists", "sqlite3"])
        .status();
    if !sqlite.is_ok_and(|status| status.success()) {
        return Err("pkg-config finds no sqlite3".to_owned());
    }
    let installed = Command::new("swift")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if installed.is_ok_and(|status| status.success()) {
        return Ok(Toolchain::Installed);
    }
    let script = root.join("swift/toolchain");
    let output = Command::new("timeout")
        .arg(INSTALLATION_SECONDS_MAX)
        .arg(script)
        .arg(folder)
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(Toolchain::Folder(folder.to_owned())),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().last().unwrap_or("it printed nothing");
            Err(format!(
                "swift/toolchain ends with {}: {last}",
                output.status
            ))
        }
        Err(error) => Err(format!("swift/toolchain cannot run: {error}")),
    }
}
