//! The programs of Swift: those in the PATH, or else those that swift/toolchain installs.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The seconds that the script may take.
const INSTALLATION_SECONDS_MAX: &str = "300";

/// Where the programs of Swift are.
pub(super) enum Toolchain {
    /// In the PATH.
    Installed,
    /// In a folder that swift/toolchain has made.
    Folder(PathBuf),
}

impl Toolchain {
    /// A program that finds Swift in its PATH.
    pub(super) fn command(&self, program: &str) -> Command {
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
pub(super) fn toolchain(root: &Path, folder: &Path) -> Result<Toolchain, String> {
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
