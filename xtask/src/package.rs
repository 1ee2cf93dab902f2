//! `cargo xtask package`: do the published crates compile from their archives?
//!
//! `cargo package` can verify that, but it keeps the sources of crates that depend on each other
//! between runs, as if they were published, and then compiles against old ones. So this task only
//! packs with it, and compiles the unpacked archives as a workspace of their own.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::workspace::{self, Package};

/// Packs every published crate, and compiles the archives.
///
/// # Errors
/// If a crate cannot be packed, or does not compile from its archive.
pub fn run(root: &Path) -> Result<()> {
    let packages = workspace::packages(root)?;
    let published: Vec<_> = packages
        .iter()
        .filter(|package| package.published)
        .collect();
    let metadata = workspace::metadata(root, &["--no-deps", "--offline"])?;
    let target = PathBuf::from(workspace::text(&metadata["target_directory"]));
    pack(root, &published)?;
    let check = target.join("package-check");
    if check.exists() {
        fs::remove_dir_all(&check)?;
    }
    fs::create_dir_all(&check)?;
    let mut folders = Vec::new();
    for package in &published {
        let folder = format!("{}-{}", package.name, package.version);
        let archive = target.join("package").join(format!("{folder}.crate"));
        let mut tar = Command::new("tar");
        // `-m` gives files the current time. All files in an archive have one old time, so Cargo
        // would not notice that they changed since the last run.
        tar.arg("-xzmf").arg(archive).arg("-C").arg(&check);
        succeed(&mut tar)?;
        folders.push((package.name.as_str(), folder));
    }
    fs::write(check.join("Cargo.toml"), manifest(&folders))?;
    fs::copy(root.join("Cargo.lock"), check.join("Cargo.lock"))?;
    let mut cargo = workspace::cargo();
    // The target folder of the repository has the compiled dependencies. The packed crates are
    // other packages than those of the repository to Cargo, because their path differs.
    cargo.args(["check", "--workspace", "--offline", "--target-dir"]);
    succeed(cargo.arg(&target).current_dir(&check))
}

fn pack(root: &Path, packages: &[&Package]) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args([
        "package",
        "--quiet",
        "--no-verify",
        "--offline",
        "--allow-dirty",
    ]);
    for package in packages {
        cargo.args(["-p", &package.name]);
    }
    succeed(cargo.current_dir(root))
}

/// A workspace of the folders, in which each crate finds the others as if they were published.
fn manifest(folders: &[(&str, String)]) -> String {
    let members: Vec<_> = folders
        .iter()
        .map(|(_, folder)| format!("{folder:?}"))
        .collect();
    let mut text = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n",
        members.join(", ")
    );
    text.push_str("\n[profile.dev]\ndebug = \"line-tables-only\"\n");
    text.push_str("\n[profile.dev.package.libsqlite3-sys]\nopt-level = 2\n");
    text.push_str("\n[patch.crates-io]\n");
    for (name, folder) in folders {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name} = {{ path = {folder:?} }}");
    }
    text
}

fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| format!("cannot start `{program}`: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{program}` failed: {status}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::manifest;

    #[test]
    fn packed_crates_find_one_another() {
        let text = manifest(&[("a", "a-1.0.0".to_owned()), ("b", "b-2.0.0".to_owned())]);
        assert!(text.contains("members = [\"a-1.0.0\", \"b-2.0.0\"]"));
        assert!(text.ends_with(
            "[patch.crates-io]\na = { path = \"a-1.0.0\" }\nb = { path = \"b-2.0.0\" }\n"
        ));
    }
}
