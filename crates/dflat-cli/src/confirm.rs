//! The question before data is destroyed.

use std::io::{self, BufRead, IsTerminal, Write};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::display::escaped;
use crate::failure::Failure;
use crate::session::Session;

/// Asks whether to go on. Without a terminal nobody can answer, so `--yes` is needed.
pub(crate) fn confirm(session: &Session, question: &str, yes: bool) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        let question = question.trim_end_matches('?');
        return Err(Failure::usage(format!(
            "{question}: pass --yes to do so without a question"
        )));
    }
    let question = format!("{} [y/N] ", escaped(question));
    let answer = match session.is_shell() {
        true => edited(&question)?,
        false => {
            let mut error = anstream::stderr();
            // If standard error is closed, the question cannot be shown anywhere.
            let _ = write!(error, "{question}");
            let _ = error.flush();
            let mut answer = String::new();
            io::stdin().lock().read_line(&mut answer)?;
            answer
        }
    };
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}

/// An answer in the shell, where Ctrl-C and Ctrl-D mean no.
fn edited(question: &str) -> Result<String, Failure> {
    let answer = DefaultEditor::new().and_then(|mut editor| editor.readline(question));
    match answer {
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(String::new()),
        answer => answer.map_err(|error| Failure::file(format!("cannot read the answer: {error}"))),
    }
}
