//! Compiles Dflat schemas from a build script.
//!
//! ```no_run
//! // build.rs
//! dflat_build::compile(&["schemas/post.fbs"]);
//! ```
//!
//! ```text
//! // src/lib.rs
//! pub mod schema {
//!     include!(concat!(env!("OUT_DIR"), "/post.rs"));
//! }
//! ```
//!
//! All files of one call become one text, named after the first of them, with the types of all
//! files they include. Cargo runs the script again when one of the files changes, or when a file
//! comes into being that an `include` would find first.

mod compiler;
mod error;
mod loader;
mod output;
mod watch;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use compiler::{Outcome, Request, run};
use dflat_codegen::External;
use dflat_schema::{Severity, Style};
pub use error::Error;
pub use loader::{FileLoader, candidates};
pub use output::write_if_changed;

/// Compiles schema files to `OUT_DIR`. Paths are relative to the package's folder.
///
/// Ends the build script, with diagnostics on standard error, if the schema has errors.
/// [`try_compile`] returns them.
pub fn compile<P: AsRef<str>>(files: impl IntoIterator<Item = P>) {
    Builder::new().compile(files);
}

/// Compiles schema files to `OUT_DIR`. Paths are relative to the package's folder.
///
/// # Errors
///
/// If no file is given, the schema has errors, the text cannot be written or was written for other
/// files, or this is no build script.
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
    /// A builder with no options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder where included files are looked up, relative to the package's.
    pub fn include_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.request.include_dirs.push(dir.into());
        self
    }

    /// Sets the path of the crate `dflat`, if this package renames it: `::dflat` by default.
    pub fn crate_path(mut self, path: impl Into<String>) -> Self {
        self.request.options.crate_path = Some(path.into());
        self
    }

    /// Says that an included file's types are compiled already, in the module `path`.
    pub fn external(mut self, file: impl Into<String>, path: impl Into<String>) -> Self {
        let external = External {
            file: file.into(),
            path: path.into(),
        };
        self.request.options.external.push(external);
        self
    }

    /// Sets the folder that is written to: `OUT_DIR` by default.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(dir.into());
        self
    }

    /// Sets the text's name, without `.rs`: that of the first file by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.request.options.name = Some(name.into());
        self
    }

    /// Whether to generate FlatBuffers types only, nothing that is stored or queried: false by
    /// default.
    pub fn payload_only(mut self, payload_only: bool) -> Self {
        self.request.options.payload_only = payload_only;
        self
    }

    /// Compiles schema files; ends the build script if that fails.
    pub fn compile<P: AsRef<str>>(self, files: impl IntoIterator<Item = P>) {
        if let Err(error) = self.try_compile(files) {
            let mut stderr = io::stderr().lock();
            // Nothing is left to do if standard error is closed.
            let _ = writeln!(stderr, "{error}\n\nerror: the schema was not compiled");
            std::process::exit(1);
        }
    }

    /// Compiles schema files, and returns the path of the text.
    ///
    /// # Errors
    ///
    /// If no file is given, the schema has errors, the text cannot be written or was written for
    /// other files, or this is no build script.
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

/// Tells cargo what to watch, and its user what to look at.
fn report(outcome: &Outcome, base: &Path, out_dir: &Path) {
    let mut stdout = io::stdout().lock();
    let watch = watch::Watch::of(outcome, &[base, out_dir]);
    for path in watch.paths {
        // A build script whose output nobody reads has nobody to tell.
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

/// The diagnostics of one severity, as text.
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
