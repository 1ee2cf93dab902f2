//! Compiles schema files to generated code in memory, for `dflatc` and for build scripts.

use std::path::PathBuf;

use dflat_codegen::{Options, Output, SwiftOptions};
use dflat_schema::{DefinitionId, DefinitionKind, Diagnostic, Schema, Severity, Sources, describe};

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
    /// Generates Swift code with these options, and no Rust code.
    pub swift: Option<SwiftOptions>,
}

/// The result of a run of the compiler.
#[derive(Debug)]
pub struct Outcome {
    /// The generated code, if there was no error.
    pub output: Option<Output>,
    /// The generated Swift code, if it was requested and there was no error.
    pub swift: Option<Swift>,
    /// The descriptors of the stored types, in the order of their definitions; none with
    /// `payload_only`.
    pub descriptors: Vec<Descriptor>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read; diagnostics quote their lines.
    pub sources: Sources,
    /// The paths of the files that were read.
    pub found: Vec<PathBuf>,
    /// The paths of files that do not exist, and would have been read otherwise.
    pub missing: Vec<PathBuf>,
}

/// Generated Swift code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swift {
    /// Four files for each requested file.
    pub files: Vec<Output>,
    /// The declarations of the schema's namespaces, which generated code extends.
    pub namespaces: String,
}

/// The description of a stored type, for programs that learn of types when they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The full name of the type in the schema, such as `MyGame.Sample.Monster`.
    pub type_name: String,
    /// The descriptor as `TableDescriptor::to_bytes` of the crate `dflat-model` encodes it. How the
    /// library assigns keys is not in the bytes.
    pub bytes: Vec<u8>,
}

impl Outcome {
    /// Whether any diagnostic is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        let errors = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        (self.output.is_none() && self.swift.is_none()) || self.diagnostics.iter().any(errors)
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
    let mut descriptors = Vec::new();
    let (mut output, mut swift) = (None, None);
    if let Some(schema) = compilation.schema {
        if !request.options.payload_only {
            descriptors = stored(&schema);
        }
        let generated = match &request.swift {
            Some(options) => dflat_codegen::generate_swift(&schema, options).map(|files| {
                let namespaces = dflat_codegen::swift_namespaces(&schema);
                swift = Some(Swift { files, namespaces });
            }),
            None => dflat_codegen::generate(&schema, &request.options)
                .map(|generated| output = Some(generated)),
        };
        diagnostics.extend(generated.err().unwrap_or_default());
    }
    Outcome {
        output,
        swift,
        descriptors,
        diagnostics,
        sources: compilation.sources,
        found: loader.found(),
        missing: loader.missing(),
    }
}

fn stored(schema: &Schema) -> Vec<Descriptor> {
    let definitions = (0..).map(DefinitionId).zip(&schema.definitions);
    let stored = definitions.filter(
        |(_, definition)| matches!(&definition.kind, DefinitionKind::Table(table) if table.root),
    );
    stored
        .map(|(id, definition)| Descriptor {
            type_name: definition.full_name(),
            bytes: describe(schema, id).to_bytes(),
        })
        .collect()
}
