//! Shows an error below the line of its text.

use std::fmt::Write as _;

use crate::ConditionError;
use crate::error::shown;

/// The number of characters shown before the wrong part, and from its start on.
const SHOWN: usize = 60;

impl ConditionError {
    /// Shows the line of the text with a mark below the wrong part, the message and the help.
    ///
    /// `text` is the text that gave the error. A long line is cut around the wrong part. Control
    /// characters, and characters that change the direction of writing, are shown as U+FFFD, so the
    /// text cannot control a terminal. The mark assumes that each character has the same width.
    ///
    /// # Examples
    /// The output ends with a line break:
    /// ```text
    /// error: `Post` has no field `prioritty`
    ///   prioritty > 1
    ///   ^^^^^^^^^
    /// help: did you mean `priority`?
    /// ```
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        let line = text.split('\n').nth(self.line() - 1).unwrap_or_default();
        let before = self.column() - 1;
        let from = before.saturating_sub(SHOWN);
        let width = text.get(self.start()..self.end()).unwrap_or_default();
        let width = width.split('\n').next().unwrap_or_default().chars().count();
        let part = line.chars().skip(from).take(2 * SHOWN);
        let mut part: String = part.map(shown).collect();
        if line.chars().nth(from + 2 * SHOWN).is_some() {
            part.push('…');
        }
        let cut = if from > 0 { "…" } else { "" };
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(out, "error: {}", self.message());
        let _ = writeln!(out, "  {cut}{part}");
        let indent = before - from + cut.chars().count();
        let mark = "^".repeat(width.clamp(1, SHOWN));
        let _ = writeln!(out, "  {:indent$}{mark}", "");
        if let Some(help) = self.help() {
            let _ = writeln!(out, "help: {help}");
        }
        out
    }
}
