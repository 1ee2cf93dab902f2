//! `compile` and `check`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dflat_build::{Error, Outcome, Request, run, write_if_changed};
use dflat_codegen::{Options, SwiftOptions};

use crate::arguments::{CheckArguments, CompileArguments, InputArguments};
use crate::report::to_stderr;
use crate::{Failure, diff};

/// Generates the code of schema files, and writes or checks it.
pub(crate) fn compile(arguments: &CompileArguments) -> Result<(), Failure> {
    let outcome = run(&Request {
        swift: arguments.swift.then(|| SwiftOptions {
            conform: arguments.conform.clone(),
        }),
        ..request(&arguments.input, arguments.name.clone())
    });
    to_stderr(
        &outcome.diagnostics,
        &outcome.sources,
        arguments.input.message_format,
    )?;
    if outcome.has_errors() {
        return Err(Failure::Reported);
    }
    let files: Vec<(String, &[u8])> = match arguments.descriptor {
        true => descriptors(&outcome)?,
        false => {
            let swift = outcome.swift.iter().flat_map(|swift| &swift.files);
            let outputs = outcome.output.iter().chain(swift);
            outputs
                .map(|output| (output.name.clone(), output.text.as_bytes()))
                .collect()
        }
    };
    let files = files.into_iter();
    let mut files: Vec<(PathBuf, &[u8])> = files
        .map(|(name, content)| (arguments.out_dir.join(name), content))
        .collect();
    if let (Some(path), Some(swift)) = (&arguments.namespaces, &outcome.swift) {
        files.push((path.clone(), swift.namespaces.as_bytes()));
    }
    if arguments.check {
        let mut files = files.iter();
        return files.try_for_each(|(path, content)| is_current(path, content));
    }
    for (path, content) in &files {
        let written = write_if_changed(path, content);
        written.map_err(|error| unwritten(&error, arguments.descriptor))?;
    }
    if let Some(depfile) = &arguments.depfile {
        let outputs: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
        let written = write_if_changed(depfile, dependencies(&outputs, &outcome.found));
        written.map_err(|error| Failure::Message(error.to_string()))?;
    }
    Ok(())
}

/// Says why an output could not be written. A name that is too long for the file system can be
/// legal in a schema.
fn unwritten(error: &Error, is_descriptor: bool) -> Failure {
    let help = match error {
        Error::Output { source, .. } if source.kind() == ErrorKind::InvalidFilename => {
            match is_descriptor {
                true => "\nhelp: the file of a descriptor has the full name of its type",
                false => "\nhelp: choose a shorter name by `--name`, or rename the schema file",
            }
        }
        _ => "",
    };
    Failure::Message(format!("{error}{help}"))
}

/// The files with the descriptors of the stored types.
fn descriptors(outcome: &Outcome) -> Result<Vec<(String, &[u8])>, Failure> {
    if outcome.descriptors.is_empty() {
        let message = "no type is stored: name one by `root_type`";
        return Err(Failure::Message(message.to_owned()));
    }
    let files = outcome.descriptors.iter().map(|descriptor| {
        let name = format!("{}.descriptor", descriptor.type_name);
        (name, descriptor.bytes.as_slice())
    });
    Ok(files.collect())
}

/// Returns an error if a file does not have this content.
fn is_current(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let name = path.display();
    let why = match fs::read(path) {
        Ok(found) if found == content => return Ok(()),
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
        swift: None,
    }
}

/// A dependency rule in the format of make and ninja.
fn dependencies(outputs: &[&Path], inputs: &[PathBuf]) -> String {
    let escaped = |path: &Path| {
        let path = path.display().to_string();
        path.replace(' ', "\\ ")
            .replace('#', "\\#")
            .replace('$', "$$")
    };
    let inputs = inputs.iter().map(|input| format!(" {}", escaped(input)));
    let outputs: Vec<String> = outputs.iter().map(|output| escaped(output)).collect();
    format!("{}:{}\n", outputs.join(" "), inputs.collect::<String>())
}
