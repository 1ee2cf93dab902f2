//! Compares the fields of tables, by number.

use std::collections::HashSet;

use dflat_model::Value;

use super::Comparison;
use super::code::{
    ADDED, DEFAULT_CHANGED, DEPRECATED, FIELD_MOVED, FIELD_REMOVED, FIELD_TYPE, INDEX_ADDED,
    INDEX_REMOVED, REQUIRED_CHANGED, UNIQUE_ADDED, UNIQUE_DEFAULT,
};
use super::shift::{Cause, Entries};
use crate::diagnostic::Diagnostic;
use crate::index::{IndexFinder, value};
use crate::schema::{
    Default, DefinitionKind, Element, Field, FieldType, Schema, Span, Storage, Table,
};

const FIELD_ORDER: &str =
    "add new fields after all others, or give every field an `id`, and keep the ids";

/// A field as the container of a value.
pub(super) struct Contents<'f> {
    /// The type of the value; `None` if no index can be inside.
    pub(super) element: Option<Element>,
    pub(super) storage: Storage,
    pub(super) span: &'f Span,
}

impl<'f> Contents<'f> {
    fn of(field: &'f Field) -> Self {
        let element = match field.ty {
            FieldType::Single(element) if !field.deprecated => Some(element),
            _ => None,
        };
        Self {
            element,
            storage: field.storage,
            span: &field.span,
        }
    }

    fn have_indexes(&self, schema: &Schema) -> bool {
        let finder = IndexFinder::new(&schema.definitions);
        let inside = |element| finder.has_path(element);
        !self.storage.no_indexes && self.element.is_some_and(inside)
    }
}

impl Comparison<'_> {
    pub(super) fn tables(&mut self, old: &Table, new: &Table) {
        let entries = Entries {
            old: old
                .fields
                .iter()
                .map(|field| number(field).into())
                .collect(),
            new: new
                .fields
                .iter()
                .map(|field| number(field).into())
                .collect(),
            pairs: self.field_pairs(old, new),
        };
        let mut taken: HashSet<usize> = entries.pairs.iter().flatten().copied().collect();
        for (at, field) in old.fields.iter().enumerate() {
            if entries.pairs[at].is_none() {
                taken.extend(at_number(new, field));
            }
        }
        let added = (0..new.fields.len()).filter(|at| !taken.contains(at));
        let added: Vec<usize> = added.collect();
        let causes = entries.causes(&added);
        let moved_by = |cause| {
            let name = |old_at: usize| old.fields[old_at].name.as_str();
            entries.moved_by(cause, &causes, name)
        };
        for (at, field) in old.fields.iter().enumerate() {
            let Some(same) = entries.pairs[at].map(|to| &new.fields[to]) else {
                let successor = at_number(new, field).map(|to| &new.fields[to]);
                self.removed(field, successor, moved_by(Cause::Removed(at)));
                continue;
            };
            if field.name != same.name {
                self.renamed("field", &field.name, &field.span, &same.name, &same.span);
            }
            if field.voffset == same.voffset {
                self.fields(field, same);
            } else if causes[at].is_none() {
                self.moved(field, same);
            }
        }
        for at in added {
            self.added(&new.fields[at], moved_by(Cause::Added(at)));
        }
        self.indexes(old, new);
    }

    /// By position of the old field: the same field of the new version. It has the same name, or
    /// the same number and type, and a new name.
    fn field_pairs(&mut self, old: &Table, new: &Table) -> Vec<Option<usize>> {
        let in_old = |name: &str| old.fields.iter().any(|field| field.name == name);
        let mut pairs = Vec::new();
        for field in &old.fields {
            let by_name = new.fields.iter().position(|other| other.name == field.name);
            let renamed = at_number(new, field).filter(|at| {
                by_name.is_none()
                    && !in_old(&new.fields[*at].name)
                    && self.same_type(field, &new.fields[*at])
            });
            pairs.push(by_name.or(renamed));
        }
        pairs
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
            self.report(
                change.and(&old.span, "this is the old version"),
                &new.span,
                "",
            );
        }
        let required = |field: &Field| field.required && !field.deprecated;
        if required(old) != required(new) {
            let what = if required(new) {
                "became required"
            } else {
                "is no longer required"
            };
            let change = Diagnostic::error(REQUIRED_CHANGED, format!("the field `{name}` {what}"))
                .help("undo this change, and let the program check that the field is set");
            self.report_both(change, &old.span, &new.span);
        }
        // This rule holds for deprecated fields too: objects keep their values, and a field
        // may be used again.
        if !self.same_type(old, new) {
            let deprecate = if new.deprecated {
                "restore the old type"
            } else {
                "deprecate the field with the old type"
            };
            let change = Diagnostic::error(FIELD_TYPE, format!("the type of `{name}` changed"))
                .help(format!("{deprecate}, and add a field with another name"));
            return self.report_both(change, &old.span, &new.span);
        }
        self.times(old, new);
        if !same_default(&old.default, &new.default) {
            let change = Diagnostic::error(
                DEFAULT_CHANGED,
                format!("the default of `{name}` changed"),
            )
            .help("keep the default: stored objects that have it would read as the new default");
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
        self.contents(name, &Contents::of(old), &Contents::of(new));
    }

    /// Compares whether the indexes inside of a field's value hold.
    pub(super) fn contents(&mut self, name: &str, old: &Contents<'_>, new: &Contents<'_>) {
        if old.storage.no_indexes == new.storage.no_indexes {
            return;
        }
        if old.have_indexes(self.old) {
            let message = format!("the values in `{name}` no longer have indexes");
            let change = Diagnostic::note(INDEX_REMOVED, message);
            self.report_both(change, old.span, new.span);
        } else if new.have_indexes(self.new) {
            let message = format!("the values in `{name}` have indexes again");
            let change = Diagnostic::warning(INDEX_ADDED, message)
                .help("if one of the indexes is `unique`, look for objects with the same value");
            self.report_both(change, old.span, new.span);
        }
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
                    .help("look for objects that have the same value");
            self.report(
                change.and(before, "this is the old version"),
                after,
                "its index will be built",
            );
        } else if new.indexed && !old.indexed {
            let change = Diagnostic::warning(INDEX_ADDED, format!("`{name}` has a new index"));
            self.report(
                change.and(before, "this had no index"),
                after,
                "the index will be built",
            );
        } else if old.indexed && (!new.indexed || old.unique != new.unique) {
            let what = if new.indexed {
                "is no longer unique"
            } else {
                "no longer has an index"
            };
            let change = Diagnostic::note(INDEX_REMOVED, format!("`{name}` {what}"));
            self.report(change.and(before, "this is the old version"), after, "");
        }
    }

    fn moved(&mut self, old: &Field, new: &Field) {
        let name = &new.name;
        let (before, after) = (number(old), number(new));
        let message = format!("the field `{name}` moved from number {before} to {after}");
        let change = Diagnostic::error(FIELD_MOVED, message).help(FIELD_ORDER);
        self.report_both(change, &old.span, &new.span);
    }

    fn removed(&mut self, old: &Field, successor: Option<&Field>, moved: Option<String>) {
        let name = &old.name;
        let message = format!("the field `{name}` was removed");
        let mut change = Diagnostic::error(FIELD_REMOVED, message)
            .at(&old.span, "the new version does not have this")
            .help(format!("keep the field as `{name}: .. (deprecated);`"));
        if let Some(successor) = successor {
            let text = format!("this now has the number {}", number(successor));
            change = change.and(&self.joined_span(&successor.span), text);
        }
        if let Some(moved) = moved {
            change = change.with_note(format!("the fields behind it moved: {moved}"));
        }
        self.sink.push(change);
    }

    fn added(&mut self, new: &Field, moved: Option<String>) {
        let name = &new.name;
        let moves = moved.is_some();
        if let Some(moved) = moved {
            let message = format!("the new field `{name}` moves the fields behind it");
            let change = Diagnostic::error(FIELD_MOVED, message)
                .with_note(format!("these fields moved: {moved}"))
                .help(FIELD_ORDER);
            self.report(change, &new.span, "");
        }
        if new.required && !new.deprecated {
            let message = format!("the new field `{name}` is required");
            let change = Diagnostic::error(REQUIRED_CHANGED, message)
                .help("remove `required`: old objects do not have the field");
            self.report(change, &new.span, "no old object has this field");
            return;
        }
        if !moves {
            let change = Diagnostic::note(ADDED, format!("the field `{name}` is new"));
            self.report(change, &new.span, "");
        }
        if new.deprecated {
            return;
        }
        if new.storage.unique && self.is_shared_if_absent(new) {
            let message =
                format!("the new field `{name}` is unique, and all objects have its default");
            let change = Diagnostic::error(UNIQUE_DEFAULT, message)
                .help("make the field optional, `= null`, or remove `unique`");
            self.report(change, &new.span, "all old objects have the same value");
        } else if new.storage.indexed {
            let change = Diagnostic::warning(INDEX_ADDED, format!("`{name}` has an index"));
            self.report(change, &new.span, "the index will be built");
        }
    }

    /// Whether objects without the field all have the same value in its index. NULL does not count:
    /// any number of objects may have it.
    fn is_shared_if_absent(&self, new: &Field) -> bool {
        // The index of a union has type codes, 0 if the union is empty.
        let is_union = match new.ty.element() {
            Element::Definition(id) => {
                matches!(self.new.definition(id).kind, DefinitionKind::Union(_))
            }
            _ => false,
        };
        is_union || !matches!(value(&new.default, None), Value::Null)
    }
}

/// The position of the new field that has the number of an old one.
fn at_number(new: &Table, old: &Field) -> Option<usize> {
    let mut fields = new.fields.iter();
    fields.position(|field| field.voffset == old.voffset)
}

/// The number of a field, as in its `id`.
fn number(field: &Field) -> u16 {
    field.voffset / 2 - 2
}

fn same_default(old: &Default, new: &Default) -> bool {
    match (old, new) {
        (Default::Float(old), Default::Float(new)) => old.to_bits() == new.to_bits(),
        // An absent vector reads as empty.
        (Default::Null | Default::EmptyVector, Default::Null | Default::EmptyVector) => true,
        (old, new) => old == new,
    }
}
