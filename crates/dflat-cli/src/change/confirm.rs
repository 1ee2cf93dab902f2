//! The question before data is destroyed.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::display::escaped;
use crate::failure::Failure;

/// Asks whether to go on. Without a terminal nobody can answer, so `--yes` is needed.
pub(super) fn confirm(question: &str, yes: bool) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        let question = question.trim_end_matches('?');
        return Err(Failure::usage(format!(
            "{question}: pass --yes to do so without a question"
        )));
    }
    let mut error = anstream::stderr();
    // If standard error is closed, the question cannot be shown anywhere.
    let _ = write!(error, "{} [y/N] ", escaped(question));
    let _ = error.flush();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}
