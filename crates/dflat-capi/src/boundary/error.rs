//! Errors as handles of the caller.

use dflat_engine::Error;

use super::code::code_of;
use super::handle::Kind;

/// An error for the caller.
pub(crate) struct ErrorHandle {
    error: Error,
    message: String,
}

impl Kind for ErrorHandle {
    const TAG: u64 = 0xDF1A_7001;
    const NAME: &'static str = "dflat_error";
}

impl ErrorHandle {
    /// The error, with its message as text.
    pub(crate) fn new(error: Error) -> Self {
        let message = error.to_string();
        Self { error, message }
    }

    /// The error of the library.
    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// The code of the error.
    pub(crate) fn code(&self) -> i32 {
        code_of(self.error.kind())
    }

    /// The message, with the causes.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error of the library.
    pub(crate) const fn error(&self) -> &Error {
        &self.error
    }
}
