//! `cargo xtask package`: do the published crates compile from their archives, do their doc tests
//! pass there, and do the archives have what a reader of crates.io needs?
//!
//! `cargo package` can verify that. But between runs it keeps the sources of crates that depend on
//! each other, as if they were published, and later compiles against old sources. So this task uses
//! `cargo package` for packing only, and compiles the unpacked archives as a separate workspace.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::workspace::{self, Package};

/// The files that every archive has. A licence is equal to that of the repository.
const FILES: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The keys of a manifest that crates.io and docs.rs show or use.
const KEYS: [&str; 6] = [
    "description",
    "documentation",
    "license",
    "readme",
    "repository",
    "metadata.docs.rs",
];

/// Packs every published crate, compiles the archives, and runs their doc tests.
///
/// # Errors
/// An error if a crate cannot be packed, lacks a file or a key of its manifest, does not compile
/// from its archive, or fails a doc test there.
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
        check_contents(root, &check.join(&folder), &package.name)?;
        folders.push((package.name.as_str(), folder));
    }
    let profiles = profiles(&fs::read_to_string(root.join("Cargo.toml"))?);
    fs::write(check.join("Cargo.toml"), manifest(&folders, &profiles))?;
    fs::copy(root.join("Cargo.lock"), check.join("Cargo.lock"))?;
    let mut cargo = workspace::cargo();
    // The target folder of the repository has the compiled dependencies. The packed crates are
    // other packages than those of the repository to Cargo, because their path differs.
    cargo.args(["check", "--workspace", "--offline", "--target-dir"]);
    succeed(cargo.arg(&target).current_dir(&check))?;
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--doc", "--workspace", "--offline", "--quiet"]);
    cargo.arg("--target-dir").arg(&target);
    succeed(cargo.current_dir(&check))
}

/// Checks the files and the manifest of an unpacked archive.
fn check_contents(root: &Path, folder: &Path, name: &str) -> Result<()> {
    for file in FILES {
        let packed = fs::read(folder.join(file))
            .map_err(|error| format!("the archive of `{name}` has no {file}: {error}"))?;
        if file.starts_with("LICENSE") && packed != fs::read(root.join(file))? {
            let message = format!("{file} of `{name}` differs from that of the repository");
            return Err(message.into());
        }
    }
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
    if name == "dflat" && has_placeholder(&manifest) {
        println!("note: `repository` is a placeholder; a release needs the real address");
    }
    match KEYS.iter().find(|key| !has_key(&manifest, key)) {
        Some(key) => Err(format!("the manifest of `{name}` has no `{key}`").into()),
        None => Ok(()),
    }
}

/// Whether the address of the repository is under a name that nobody can own.
fn has_placeholder(manifest: &str) -> bool {
    let mut lines = manifest.lines();
    lines.any(|line| line.starts_with("repository = ") && line.contains(".example/"))
}

/// Whether a manifest that Cargo wrote has a key or a table of its package.
fn has_key(manifest: &str, key: &str) -> bool {
    manifest.lines().any(|line| {
        let found = line.split_once(" = ").map(|(found, _)| found);
        found == Some(key) || line == format!("[package.{key}]")
    })
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

/// The profiles for development of the dependencies in a manifest. With the same profiles, the
/// archives are compiled with the dependencies that the repository has compiled. The packed crates
/// are compiled anew, and not optimised.
fn profiles(manifest: &str) -> String {
    let mut is_profile = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            let is_packed = line.contains(".package.dflat-");
            is_profile = line.starts_with("[profile.dev") && !is_packed;
        }
        is_profile && !line.starts_with('#')
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// A workspace of the folders, in which each crate finds the others as if they were published.
fn manifest(folders: &[(&str, String)], profiles: &str) -> String {
    let members: Vec<_> = folders
        .iter()
        .map(|(_, folder)| format!("{folder:?}"))
        .collect();
    let mut text = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n",
        members.join(", ")
    );
    text.push('\n');
    text.push_str(profiles);
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
    use super::{has_key, manifest, profiles};

    #[test]
    fn keys_and_tables_of_a_packed_manifest_are_found() {
        let text = "[package]\nreadme = \"README.md\"\n\n[package.metadata.docs.rs]\na = 1\n";
        assert!(has_key(text, "readme") && has_key(text, "metadata.docs.rs"));
        assert!(!has_key(text, "read") && !has_key(text, "documentation"));
    }

    #[test]
    fn archives_are_compiled_with_the_profiles_for_development() {
        let text = "[package]\na = 1\n# One.\n[profile.dev]\nb = 2\n\n# Two.\n\
                    [profile.dev.package.c]\nd = 3\n\
                    [profile.dev.package.dflat-engine]\nd = 4\n[profile.release]\ne = 4\n";
        let kept = "[profile.dev]\nb = 2\n\n[profile.dev.package.c]\nd = 3\n";
        assert_eq!(profiles(text), kept);
    }

    #[test]
    fn packed_crates_find_one_another() {
        let folders = [("a", "a-1.0.0".to_owned()), ("b", "b-2.0.0".to_owned())];
        let text = manifest(&folders, "[profile.dev]\ndebug = 1\n");
        assert!(text.contains("\n[profile.dev]\ndebug = 1\n"));
        assert!(text.contains("members = [\"a-1.0.0\", \"b-2.0.0\"]"));
        assert!(text.ends_with(
            "[patch.crates-io]\na = { path = \"a-1.0.0\" }\nb = { path = \"b-2.0.0\" }\n"
        ));
    }
}
