//! What is wrong with a schema, for people and for programs.
//!
//! A [`Diagnostic`] names a [`Code`], says what is wrong at its primary label, points at the other
//! places that matter, and says what to do. `render` writes it as rustc would; `json` as one object
//! a line.

pub(crate) mod code;
mod json;
mod render;

pub(crate) use code::codes;
pub use code::{CODES, Code};
pub use render::Style;

use crate::schema::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// No schema comes out.
    Error,
    /// The schema is usable; something in it is probably not what was meant.
    Warning,
    /// The schema is as it should be; something in it has no effect.
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

/// A place, and what to say there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What to say there; may be empty.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of finding it is.
    pub code: &'static Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line, lower case.
    pub message: String,
    /// The place, unless it is about a file that does not exist.
    pub primary: Option<Label>,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// What else to know.
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

    /// The primary label, then the others.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &Label> {
        self.primary.iter().chain(&self.secondary)
    }
}

/// More diagnostics than anyone reads: a hostile file could otherwise yield millions.
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

    /// Whether there was an error, shown or not.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn is_full(&self) -> bool {
        self.diagnostics.len() >= DIAGNOSTICS_MAX
    }

    /// The diagnostics, those of one file together and in the order of their places.
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
