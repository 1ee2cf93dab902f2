//! Warnings about rules of storage that a schema probably does not intend.

use std::collections::HashSet;

use crate::diagnostic::{Diagnostic, Sink, code};
use crate::index::Inherited;
use crate::resolve::Draft;
use crate::schema::{Definition, DefinitionKind, Element, FieldType, Span, Table};

/// Collects the warnings about root tables. Each field is reported once.
pub(super) struct Warnings<'a> {
    draft: &'a Draft<'a>,
    reported: HashSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Warnings<'a> {
    pub(super) fn new(draft: &'a Draft<'a>) -> Self {
        Self {
            draft,
            reported: HashSet::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Warns about fields that hold a stored table with `unique` values.
    pub(super) fn inherited(&mut self, root: &Definition, inherited: Vec<Inherited>) {
        for Inherited {
            field,
            owner,
            index,
        } in inherited
        {
            if !self.reported.insert(field.clone()) {
                continue;
            }
            let (root, owner) = (&root.name, &self.draft.definitions[owner.0 as usize]);
            let message = format!("`{root}` refuses a second object with the same `{index}`");
            let held = format!(
                "holds `{}`, which is stored, and its `unique` values",
                owner.name
            );
            self.diagnostics.push(
                Diagnostic::warning(code::UNIQUE_INHERITED, message)
                    .at(&field, held)
                    .and(&owner.span, "declares the `unique` values")
                    .help(format!(
                        "write `(no_indexes)` on the field if objects of `{root}` may share these \
                         values"
                    )),
            );
        }
    }

    /// Warns about floats in the primary key.
    pub(super) fn float_key(&mut self, root: &Definition, table: &Table) {
        let fields = table.fields.iter().filter(|field| field.storage.primary);
        for field in fields {
            let FieldType::Single(Element::Scalar(scalar)) = field.ty else {
                continue;
            };
            if scalar.is_float() {
                let message = format!(
                    "the primary key of `{}` has a `{}`",
                    root.name,
                    scalar.name()
                );
                self.diagnostics.push(
                    Diagnostic::warning(code::FLOAT_KEY, message)
                        .at(
                            &field.span,
                            "rounded values are not equal, and NaN is refused",
                        )
                        .help("use an integer, such as a number of cents, or a string"),
                );
            }
        }
    }

    /// Warns about a schema that stores nothing, although a table has a primary key.
    pub(super) fn nothing_stored(&mut self) {
        let mut keyed = None;
        for definition in &self.draft.definitions {
            let DefinitionKind::Table(table) = &definition.kind else {
                continue;
            };
            if table.root {
                return;
            }
            if table.fields.iter().any(|field| field.storage.primary) {
                keyed = keyed.or(Some(definition));
            }
        }
        let Some(keyed) = keyed else { return };
        let name = &keyed.name;
        let message = format!("objects of `{name}` are not stored: the schema has no root table");
        self.diagnostics.push(
            Diagnostic::warning(code::NOTHING_STORED, message)
                .at(&keyed.span, "has a primary key")
                .help(format!(
                    "add `root_type {name};`, or mark the table: `table {name} (stored)`"
                )),
        );
    }

    pub(super) fn report(self, sink: &mut Sink) {
        sink.extend(self.diagnostics);
    }
}
