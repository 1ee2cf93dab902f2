//! Tests and programs of the workspace, run from one build.
//!
//! `cargo test -p A` and `cargo run -p B` turn on the features that the dependencies of this one
//! package need. Each such command compiles most dependencies once more, SQLite among them. So
//! [`Build::new`] compiles all tests and programs with one command, and
//! [`run`](super::side_by_side::run) starts the programs as `cargo test` and `cargo run` would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::ci::Invocation;
use crate::workspace;

/// The command that compiles everything that a [`Selection`] runs.
pub const COMMAND: &str = "cargo build --workspace --tests --bins";

/// Some of the tests or programs of the workspace.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Whether to run tests or a program.
    pub kind: Kind,
    /// The package; `None` for all packages except the excluded ones.
    pub package: Option<&'static str>,
    /// Packages whose tests are not run.
    pub excluded: Vec<&'static str>,
    /// The arguments of each program.
    pub arguments: &'static str,
    /// Variables that are added to the environment.
    pub environment: Vec<(&'static str, &'static str)>,
}

/// Whether a [`Selection`] runs tests or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unit tests and integration tests, without those in documentation.
    Tests,
    /// The program that is named like its package.
    Program,
}

impl Selection {
    /// The command of Cargo that runs the same selection, with a build of its own.
    pub fn invocation(&self) -> Invocation {
        let mut line = match self.kind {
            Kind::Tests => "cargo test".to_owned(),
            Kind::Program => "cargo run --quiet".to_owned(),
        };
        match self.package {
            Some(package) => line += &format!(" -p {package}"),
            None => line += " --workspace",
        }
        for package in &self.excluded {
            line += &format!(" --exclude {package}");
        }
        if !self.arguments.is_empty() {
            line += &format!(" -- {}", self.arguments);
        }
        let with = |line: Invocation, &(name, value): &(_, _)| line.with(name, value);
        let variables = self.environment.iter();
        variables.fold(Invocation::new(&line), with)
    }

    pub(super) fn selects(&self, program: &Program) -> bool {
        let name = program.package.as_str();
        let wanted = self.package.is_none_or(|package| package == name);
        let is_kind = match self.kind {
            Kind::Tests => program.is_test,
            Kind::Program => !program.is_test && program.target == name,
        };
        wanted && is_kind && !self.excluded.contains(&name)
    }

    /// Tests run in the folder of their package and know it, as under `cargo test`.
    pub(super) fn command(&self, root: &Path, program: &Program) -> Command {
        let mut command = Command::new(&program.path);
        let folder = match self.kind {
            Kind::Tests => program.folder.as_path(),
            Kind::Program => root,
        };
        command
            .args(self.arguments.split_ascii_whitespace())
            .envs(self.environment.iter().copied())
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .env("CARGO_PKG_NAME", &program.package)
            .env("CARGO_PKG_VERSION", &program.version)
            .current_dir(folder);
        command
    }
}

/// The programs that [`COMMAND`] has made.
#[derive(Debug)]
pub struct Build {
    pub(super) programs: Vec<Program>,
}

/// A program of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) package: String,
    pub(super) version: String,
    pub(super) target: String,
    pub(super) is_test: bool,
    pub(super) path: PathBuf,
    /// The folder of its package.
    pub(super) folder: PathBuf,
}

impl Build {
    /// Compiles the workspace at `root`. Crates that are up to date are not compiled again.
    ///
    /// # Errors
    /// An error if a crate does not compile.
    pub fn new(root: &Path) -> Result<Self> {
        let words = COMMAND.split(' ').skip(1);
        let output = workspace::cargo()
            .args(words)
            .arg("--message-format=json-render-diagnostics")
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("`{COMMAND}` failed: {}", output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        let mut programs: Vec<_> = text.lines().filter_map(program).collect();
        // Cargo reports them in the order in which they were compiled.
        programs.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
        Ok(Self { programs })
    }
}

/// The program that a line of Cargo's messages reports, if it reports one.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message["executable"].as_str()?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let (package, version) = package(message["package_id"].as_str()?)?;
    Some(Program {
        package,
        version,
        target: workspace::text(&message["target"]["name"]),
        is_test: message["profile"]["test"].as_bool()?,
        path: path.into(),
        folder: manifest.parent()?.to_owned(),
    })
}

/// The name and version in an id such as `path+file:///a/crates/b#0.1.0` or `..#name@0.1.0`.
fn package(id: &str) -> Option<(String, String)> {
    let (folder, rest) = id.split_once('#')?;
    let name = folder.rsplit('/').next()?;
    let (name, version) = rest.split_once('@').unwrap_or((name, rest));
    Some((name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Kind, Program, Selection, package, program};

    fn selection(kind: Kind, package: Option<&'static str>) -> Selection {
        Selection {
            kind,
            package,
            excluded: vec!["c"],
            arguments: "--skip fault",
            environment: vec![("FLAG", "1")],
        }
    }

    fn made(package: &str, target: &str, is_test: bool) -> Program {
        Program {
            package: package.to_owned(),
            version: String::new(),
            target: target.to_owned(),
            is_test,
            path: "no-such-program".into(),
            folder: ".".into(),
        }
    }

    #[test]
    fn a_selection_is_repeated_by_a_command_of_cargo() {
        let line = |kind, package| selection(kind, package).invocation().shell_line();
        assert_eq!(
            line(Kind::Tests, None),
            "FLAG=1 cargo test --workspace --exclude c -- --skip fault"
        );
        assert_eq!(
            line(Kind::Program, Some("a")),
            "FLAG=1 cargo run --quiet -p a --exclude c -- --skip fault"
        );
    }

    #[test]
    fn programs_are_selected_by_package_and_kind() {
        let programs = [
            made("a", "it", true),
            made("a", "a", false),
            made("a", "other", false),
            made("c", "it", true),
        ];
        let selected = |kind, package| {
            let selection = selection(kind, package);
            let of = programs.iter().filter(|made| selection.selects(made));
            of.map(|made| made.target.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(selected(Kind::Tests, None), ["it"]);
        assert_eq!(selected(Kind::Tests, Some("b")), [""; 0]);
        assert_eq!(selected(Kind::Program, Some("a")), ["a"]);
    }

    #[test]
    fn messages_of_cargo_name_programs() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///x/crates/a#0.1.0",
            "manifest_path":"/x/crates/a/Cargo.toml","target":{"name":"it"},
            "profile":{"test":true},"executable":"/x/target/debug/deps/it-1"}"#;
        let expected = Program {
            version: "0.1.0".to_owned(),
            path: "/x/target/debug/deps/it-1".into(),
            folder: "/x/crates/a".into(),
            ..made("a", "it", true)
        };
        assert_eq!(program(line), Some(expected));
        assert_eq!(
            program(r#"{"reason":"compiler-artifact","executable":null}"#),
            None
        );
        assert_eq!(program("not JSON"), None);
        let id = |id| package(id).map(|(name, version)| format!("{name} {version}"));
        assert_eq!(id("path+file:///x/d#e@2.0.0").as_deref(), Some("e 2.0.0"));
    }
}
