//! Diagnostics as JSON, one object on each line, for editors and build systems.

use std::fmt::Write as _;

use super::{Diagnostic, Label};
use crate::source::Sources;

impl Diagnostic {
    /// Writes the diagnostic as one line of JSON, without a final newline.
    ///
    /// The object has `code`, `severity`, `message`, `file`, `line`, `column` (the last three
    /// `null` without a position), `labels`, `help` (or `null`) and `notes`. A label has `file`,
    /// `line`, `column`, `end_line`, `end_column`, `primary` and `text`. Lines and columns count
    /// from 1, columns in characters.
    #[must_use]
    pub fn to_json(&self, sources: &Sources) -> String {
        let mut out = format!(
            "{{\"code\":{},\"severity\":{},\"message\":{}",
            quoted(self.code.name),
            quoted(self.severity.name()),
            quoted(&self.message),
        );
        match &self.primary {
            Some(label) => {
                let start = sources.start(&label.span);
                let file = quoted(sources.path(label.span.file));
                let (line, column) = (start.line, start.column);
                let _ = write!(out, ",\"file\":{file},\"line\":{line},\"column\":{column}");
            }
            None => out.push_str(",\"file\":null,\"line\":null,\"column\":null"),
        }
        let primary = self
            .primary
            .iter()
            .map(|label| label_json(sources, label, true));
        let secondary = self
            .secondary
            .iter()
            .map(|label| label_json(sources, label, false));
        let labels: Vec<String> = primary.chain(secondary).collect();
        let help = self
            .help
            .as_deref()
            .map_or_else(|| "null".to_owned(), quoted);
        let notes: Vec<String> = self.notes.iter().map(|note| quoted(note)).collect();
        let (labels, notes) = (labels.join(","), notes.join(","));
        let _ = write!(
            out,
            ",\"labels\":[{labels}],\"help\":{help},\"notes\":[{notes}]}}"
        );
        out
    }
}

fn label_json(sources: &Sources, label: &Label, primary: bool) -> String {
    let (start, end) = (sources.start(&label.span), sources.end(&label.span));
    format!(
        "{{\"file\":{},\"line\":{},\"column\":{},\"end_line\":{},\"end_column\":{},\"primary\":{primary},\"text\":{}}}",
        quoted(sources.path(label.span.file)),
        start.line,
        start.column,
        end.line,
        end.column,
        quoted(&label.text),
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}
