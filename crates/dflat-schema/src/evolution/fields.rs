//! The fields of tables, by number.

use dflat_model::Value;

use super::Comparison;
use super::code::{
    ADDED, DEFAULT_CHANGED, DEPRECATED, FIELD_MOVED, FIELD_REMOVED, FIELD_TYPE, INDEX_ADDED,
    INDEX_REMOVED, REQUIRED_CHANGED, UNIQUE_ADDED, UNIQUE_DEFAULT,
};
use crate::diagnostic::Diagnostic;
use crate::index::value;
use crate::schema::{
    Default, DefinitionKind, Element, Field, FieldType, Span, Storage, Table, TableIndex,
};

impl Comparison<'_> {
    pub(super) fn tables(&mut self, old: &Table, new: &Table) {
        let in_old = |name: &str| old.fields.iter().any(|field| field.name == name);
        let mut taken = Vec::new();
        for field in &old.fields {
            let by_name = new.fields.iter().find(|other| other.name == field.name);
            let by_number = new
                .fields
                .iter()
                .find(|other| other.voffset == field.voffset);
            match (by_name, by_number) {
                (Some(same), _) if same.voffset == field.voffset => self.fields(field, same),
                (Some(moved), _) => self.moved(field, moved),
                (None, Some(heir)) if !in_old(&heir.name) && self.same_type(field, heir) => {
                    self.renamed("field", &field.name, &field.span, &heir.name, &heir.span);
                    self.fields(field, heir);
                    taken.push(heir.voffset);
                }
                (None, heir) => {
                    self.removed(field, heir);
                    taken.extend(heir.map(|heir| heir.voffset));
                }
            }
        }
        let fresh = |field: &&Field| !in_old(&field.name) && !taken.contains(&field.voffset);
        for field in new.fields.iter().filter(fresh) {
            self.added(field);
        }
        self.indexes(&old.indexes, &new.indexes);
    }

    /// Compares the indexes that a table declares over several fields, or of some objects.
    fn indexes(&mut self, old: &[TableIndex], new: &[TableIndex]) {
        for index in new {
            let descriptor = &index.descriptor;
            let before = same(old, index);
            let was_unique = before.is_some_and(|before| before.descriptor.unique);
            let mut change = if descriptor.unique && !was_unique {
                let message = format!("values of {descriptor} become unique");
                let change = Diagnostic::warning(UNIQUE_ADDED, message);
                change.help("look for objects that share them")
            } else if before.is_none() {
                let message = format!("there is an index on {descriptor} now");
                Diagnostic::warning(INDEX_ADDED, message)
            } else if was_unique && !descriptor.unique {
                let message = format!("the index on {descriptor} is no longer unique");
                Diagnostic::note(INDEX_REMOVED, message)
            } else {
                continue;
            };
            if let Some(before) = before {
                change = change.and(&before.span, "it was this");
            }
            self.report(change, &index.span, "");
        }
        for index in old.iter().filter(|index| same(new, index).is_none()) {
            let message = format!("there is no index on {} any more", index.descriptor);
            let change = Diagnostic::note(INDEX_REMOVED, message);
            self.sink.push(change.at(&index.span, "it was this"));
        }
    }

    fn same_type(&mut self, old: &Field, new: &Field) -> bool {
        match (old.ty, new.ty) {
            (FieldType::Single(old), FieldType::Single(new))
            | (FieldType::Vector(old), FieldType::Vector(new)) => self.same_element(old, new),
            _ => false,
        }
    }

    fn fields(&mut self, old: &Field, new: &Field) {
        let name = &new.name;
        if old.deprecated != new.deprecated {
            let what = if new.deprecated {
                "is deprecated"
            } else {
                "is no longer deprecated"
            };
            let change = Diagnostic::note(DEPRECATED, format!("the field `{name}` {what}"));
            self.report(change.and(&old.span, "it was this"), &new.span, "");
        }
        let required = |field: &Field| field.required && !field.deprecated;
        if required(old) != required(new) {
            let what = if required(new) {
                "became required"
            } else {
                "is no longer required"
            };
            let change = Diagnostic::error(REQUIRED_CHANGED, format!("the field `{name}` {what}"))
                .help("give back what it was, and check where objects are made");
            self.report_both(change, &old.span, &new.span);
        }
        // Deprecated or not: objects keep what they have, and the field may come back.
        if !self.same_type(old, new) {
            let deprecate = if new.deprecated {
                "give back its type"
            } else {
                "deprecate it with the old type"
            };
            let change = Diagnostic::error(FIELD_TYPE, format!("the type of `{name}` changed"))
                .help(format!("{deprecate}, and add a field of another name"));
            return self.report_both(change, &old.span, &new.span);
        }
        if !same_default(&old.default, &new.default) {
            let change =
                Diagnostic::error(DEFAULT_CHANGED, format!("the default of `{name}` changed"))
                    .help("keep the default: it is what objects read as that were stored with it");
            self.report_both(change, &old.span, &new.span);
        }
        if new.deprecated {
            return;
        }
        let before = if old.deprecated {
            Storage::default()
        } else {
            old.storage
        };
        self.storage(name, (before, &old.span), (new.storage, &new.span));
    }

    /// Compares the indexes of a field.
    pub(super) fn storage(
        &mut self,
        name: &str,
        (old, before): (Storage, &Span),
        (new, after): (Storage, &Span),
    ) {
        if new.unique && !old.unique {
            let change =
                Diagnostic::warning(UNIQUE_ADDED, format!("values of `{name}` become unique"))
                    .help("look for objects that share a value");
            self.report(
                change.and(before, "it was this"),
                after,
                "its index is to be built",
            );
        } else if new.indexed && !old.indexed {
            let change = Diagnostic::warning(INDEX_ADDED, format!("`{name}` has an index now"));
            self.report(
                change.and(before, "it had none"),
                after,
                "it is to be built",
            );
        } else if old.indexed && (!new.indexed || old.unique != new.unique) {
            let what = if new.indexed {
                "is no longer unique"
            } else {
                "has no index any more"
            };
            let change = Diagnostic::note(INDEX_REMOVED, format!("`{name}` {what}"));
            self.report(change.and(before, "it was this"), after, "");
        }
    }

    fn moved(&mut self, old: &Field, new: &Field) {
        let name = &new.name;
        let (before, after) = (number(old), number(new));
        let message = format!("the field `{name}` moved from number {before} to {after}");
        let change = Diagnostic::error(FIELD_MOVED, message)
            .help("put new fields behind all others, or give each its `id`, and keep them");
        self.report_both(change, &old.span, &new.span);
    }

    fn removed(&mut self, old: &Field, heir: Option<&Field>) {
        let name = &old.name;
        let message = format!("the field `{name}` was removed");
        let mut change = Diagnostic::error(FIELD_REMOVED, message)
            .at(&old.span, "this is not in the new version")
            .help(format!("keep it, as `{name}: .. (deprecated);`"));
        if let Some(heir) = heir {
            let text = format!("this has its number, {}, now", number(heir));
            change = change.and(&self.place(&heir.span), text);
        }
        self.sink.push(change);
    }

    fn added(&mut self, new: &Field) {
        let name = &new.name;
        if new.required && !new.deprecated {
            let message = format!("the new field `{name}` is required");
            let change = Diagnostic::error(REQUIRED_CHANGED, message)
                .help("leave `required` out: old objects cannot have the field");
            self.report(change, &new.span, "no old object has it");
            return;
        }
        let change = Diagnostic::note(ADDED, format!("the field `{name}` is new"));
        self.report(change, &new.span, "");
        if new.deprecated {
            return;
        }
        if new.storage.unique && self.is_shared_if_absent(new) {
            let message =
                format!("the new field `{name}` is unique, and all objects have its default");
            let change = Diagnostic::error(UNIQUE_DEFAULT, message)
                .help("make it optional, `= null`, or leave `unique` out");
            self.report(change, &new.span, "all old objects share one value");
        } else if new.storage.indexed {
            let change = Diagnostic::warning(INDEX_ADDED, format!("`{name}` has an index"));
            self.report(change, &new.span, "it is to be built");
        }
    }

    /// Whether objects without the field have one value in its index; many may have NULL.
    fn is_shared_if_absent(&self, new: &Field) -> bool {
        // A union's index has type codes: 0 if it is empty.
        let is_union = match new.ty.element() {
            Element::Definition(id) => {
                matches!(self.new.definition(id).kind, DefinitionKind::Union(_))
            }
            _ => false,
        };
        is_union || !matches!(value(&new.default, None), Value::Null)
    }
}

/// The number of a field, as `id` counts.
fn number(field: &Field) -> u16 {
    field.voffset / 2 - 2
}

fn same_default(old: &Default, new: &Default) -> bool {
    match (old, new) {
        (Default::Float(old), Default::Float(new)) => old.to_bits() == new.to_bits(),
        // A vector that is absent is empty.
        (Default::Null | Default::EmptyVector, Default::Null | Default::EmptyVector) => true,
        (old, new) => old == new,
    }
}

/// The index among these that holds the same.
fn same<'i>(indexes: &'i [TableIndex], index: &TableIndex) -> Option<&'i TableIndex> {
    let key = index.descriptor.storage_key();
    indexes
        .iter()
        .find(|other| other.descriptor.storage_key() == key)
}
