//! Writes diagnostics for the user.

use std::io::{self, IsTerminal, Write};

use dflat_schema::{Diagnostic, Sources, Style};

use crate::arguments::MessageFormat;

/// Writes diagnostics to standard error.
pub(crate) fn to_stderr(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    format: MessageFormat,
) -> io::Result<()> {
    let stderr = io::stderr().lock();
    let terminal = stderr.is_terminal();
    write(stderr, terminal, diagnostics, sources, format)
}

/// Writes diagnostics to standard output.
pub(crate) fn to_stdout(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    format: MessageFormat,
) -> io::Result<()> {
    let stdout = io::stdout().lock();
    let terminal = stdout.is_terminal();
    write(stdout, terminal, diagnostics, sources, format)
}

fn write(
    mut to: impl Write,
    terminal: bool,
    diagnostics: &[Diagnostic],
    sources: &Sources,
    format: MessageFormat,
) -> io::Result<()> {
    let coloured = terminal && std::env::var_os("NO_COLOR").is_none();
    let style = if coloured {
        Style::Coloured
    } else {
        Style::Plain
    };
    for diagnostic in diagnostics {
        match format {
            MessageFormat::Human => writeln!(to, "{}\n", diagnostic.render(sources, style))?,
            MessageFormat::Json => writeln!(to, "{}", diagnostic.to_json(sources))?,
        }
    }
    Ok(())
}
