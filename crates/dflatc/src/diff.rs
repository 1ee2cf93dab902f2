//! `diff`, and `check --against`.

use std::path::{Path, PathBuf};

use dflat_build::FileLoader;
use dflat_schema::{
    Code, Compilation, Diagnostic, Loader, Options, Severity, Version, compare, compile,
};

use crate::Failure;
use crate::arguments::{DiffArguments, InputArguments, MessageFormat};
use crate::git::GitLoader;
use crate::report::{to_stderr, to_stdout};

/// A file that the old revision does not have: it is new, or it had another name.
pub(crate) const FILE_ADDED: &Code = &Code {
    name: "W0304",
    summary: "a schema file that the revision does not have",
    explanation: "The file is compared with nothing. That is right if the file is new. If it was \
                  renamed or moved, compare it with `dflatc diff`, or give `--against` a file.",
};

fn new_file(file: &str, revision: &str) -> Diagnostic {
    Diagnostic {
        code: FILE_ADDED,
        severity: Severity::Warning,
        message: format!("`{file}` is not in `{revision}` and was not compared"),
        primary: None,
        secondary: Vec::new(),
        help: Some("if the file was renamed, compare the two with `dflatc diff`".to_owned()),
        notes: Vec::new(),
    }
}

/// Compares two schema files.
pub(crate) fn diff(arguments: &DiffArguments) -> Result<(), Failure> {
    let reader = VersionReader {
        include_dirs: &arguments.include_dirs,
        payload_only: arguments.payload_only,
        format: arguments.message_format,
    };
    let old = reader.files(std::slice::from_ref(&arguments.old))?;
    let new = reader.files(std::slice::from_ref(&arguments.new))?;
    reader.compare(&old, &new)
}

/// Compares schema files with an older file, or with their versions in a git revision.
pub(crate) fn against(old: &str, input: &InputArguments) -> Result<(), Failure> {
    let reader = VersionReader {
        include_dirs: &input.include_dirs,
        payload_only: input.payload_only,
        format: input.message_format,
    };
    let old = if Path::new(old).is_file() {
        reader.files(&[old.to_owned()])?
    } else {
        let loader = GitLoader::new(old, reader.include_dirs).map_err(Failure::Message)?;
        let (mut there, mut absent) = (Vec::new(), Vec::new());
        for file in &input.files {
            if loader.has(file).map_err(Failure::Message)? {
                there.push(file.clone());
            } else {
                absent.push(new_file(file, old));
            }
        }
        let version = reader.compiled(&there, &loader)?;
        to_stdout(&absent, &version.sources, reader.format)?;
        version
    };
    let new = reader.files(&input.files)?;
    reader.compare(&old, &new)
}

/// The options for reading and comparing versions.
struct VersionReader<'a> {
    include_dirs: &'a [PathBuf],
    payload_only: bool,
    format: MessageFormat,
}

impl VersionReader<'_> {
    fn files(&self, files: &[String]) -> Result<Compilation, Failure> {
        let loader = FileLoader::new(PathBuf::new(), self.include_dirs.to_vec());
        self.compiled(files, &loader)
    }

    /// Compiles a version, and reports its errors if it has any.
    fn compiled(&self, files: &[String], loader: &dyn Loader) -> Result<Compilation, Failure> {
        let options = Options {
            payload_only: self.payload_only,
        };
        let version = compile(files, loader, &options);
        if version.schema.is_none() {
            to_stderr(&version.diagnostics, &version.sources, self.format)?;
            return Err(Failure::Reported);
        }
        Ok(version)
    }

    /// Reports the changes. Returns an error if a change breaks stored objects.
    fn compare(&self, old: &Compilation, new: &Compilation) -> Result<(), Failure> {
        let [Some(old), Some(new)] = [old, new].map(|version| {
            let schema = version.schema.as_ref()?;
            let sources = &version.sources;
            Some(Version { schema, sources })
        }) else {
            return Err(Failure::Reported);
        };
        let evolution = compare(old, new);
        to_stdout(&evolution.changes, &evolution.sources, self.format)?;
        if evolution.breaking {
            Err(Failure::Reported)
        } else {
            Ok(())
        }
    }
}
