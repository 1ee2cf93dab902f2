//! Why a call fails.

use dflat_capi_boundary::Misuse;

/// Why a call fails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no item with this number.
    NotFound,
    /// An argument cannot be used, for the reason in the message.
    Invalid(String),
}

impl From<Misuse> for Failure {
    fn from(misuse: Misuse) -> Self {
        Self::Invalid(misuse.into_message())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// An error for an argument that cannot be used.
pub(crate) fn invalid(message: impl Into<String>) -> Failure {
    Failure::Invalid(message.into())
}
