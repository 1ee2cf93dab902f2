//! `compile` and `check`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use dflat_build::{Outcome, Request, run, write_if_changed};
use dflat_codegen::Options;
use dflat_schema::Style;

use crate::Failure;
use crate::arguments::{CompileArguments, InputArguments, MessageFormat};

/// Writes the code of schema files.
pub(crate) fn compile(arguments: &CompileArguments) -> Result<(), Failure> {
    let outcome = run(&request(&arguments.input, arguments.name.clone()));
    report(&outcome, arguments.input.message_format)?;
    let output = match &outcome.output {
        Some(output) if !outcome.has_errors() => output,
        _ => return Err(Failure::Reported),
    };
    let path = arguments.out_dir.join(&output.name);
    let write = |path: &Path, text: &str| {
        write_if_changed(path, text).map_err(|error| Failure::Message(error.to_string()))
    };
    write(&path, &output.text)?;
    if let Some(depfile) = &arguments.depfile {
        write(depfile, &dependencies(&path, &outcome.found))?;
    }
    Ok(())
}

/// Reports what is wrong with schema files.
pub(crate) fn check(arguments: &InputArguments) -> Result<(), Failure> {
    let outcome = run(&request(arguments, None));
    report(&outcome, arguments.message_format)?;
    if outcome.has_errors() {
        Err(Failure::Reported)
    } else {
        Ok(())
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

/// Writes diagnostics to standard error.
fn report(outcome: &Outcome, format: MessageFormat) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    let coloured = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let style = if coloured {
        Style::Coloured
    } else {
        Style::Plain
    };
    for diagnostic in &outcome.diagnostics {
        match format {
            MessageFormat::Human => {
                writeln!(stderr, "{}\n", diagnostic.render(&outcome.sources, style))?;
            }
            MessageFormat::Json => writeln!(stderr, "{}", diagnostic.to_json(&outcome.sources))?,
        }
    }
    Ok(())
}

/// A rule as make and ninja read it.
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
