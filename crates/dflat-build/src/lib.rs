//! Compiles Dflat schemas from a build script.
//!
//! ```no_run
//! // build.rs
//! dflat_build::compile(["schemas/post.fbs"]);
//! ```
//!
//! ```text
//! // src/lib.rs
//! pub mod schema {
//!     dflat::include_schema!("post");
//! }
//! ```
//!
//! The files of one call, and all files they include, become one output file, which is named after
//! the first file. Cargo runs the script again when one of the files changes, or when a new file
//! appears that an `include` would find first.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod compiler;
mod error;
mod loader;
mod output;
mod watch;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use compiler::{Descriptor, Outcome, Request, Swift, run};
use dflat_codegen::External;
use dflat_schema::{Severity, Style};
pub use error::Error;
pub use loader::{FileLoader, candidates};
pub use output::write_if_changed;

/// Compiles schema files to `OUT_DIR`. Paths are relative to the package's folder.
///
/// If the schema has errors, this function prints diagnostics to standard error and ends the build
/// script. [`try_compile`] returns the error instead.
pub fn compile<P: AsRef<str>>(files: impl IntoIterator<Item = P>) {
    Builder::new().compile(files);
}

/// Compiles schema files to `OUT_DIR`. Paths are relative to the package's folder.
///
/// # Errors
///
/// Returns an error if no file is given, if the schema has errors, if the output cannot be written
/// or was written for other files, or if the program is not a build script.
pub fn try_compile<P: AsRef<str>>(files: impl IntoIterator<Item = P>) -> Result<PathBuf, Error> {
    Builder::new().try_compile(files)
}

/// Compiles schema files with options.
///
/// ```no_run
/// dflat_build::Builder::new()
///     .include_dir("schemas/shared")
///     .external("equipment.fbs", "::equipment::schema")
///     .compile(&["schemas/monster.fbs"]);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder compiles nothing until `compile` is called"]
pub struct Builder {
    request: Request,
    out_dir: Option<PathBuf>,
}

impl Builder {
    /// Creates a builder without options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder to look up included files in. The path is relative to the package's folder.
    pub fn include_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.request.include_dirs.push(dir.into());
        self
    }

    /// Sets the path of the crate `dflat`, if this package renames it. The default is `::dflat`.
    pub fn crate_path(mut self, path: impl Into<String>) -> Self {
        self.request.options.crate_path = Some(path.into());
        self
    }

    /// Declares that the module `path` has the types of an included file. If this builder generates
    /// storage, the module must have storage, too: without [`payload_only`](Self::payload_only).
    pub fn external(mut self, file: impl Into<String>, path: impl Into<String>) -> Self {
        let external = External {
            file: file.into(),
            path: path.into(),
        };
        self.request.options.external.push(external);
        self
    }

    /// Sets the output folder. The default is `OUT_DIR`.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(dir.into());
        self
    }

    /// Sets the name of the output file, without `.rs`. The default is the name of the first file.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.request.options.name = Some(name.into());
        self
    }

    /// Sets whether to generate FlatBuffers types only, without storage and queries. The default is
    /// false.
    pub fn payload_only(mut self, payload_only: bool) -> Self {
        self.request.options.payload_only = payload_only;
        self
    }

    /// Compiles schema files, and ends the build script if that fails.
    pub fn compile<P: AsRef<str>>(self, files: impl IntoIterator<Item = P>) {
        if let Err(error) = self.try_compile(files) {
            let mut stderr = io::stderr().lock();
            // If standard error is closed, the error cannot be shown anywhere.
            let _ = writeln!(stderr, "{error}\n\nerror: the schema was not compiled");
            std::process::exit(1);
        }
    }

    /// Compiles schema files, and returns the path of the output file.
    ///
    /// # Errors
    ///
    /// Returns an error if no file is given, if the schema has errors, if the output cannot be
    /// written or was written for other files, or if the program is not a build script.
    pub fn try_compile<P: AsRef<str>>(
        mut self,
        files: impl IntoIterator<Item = P>,
    ) -> Result<PathBuf, Error> {
        let variable = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .ok_or(Error::Environment(name))
        };
        let files = files.into_iter().map(|file| file.as_ref().to_owned());
        self.request.files.extend(files);
        if self.request.files.is_empty() {
            return Err(Error::NoFiles);
        }
        self.request.base = variable("CARGO_MANIFEST_DIR")?;
        let out_dir = match self.out_dir {
            Some(dir) => self.request.base.join(dir),
            None => variable("OUT_DIR")?,
        };
        let outcome = run(&self.request);
        report(&outcome, &self.request.base, &out_dir);
        let output = match &outcome.output {
            Some(output) if !outcome.has_errors() => output,
            _ => return Err(Error::Schema(rendered(&outcome, Severity::Error))),
        };
        let path = out_dir.join(&output.name);
        let files = self.request.files.iter();
        output::claim(&path, files.map(|file| self.request.base.join(file)))?;
        write_if_changed(&path, &output.text)?;
        Ok(path)
    }
}

/// Prints the paths that Cargo watches, and warnings for its user.
fn report(outcome: &Outcome, base: &Path, out_dir: &Path) {
    let mut stdout = io::stdout().lock();
    let watch = watch::WatchedPaths::of(outcome, &[base, out_dir]);
    for path in watch.paths {
        // If standard output is closed, Cargo does not read it.
        let _ = writeln!(stdout, "cargo:rerun-if-changed={}", path.display());
    }
    let warnings = rendered(outcome, Severity::Warning);
    for line in watch
        .warnings
        .iter()
        .map(String::as_str)
        .chain(warnings.lines())
    {
        let _ = writeln!(stdout, "cargo:warning={line}");
    }
}

/// The rendered diagnostics of one severity.
fn rendered(outcome: &Outcome, severity: Severity) -> String {
    let chosen = outcome
        .diagnostics
        .iter()
        .filter(|d| d.severity == severity);
    let texts: Vec<String> = chosen
        .map(|d| d.render(&outcome.sources, Style::Plain))
        .collect();
    texts.join("\n\n")
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
