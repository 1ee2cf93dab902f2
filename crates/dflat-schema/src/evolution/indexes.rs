//! Compares the indexes that tables declare over several fields, or of some objects.

use super::Comparison;
use super::code::{INDEX_ADDED, INDEX_REMOVED, UNIQUE_ADDED, UNIQUE_DEFAULT};
use super::stored::{Entries, entries};
use crate::diagnostic::Diagnostic;
use crate::schema::{Table, TableIndex};

impl Comparison<'_> {
    /// Compares the indexes that a table declares over several fields, or of some objects.
    pub(super) fn indexes(&mut self, old_table: &Table, new_table: &Table) {
        let (old, new) = (&old_table.indexes, &new_table.indexes);
        for index in new {
            let descriptor = &index.descriptor;
            let before = same(old, index);
            let was_unique = before.is_some_and(|before| before.descriptor.unique);
            let tables = ((self.old, old_table), (self.new, new_table));
            let becomes_unique = descriptor.unique && !was_unique;
            let found = becomes_unique.then(|| entries(tables, descriptor));
            let mut change = if found == Some(Entries::Equal) {
                let message = format!(
                    "the index on {descriptor} is unique, and old objects have only defaults in it"
                );
                Diagnostic::error(UNIQUE_DEFAULT, message)
                    .help("make a field of the index optional, `= null`, or remove `unique`")
            } else if found == Some(Entries::Any) || becomes_unique && before.is_some() {
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
            let text = match found {
                Some(Entries::Equal) => "all old objects in it have the same values",
                _ => "",
            };
            self.report(change, &index.span, text);
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
