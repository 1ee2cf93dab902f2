//! Attributes that give stored numbers and keys another meaning: `time`, `uuid` and `auto`.
//!
//! The bytes of objects and the descriptors do not have these attributes, so no program notices
//! their change when it opens a file.

use super::Comparison;
use super::code::{AUTO_CHANGED, MEANING_ADDED, MEANING_REMOVED, TIME_CHANGED};
use crate::diagnostic::Diagnostic;
use crate::schema::{Field, Span, Struct};

impl Comparison<'_> {
    /// Compares the units of dates and times. A unit holds for a deprecated field too, because the
    /// field may be used again.
    pub(super) fn times(&mut self, old: &Field, new: &Field) {
        let name = &new.name;
        let change = match (old.time, new.time) {
            (Some(before), Some(after)) if before != after => {
                let (before, after) = (before.name(), after.name());
                let message = format!("the unit of `{name}` changed from {before} to {after}");
                Diagnostic::error(TIME_CHANGED, message).help(format!(
                    "keep `time: \"{before}\"`, and add another field for {after}"
                ))
            }
            (None, Some(after)) => {
                let message = format!("`{name}` becomes a date and time");
                Diagnostic::warning(MEANING_ADDED, message).help(format!(
                    "make sure that all programs have stored {} since 1970 in it",
                    after.name()
                ))
            }
            (Some(_), None) if !new.deprecated => {
                let message = format!("`{name}` is no longer a date and time");
                Diagnostic::note(MEANING_REMOVED, message)
            }
            _ => return,
        };
        self.report_both(change, &old.span, &new.span);
    }

    /// Compares whether a struct is a UUID. Positions are those of the structs' names.
    pub(super) fn uuids(
        &mut self,
        (old, before): (&Struct, &Span),
        (new, after): (&Struct, &Span),
    ) {
        let change = match (old.uuid, new.uuid) {
            (false, true) => Diagnostic::warning(MEANING_ADDED, "the struct becomes a UUID").help(
                "make sure that all programs have stored the first eight bytes of a UUID in its \
                 first field",
            ),
            (true, false) => Diagnostic::note(MEANING_REMOVED, "the struct is no longer a UUID"),
            _ => return,
        };
        self.report_both(change, before, after);
    }

    /// Compares how the library assigns the keys of a stored table with one key field.
    pub(super) fn auto_keys(&mut self, old: &Field, new: &Field) {
        let name = &new.name;
        let change = match (old.storage.auto.is_some(), new.storage.auto.is_some()) {
            (false, true) => {
                let message = format!("the library begins to assign the key `{name}`");
                Diagnostic::warning(AUTO_CHANGED, message)
                    .help("look for an object whose key is 0 or empty")
            }
            (true, false) => {
                let message = format!("the library no longer assigns the key `{name}`");
                Diagnostic::warning(AUTO_CHANGED, message)
                    .help("let the program set the key of each new object")
            }
            _ => return,
        };
        self.report_both(change, &old.span, &new.span);
    }
}
