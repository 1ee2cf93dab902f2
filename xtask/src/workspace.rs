//! The repository on disk: its files, and its packages as Cargo reports them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;

/// A text file of the repository.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path, relative to the root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl File {
    /// Whether the file has this extension.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension() == Some(OsStr::new(extension))
    }

    /// Whether the file is data of a test: its input or its expected output.
    pub fn is_test_data(&self) -> bool {
        self.path.contains("/tests/data/") || self.path.contains("/tests/ui/")
    }

    /// Whether the file is code of tests only.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// Whether a program wrote it.
    pub fn is_generated(&self) -> bool {
        self.text
            .lines()
            .take(5)
            .any(|line| line.contains("@generated"))
    }
}

/// The root of the repository that Cargo runs this program for. The path is not compiled in,
/// because checkouts that share a target directory share the program.
pub fn root() -> PathBuf {
    let run_in = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = run_in.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    here.parent().unwrap_or(&here).to_owned()
}

/// The text files that Git tracks or would track; without Git, all but hidden and built ones.
///
/// # Errors
/// An error if a directory can't be read.
pub fn files(root: &Path) -> Result<Vec<File>> {
    let mut paths = tracked(root).map_or_else(|| walk(root), Ok)?;
    paths.sort();
    paths.dedup();
    let read = |path: String| {
        let text = fs::read_to_string(root.join(&path)).ok()?;
        Some(File { path, text })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<_> = text.split_terminator('\0').map(str::to_owned).collect();
    (!paths.is_empty()).then_some(paths)
}

fn walk(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if name == "target" || name == ".git" {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                paths.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(paths)
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is to be published.
    pub published: bool,
    /// The packages that it depends on.
    pub dependencies: Vec<Dependency>,
}

/// A dependency of a package.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The name of the package that is depended on.
    pub name: String,
    /// The targets that need it.
    pub kind: DependencyKind,
    /// Whether it lies outside the workspace.
    pub external: bool,
}

/// The targets of a package that need a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyKind {
    /// The package itself.
    Normal,
    /// Its build script.
    Build,
    /// Its tests and examples.
    Development,
}

/// The packages of the workspace, by name. Reads manifests only: no registry is needed.
///
/// # Errors
/// An error if Cargo can't be run or rejects a manifest.
pub fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = metadata(root, &["--no-deps", "--offline"])?;
    let mut packages: Vec<_> = elements(&metadata["packages"]).map(package).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// The output of `cargo metadata`.
///
/// # Errors
/// An error if Cargo can't be run, rejects a manifest or lacks a package.
pub fn metadata(root: &Path, options: &[&str]) -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1"])
        .args(options)
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cargo metadata failed:\n{text}").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The Cargo that runs this program, without the variables of this package. Some build scripts run
/// anew when such a variable differs from that of the build before.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// The elements of a JSON array; none if it is not one.
pub fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text of a JSON string; empty if it is not one.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn package(value: &Value) -> Package {
    Package {
        name: text(&value["name"]),
        version: text(&value["version"]),
        published: value["publish"] != Value::Array(Vec::new()),
        dependencies: elements(&value["dependencies"]).map(dependency).collect(),
    }
}

fn dependency(value: &Value) -> Dependency {
    let kind = match value["kind"].as_str() {
        None => DependencyKind::Normal,
        Some("build") => DependencyKind::Build,
        Some(_) => DependencyKind::Development,
    };
    Dependency {
        name: text(&value["name"]),
        kind,
        external: value["path"].is_null(),
    }
}
