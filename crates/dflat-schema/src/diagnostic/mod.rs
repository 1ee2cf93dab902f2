//! Diagnostics: errors, warnings and notes about a schema.
//!
//! A [`Diagnostic`] has a [`Code`], a message, a primary label, labels at other relevant places,
//! and help. `render` writes it in the style of rustc; `json` writes each as one object on a line.

pub(crate) mod code;
mod json;
mod render;

pub(crate) use code::codes;
pub use code::{CODES, Code};
pub use render::Style;

use crate::schema::Span;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The compilation returns no schema.
    Error,
    /// The schema is usable, but probably contains a mistake.
    Warning,
    /// The schema is correct; a part of it has no effect.
    Note,
}

impl Severity {
    /// The lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A position in a source file, with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The position.
    pub span: Span,
    /// The text; may be empty.
    pub text: String,
}

/// An error, a warning or a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of diagnostic.
    pub code: &'static Code,
    /// The severity of a diagnostic.
    pub severity: Severity,
    /// The message: one line, in lower case.
    pub message: String,
    /// The position, or `None` if the diagnostic is about a file that does not exist.
    pub primary: Option<Label>,
    /// Other relevant positions.
    pub secondary: Vec<Label>,
    /// A suggestion.
    pub help: Option<String>,
    /// Further facts.
    pub notes: Vec<String>,
}

impl Diagnostic {
    pub(crate) fn error(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            help: None,
            notes: Vec::new(),
        }
    }

    pub(crate) fn warning(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    pub(crate) fn note(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::error(code, message)
        }
    }

    pub(crate) fn at(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.primary = Some(Label {
            span: span.clone(),
            text: text.into(),
        });
        self
    }

    pub(crate) fn and(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label {
            span: span.clone(),
            text: text.into(),
        });
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The primary label, then the secondary labels.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &Label> {
        self.primary.iter().chain(&self.secondary)
    }
}

/// The limit on kept diagnostics. Without it, a hostile file could cause millions.
const DIAGNOSTICS_MAX: usize = 200;

/// Collects diagnostics, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    diagnostics: Vec<Diagnostic>,
    suppressed: usize,
    failed: bool,
}

impl Sink {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.failed |= diagnostic.severity == Severity::Error;
        if self.diagnostics.len() < DIAGNOSTICS_MAX {
            self.diagnostics.push(diagnostic);
        } else {
            self.suppressed += 1;
        }
    }

    pub(crate) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }

    /// Whether there was an error, including errors above the limit.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn is_full(&self) -> bool {
        self.diagnostics.len() >= DIAGNOSTICS_MAX
    }

    /// The diagnostics in the order of their files and positions.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| {
            diagnostic
                .primary
                .as_ref()
                .map(|label| (label.span.file, label.span.range.start))
        });
        if self.suppressed > 0
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.notes.push(format!(
                "{} more diagnostics are not shown",
                self.suppressed
            ));
        }
        self.diagnostics
    }
}
