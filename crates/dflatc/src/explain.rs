//! `explain`.

use std::io::{self, Write};

use crate::Failure;
use crate::diff::FILE_ADDED;

/// Prints the explanation of a code.
pub(crate) fn explain(name: &str) -> Result<(), Failure> {
    let codes = dflat_schema::CODES.iter().chain(dflat_codegen::CODES);
    let codes = codes.chain(dflat_schema::EVOLUTION_CODES);
    let mut codes = codes.chain(&[FILE_ADDED]);
    match codes.find(|code| code.name.eq_ignore_ascii_case(name)) {
        Some(code) => {
            let (name, summary, explanation) = (code.name, code.summary, code.explanation);
            writeln!(io::stdout(), "{name}: {summary}\n\n{explanation}")?;
            Ok(())
        }
        None => Err(Failure::Message(format!(
            "there is no diagnostic {name}; an example of a code is E0090"
        ))),
    }
}
