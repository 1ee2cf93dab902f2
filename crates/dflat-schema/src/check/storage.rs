//! The rules for storage: keys, indexes, versions and the names of storage tables.

use std::collections::HashMap;

use super::field::describe;
use super::warning::Warnings;
use crate::ast::{DeclarationKind, FieldDecl};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::index::IndexFinder;
use crate::resolve::{Draft, Kind, attribute, known};
use crate::schema::{
    Default, Definition, DefinitionId, DefinitionKind, Element, Field, FieldType, Span, Storage,
    StructField, Table,
};

/// Prefixes of names that SQLite and Dflat reserve in a database file.
const RESERVED: [(&str, &str); 2] = [("sqlite_", "SQLite"), ("dflat__", "Dflat")];

pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    for id in draft.ids() {
        let declared = match &draft.declarations[id.0 as usize].kind {
            DeclarationKind::Struct { fields } | DeclarationKind::Table { fields } => fields,
            _ => continue,
        };
        let resolved = declared
            .iter()
            .enumerate()
            .filter(|(at, _)| !draft.is_poisoned(id, *at));
        match &draft.definitions[id.0 as usize].kind {
            DefinitionKind::Table(table) => {
                for (position, field) in resolved {
                    check_field(draft, field, &table.fields[position], sink);
                }
                check_version(draft, id, sink);
            }
            DefinitionKind::Struct(found) => {
                for (position, field) in resolved {
                    check_struct_field(draft, field, &found.fields[position], sink);
                }
            }
            _ => {}
        }
    }
    check_roots(draft, sink);
}

/// The attribute that declares a key or an index on a field.
fn storage_attribute(field: &FieldDecl) -> Option<(&str, &Span)> {
    ["primary", "unique", "indexed"].iter().find_map(|name| {
        attribute::find(&field.attributes, name).map(|found| (*name, &found.name.span))
    })
}

/// Reports `no_indexes` on a field whose type cannot contain indexes.
fn check_no_indexes(draft: &Draft<'_>, declared: &FieldDecl, ty: FieldType, sink: &mut Sink) {
    let Some(found) = attribute::find(&declared.attributes, "no_indexes") else {
        return;
    };
    let kind = draft.scope.kind_of(ty.element());
    if matches!(ty, FieldType::Single(_))
        && matches!(kind, Some(Kind::Table | Kind::Struct | Kind::Union))
    {
        return;
    }
    let name = &declared.name.text;
    let message = format!("attribute `no_indexes` is not allowed on field `{name}`");
    let help = match ty {
        FieldType::Vector(_) => "remove it: values in vectors have no indexes",
        FieldType::Single(_) => "remove it: only tables, structs and unions contain indexes",
    };
    sink.push(
        Diagnostic::error(code::ATTRIBUTE_MISPLACED, message)
            .at(&found.name.span, "needs a table, struct or union")
            .and(&declared.name.span, format!("is {}", describe(draft, ty)))
            .help(help),
    );
}

fn check_field(draft: &Draft<'_>, declared: &FieldDecl, field: &Field, sink: &mut Sink) {
    check_no_indexes(draft, declared, field.ty, sink);
    let Some((name, span)) = storage_attribute(declared) else {
        return;
    };
    let Storage { primary, .. } = field.storage;
    let kind = draft.scope.kind_of(field.ty.element());
    let problem = match field.ty {
        FieldType::Vector(_) => None,
        FieldType::Single(_) if matches!(kind, Some(Kind::Struct | Kind::Table)) => None,
        FieldType::Single(_) if primary && kind == Some(Kind::Union) => Some((
            "a union, and older programs may not know its type code",
            "use `indexed` to index the type code",
        )),
        FieldType::Single(_) if primary && field.deprecated => Some((
            "deprecated, so its value is not kept",
            "remove `deprecated`, or give the table a new version with `v:`",
        )),
        FieldType::Single(element)
            if primary && element != Element::Text && field.default == Default::Null =>
        {
            Some(("optional, so it may be absent", "remove `= null`"))
        }
        FieldType::Single(_) => return,
    };
    let Some((why, help)) = problem else {
        return report_type(declared, name, span, &describe(draft, field.ty), sink);
    };
    let message = format!("field `{}` cannot be part of the primary key", field.name);
    sink.push(
        Diagnostic::error(code::PRIMARY_MISPLACED, message)
            .at(span, "")
            .and(&field.span, format!("is {why}"))
            .help(help),
    );
}

fn check_struct_field(
    draft: &Draft<'_>,
    declared: &FieldDecl,
    field: &StructField,
    sink: &mut Sink,
) {
    let ty = match field.array {
        // The rule for arrays is that for vectors.
        Some(_) => FieldType::Vector(field.element),
        None => FieldType::Single(field.element),
    };
    check_no_indexes(draft, declared, ty, sink);
    let Some((name, span)) = storage_attribute(declared) else {
        return;
    };
    if field.storage.primary {
        let message = format!("field `{}` cannot be part of the primary key", field.name);
        sink.push(
            Diagnostic::error(code::PRIMARY_MISPLACED, message)
                .at(span, "")
                .and(&field.span, "is a field of a struct")
                .help("put the field into the root table itself"),
        );
    } else if field.array.is_some() {
        report_type(declared, name, span, "a fixed-length array", sink);
    } else if draft.scope.kind_of(field.element) == Some(Kind::Struct) {
        report_type(
            declared,
            name,
            span,
            &draft.scope.describe(field.element),
            sink,
        );
    }
}

fn report_type(field: &FieldDecl, name: &str, span: &Span, found: &str, sink: &mut Sink) {
    let message = format!("field `{}` cannot be `{name}`", field.name.text);
    let help = if found.starts_with("struct") || found.starts_with("table") {
        "mark fields inside of it with `indexed` instead"
    } else {
        "numbers, booleans, enums and strings can be; so can a union's type code, with `indexed`"
    };
    sink.push(
        Diagnostic::error(code::KEY_TYPE, message)
            .at(span, "")
            .and(&field.name.span, format!("is {found}"))
            .help(help),
    );
}

fn check_version(draft: &Draft<'_>, id: DefinitionId, sink: &mut Sink) {
    let attributes = &draft.declarations[id.0 as usize].attributes;
    let Some(version) = attribute::text(attributes, "v") else {
        return;
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if version.is_empty() || !version.chars().all(legal) {
        let value = attribute::find(attributes, "v").and_then(|found| found.value.as_ref());
        let Some(value) = value else { return };
        sink.push(
            Diagnostic::error(code::VERSION, format!("{version:?} cannot be a version"))
                .at(&value.span, "becomes part of the storage table's name")
                .help("use letters, digits, `_` and `.`, such as \"1.1\""),
        );
    }
}

fn check_roots(draft: &Draft<'_>, sink: &mut Sink) {
    let finder = IndexFinder::new(&draft.definitions);
    let mut names: HashMap<String, &Definition> = HashMap::new();
    let mut warnings = Warnings::new(draft);
    // The reason may be an error: the name of the root table may be mistyped.
    if !sink.has_failed() {
        warnings.nothing_stored();
    }
    for id in draft.ids() {
        let definition = &draft.definitions[id.0 as usize];
        let DefinitionKind::Table(table @ Table { root: true, .. }) = &definition.kind else {
            continue;
        };
        warnings.float_key(definition, table);
        let has_key = table.fields.iter().any(|field| field.storage.primary);
        if !has_key && !draft.is_broken(id) && !misspells_key(draft, id) {
            report_keyless(draft, definition, table, sink);
        }
        let Some(name) = definition.storage_name() else {
            continue;
        };
        if let Some((_, owner)) = RESERVED.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            let message = format!("table `{}` would be stored as `{name}`", definition.name);
            sink.push(
                Diagnostic::error(code::STORAGE_NAME_RESERVED, message)
                    .at(
                        &definition.span,
                        format!("this name is reserved for {owner}"),
                    )
                    .help("rename the table, or put it into another namespace"),
            );
        }
        let mut stored = vec![name.clone()];
        match finder.search(id) {
            Ok(found) => {
                warnings.inherited(definition, found.inherited);
                for index in found.indexes {
                    // The names of other indexes differ from those of Dflat for Swift.
                    let ours = if index.is_plain() { "" } else { "dflat__" };
                    stored.push(format!("{ours}{name}__{}", index.storage_key()));
                }
            }
            Err(limit) => {
                let message = format!("table `{}` has too many indexes", definition.name);
                sink.push(
                    Diagnostic::error(code::TOO_MANY_INDEXES, message)
                        .at(&definition.span, limit)
                        .help("index fewer fields of the tables it contains"),
                );
            }
        }
        let indexes: Vec<String> = stored[1..]
            .iter()
            .map(|table| format!("index__{table}"))
            .collect();
        stored.extend(indexes);
        for name in stored {
            if let Some(first) = names.get(&name) {
                report_clash(&name, first, definition, sink);
                break;
            }
            names.insert(name, definition);
        }
    }
    warnings.report(sink);
}

/// Whether a field of the table has a misspelt `primary`, which was reported.
fn misspells_key(draft: &Draft<'_>, id: DefinitionId) -> bool {
    let DeclarationKind::Table { fields } = &draft.declarations[id.0 as usize].kind else {
        return false;
    };
    let attributes = fields.iter().flat_map(|field| &field.attributes);
    known::misspells(&draft.scope, attributes, "primary")
}

fn report_keyless(draft: &Draft<'_>, definition: &Definition, table: &Table, sink: &mut Sink) {
    let candidate = table.fields.iter().find(|field| match field.ty {
        FieldType::Single(Element::Text | Element::Scalar(_)) => !field.deprecated,
        FieldType::Single(element) => draft.scope.kind_of(element) == Some(Kind::Enum),
        FieldType::Vector(_) => false,
    });
    let help = match candidate {
        Some(field) => {
            let ty = describe(draft, field.ty);
            let ty = ty.rsplit(' ').next().unwrap_or(&ty).trim_matches('`');
            format!(
                "mark the fields that identify an object: `{}: {ty} (primary);`",
                field.name
            )
        }
        None => "add a field that identifies an object: `id: string (primary);`".to_owned(),
    };
    let message = format!("root table `{}` has no primary key", definition.name);
    sink.push(
        Diagnostic::error(code::NO_PRIMARY_KEY, message)
            .at(&definition.span, "no field is `primary`")
            .help(help),
    );
}

fn report_clash(name: &str, first: &Definition, second: &Definition, sink: &mut Sink) {
    let (one, other) = (first.full_name(), second.full_name());
    let message = format!("tables `{one}` and `{other}` would both be stored as `{name}`");
    sink.push(
        Diagnostic::error(code::STORAGE_NAME_TWICE, message)
            .at(&second.span, "second")
            .and(&first.span, "first")
            .help("rename one, or give it a version: `(v: \"2\")`"),
    );
}
