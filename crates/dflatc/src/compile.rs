//! `compile` and `check`.

use std::fs;
use std::path::{Path, PathBuf};

use dflat_build::{Request, run, write_if_changed};
use dflat_codegen::Options;

use crate::arguments::{CheckArguments, CompileArguments, InputArguments};
use crate::report::to_stderr;
use crate::{Failure, diff};

/// Generates the code of schema files, and writes or checks it.
pub(crate) fn compile(arguments: &CompileArguments) -> Result<(), Failure> {
    let outcome = run(&request(&arguments.input, arguments.name.clone()));
    to_stderr(
        &outcome.diagnostics,
        &outcome.sources,
        arguments.input.message_format,
    )?;
    let output = match &outcome.output {
        Some(output) if !outcome.has_errors() => output,
        _ => return Err(Failure::Reported),
    };
    let path = arguments.out_dir.join(&output.name);
    if arguments.check {
        return is_current(&path, &output.text);
    }
    let write = |path: &Path, text: &str| {
        write_if_changed(path, text).map_err(|error| Failure::Message(error.to_string()))
    };
    write(&path, &output.text)?;
    if let Some(depfile) = &arguments.depfile {
        write(depfile, &dependencies(&path, &outcome.found))?;
    }
    Ok(())
}

/// Returns an error if a file does not have this text.
fn is_current(path: &Path, text: &str) -> Result<(), Failure> {
    let name = path.display();
    let why = match fs::read(path) {
        Ok(found) if found == text.as_bytes() => return Ok(()),
        Ok(_) => format!("{name} is not current"),
        Err(error) => format!("cannot read {name}: {error}"),
    };
    Err(Failure::Message(format!(
        "{why}; run the same command without `--check`"
    )))
}

/// Reports errors in schema files.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let input = &arguments.input;
    let outcome = run(&request(input, None));
    to_stderr(&outcome.diagnostics, &outcome.sources, input.message_format)?;
    if outcome.has_errors() {
        return Err(Failure::Reported);
    }
    match &arguments.against {
        Some(old) => diff::against(old, input),
        None => Ok(()),
    }
}

fn request(arguments: &InputArguments, name: Option<String>) -> Request {
    Request {
        files: arguments.files.clone(),
        base: PathBuf::new(),
        include_dirs: arguments.include_dirs.clone(),
        options: Options {
            crate_path: arguments.crate_path.clone(),
            external: arguments.external.clone(),
            name,
            payload_only: arguments.payload_only,
        },
    }
}

/// A dependency rule in the format of make and ninja.
fn dependencies(output: &Path, inputs: &[PathBuf]) -> String {
    let escaped = |path: &Path| {
        let path = path.display().to_string();
        path.replace(' ', "\\ ")
            .replace('#', "\\#")
            .replace('$', "$$")
    };
    let inputs = inputs.iter().map(|input| format!(" {}", escaped(input)));
    format!("{}:{}\n", escaped(output), inputs.collect::<String>())
}
