//! Arguments that cannot be used.

use std::fmt;

/// The reason why an argument of a call cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse(String);

impl Misuse {
    /// A reason, which names the argument.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The reason as text.
    #[must_use]
    pub fn into_message(self) -> String {
        self.0
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

#[cfg(feature = "engine")]
impl From<Misuse> for dflat_engine::Error {
    fn from(misuse: Misuse) -> Self {
        Self::new(dflat_engine::ErrorKind::InvalidArgument, misuse.0)
    }
}
