//! The sign of a transaction that a backend has ended because of another one.

use std::error::Error as StdError;
use std::fmt;

/// The source of the error of a backend that has undone a transaction because of a conflict with
/// another one, such as a deadlock. The transaction may succeed if its handler runs again.
#[derive(Debug)]
pub struct Aborted(Box<dyn StdError + Send + Sync>);

impl Aborted {
    /// The sign, with the backend's own error.
    pub fn by(error: impl StdError + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Aborted {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
