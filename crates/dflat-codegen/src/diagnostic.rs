//! The diagnostics that only the generation of code can find.

use dflat_schema::{Code, Diagnostic, Label, Severity, Span};

/// The codes of this crate; those of the schema itself are [`dflat_schema::CODES`].
pub const CODES: &[&Code] = &[&NAME_CLASH, &NO_NAME, &EXTERNAL_FILE, &RUST_PATH];

pub(crate) static NAME_CLASH: Code = Code {
    name: "E0200",
    summary: "two names that become one in generated code",
    explanation: "Generated code follows Rust's naming: `hpOld` and `hp_old` both become `hp_old`, \
         `RED` and `Red` both become `Red`. For a table `Post`, the types `PostRef`, \
         `PostData`, `PostFields` and `PostChangeRequest` are generated too, and for a \
         union `Content` the types `ContentRef` and `ContentFields`. Generated Swift code \
         follows Swift's naming: `hpOld` and `hp_old` both become `hpOld`. Rename one of the \
         two.",
};

pub(crate) static NO_NAME: Code = Code {
    name: "E0201",
    summary: "a name that cannot be used in generated code",
    explanation: "A name that consists of underscores only is not a valid name in Rust. Choose one \
         with a letter or a digit.",
};

pub(crate) static EXTERNAL_FILE: Code = Code {
    name: "E0202",
    summary: "an external file that is not included",
    explanation: "A file can be external only if a requested file includes it, directly or through \
         others. Give its name, or enough of its path to identify the file.",
};

pub(crate) static RUST_PATH: Code = Code {
    name: "E0203",
    summary: "an option that is not a Rust path",
    explanation: "The path of a renamed `dflat` crate and the modules of external files are Rust \
         paths, such as `::storage` or `crate::schema::equipment`.",
};

/// An error without a position.
pub(crate) fn error(code: &'static Code, message: String) -> Diagnostic {
    Diagnostic {
        code,
        severity: Severity::Error,
        message,
        primary: None,
        secondary: Vec::new(),
        help: None,
        notes: Vec::new(),
    }
}

/// An error at a position.
pub(crate) fn error_at(
    code: &'static Code,
    message: String,
    span: &Span,
    text: String,
) -> Diagnostic {
    let span = span.clone();
    Diagnostic {
        primary: Some(Label { span, text }),
        ..error(code, message)
    }
}
