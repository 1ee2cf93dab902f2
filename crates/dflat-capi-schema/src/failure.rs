//! Why a call fails.

/// Why a call fails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no item with this number.
    NotFound,
    /// An argument cannot be used, for the reason in the message.
    Invalid(String),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// An error for an argument that cannot be used.
pub(crate) fn invalid(message: impl Into<String>) -> Failure {
    Failure::Invalid(message.into())
}
