//! The attribute that allows a lint.

use super::Text;

/// The reason of most lints that are allowed.
const NAMES: &str = "names of the schema";

/// A lint that generated code allows.
#[derive(Clone, Copy)]
pub(in crate::rust) struct Lint {
    pub(in crate::rust) lint: &'static str,
    pub(in crate::rust) reason: &'static str,
}

impl Lint {
    /// A lint on a name.
    pub(in crate::rust) const fn name(lint: &'static str) -> Self {
        Self {
            lint,
            reason: NAMES,
        }
    }

    /// Prints the attribute.
    pub(in crate::rust) fn print(self, text: &mut Text) {
        text.line(self.attribute());
    }

    pub(in crate::rust) fn attribute(self) -> String {
        let Self { lint, reason } = self;
        format!("#[allow({lint}, reason = \"{reason}\")]")
    }
}
