//! `diff`, and `check --against`.

use std::path::{Path, PathBuf};

use dflat_build::FileLoader;
use dflat_schema::{Compilation, Loader, Options, Version, compare, compile};

use crate::Failure;
use crate::arguments::{DiffArguments, InputArguments, MessageFormat};
use crate::git::GitLoader;
use crate::report::{to_stderr, to_stdout};

/// Compares two schema files.
pub(crate) fn diff(arguments: &DiffArguments) -> Result<(), Failure> {
    let reading = Reading {
        include_dirs: &arguments.include_dirs,
        payload_only: arguments.payload_only,
        format: arguments.message_format,
    };
    let old = reading.files(std::slice::from_ref(&arguments.old))?;
    let new = reading.files(std::slice::from_ref(&arguments.new))?;
    reading.compare(&old, &new)
}

/// Compares schema files with an older one, or with what they were in a git revision.
pub(crate) fn against(old: &str, input: &InputArguments) -> Result<(), Failure> {
    let reading = Reading {
        include_dirs: &input.include_dirs,
        payload_only: input.payload_only,
        format: input.message_format,
    };
    let old = if Path::new(old).is_file() {
        reading.files(&[old.to_owned()])?
    } else {
        let loader = GitLoader::new(old, reading.include_dirs).map_err(Failure::Message)?;
        // A file that was not there stored nothing.
        let there = input.files.iter().filter(|file| loader.has(file));
        reading.compiled(&there.cloned().collect::<Vec<_>>(), &loader)?
    };
    let new = reading.files(&input.files)?;
    reading.compare(&old, &new)
}

/// How versions are read and compared.
struct Reading<'a> {
    include_dirs: &'a [PathBuf],
    payload_only: bool,
    format: MessageFormat,
}

impl Reading<'_> {
    fn files(&self, files: &[String]) -> Result<Compilation, Failure> {
        let loader = FileLoader::new(PathBuf::new(), self.include_dirs.to_vec());
        self.compiled(files, &loader)
    }

    /// A version without errors; those of one that has any are reported.
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

    /// Reports the changes; an error if one breaks what is stored.
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
