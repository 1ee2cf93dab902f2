//! Compiles schema files to generated code in memory, for `dflatc` and for build scripts.

use std::path::PathBuf;

use dflat_codegen::{Options, Output};
use dflat_schema::{Diagnostic, Severity, Sources};

use crate::FileLoader;

/// The files and options of a run of the compiler.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The schema files.
    pub files: Vec<String>,
    /// The folder that relative paths start from; the working directory if empty.
    pub base: PathBuf,
    /// The folders to look up included files in, after the folder of the file that includes them.
    pub include_dirs: Vec<PathBuf>,
    /// The options for generated code.
    pub options: Options,
}

/// The result of a run of the compiler.
#[derive(Debug)]
pub struct Outcome {
    /// The generated code, if there was no error.
    pub output: Option<Output>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read; diagnostics quote their lines.
    pub sources: Sources,
    /// The paths of the files that were read.
    pub found: Vec<PathBuf>,
    /// The paths of files that do not exist, and would have been read otherwise.
    pub missing: Vec<PathBuf>,
}

impl Outcome {
    /// Whether any diagnostic is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        let errors = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        self.output.is_none() || self.diagnostics.iter().any(errors)
    }
}

/// Reads schema files and generates code. It writes nothing.
#[must_use]
pub fn run(request: &Request) -> Outcome {
    let loader = FileLoader::new(request.base.clone(), request.include_dirs.clone());
    let options = dflat_schema::Options {
        payload_only: request.options.payload_only,
    };
    let compilation = dflat_schema::compile(&request.files, &loader, &options);
    let mut diagnostics = compilation.diagnostics;
    let output = compilation.schema.and_then(|schema| {
        dflat_codegen::generate(&schema, &request.options)
            .map_err(|errors| diagnostics.extend(errors))
            .ok()
    });
    Outcome {
        output,
        diagnostics,
        sources: compilation.sources,
        found: loader.found(),
        missing: loader.missing(),
    }
}
