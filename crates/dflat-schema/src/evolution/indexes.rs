//! Compares the indexes that tables declare over several fields, or of some objects.

use super::Comparison;
use super::code::{INDEX_ADDED, INDEX_REMOVED, UNIQUE_ADDED};
use crate::diagnostic::Diagnostic;
use crate::schema::TableIndex;

impl Comparison<'_> {
    /// Compares the indexes that a table declares over several fields, or of some objects.
    pub(super) fn indexes(&mut self, old: &[TableIndex], new: &[TableIndex]) {
        for index in new {
            let descriptor = &index.descriptor;
            let before = same(old, index);
            let was_unique = before.is_some_and(|before| before.descriptor.unique);
            let mut change = if descriptor.unique && !was_unique {
                let message = format!("values of {descriptor} become unique");
                let change = Diagnostic::warning(UNIQUE_ADDED, message);
                change.help("look for objects that have the same values")
            } else if before.is_none() {
                let message = format!("the index on {descriptor} is new");
                Diagnostic::warning(INDEX_ADDED, message)
            } else if was_unique && !descriptor.unique {
                let message = format!("the index on {descriptor} is no longer unique");
                Diagnostic::note(INDEX_REMOVED, message)
            } else {
                continue;
            };
            if let Some(before) = before {
                change = change.and(&before.span, "this is the old version");
            }
            self.report(change, &index.span, "");
        }
        for index in old.iter().filter(|index| same(new, index).is_none()) {
            let message = format!("the index on {} was removed", index.descriptor);
            let change = Diagnostic::note(INDEX_REMOVED, message);
            self.sink
                .push(change.at(&index.span, "this is the old version"));
        }
    }
}

/// The index with the same fields and condition. If a field moved, its name is still the same.
fn same<'i>(indexes: &'i [TableIndex], index: &TableIndex) -> Option<&'i TableIndex> {
    let (key, text) = (index.descriptor.storage_key(), index.descriptor.to_string());
    indexes
        .iter()
        .find(|other| other.descriptor.storage_key() == key)
        .or_else(|| {
            indexes
                .iter()
                .find(|other| other.descriptor.to_string() == text)
        })
}
