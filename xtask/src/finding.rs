//! The findings of a check.

use std::fmt;

/// One problem in the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the repository's root.
    pub path: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The problem and its remedy.
    pub message: String,
    /// Whether the finding fails the check.
    pub severity: Severity,
}

/// Whether a finding fails its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The finding fails the check.
    Error,
    /// The finding is only printed.
    Warning,
}

impl Finding {
    /// A finding that fails its check.
    pub fn error(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line,
            message: message.into(),
            severity: Severity::Error,
        }
    }

    /// A finding that is only printed.
    pub fn warning(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, line, message)
        }
    }

    /// Whether the finding fails its check.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)
    }
}
