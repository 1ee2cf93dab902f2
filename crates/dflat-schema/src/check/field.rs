//! The rules of FlatBuffers on which attributes a field of each type may have.

use std::collections::HashMap;

use dflat_model::Scalar;

use crate::ast::{DeclarationKind, FieldDecl};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::{Draft, Kind, attribute};
use crate::schema::{DefinitionId, DefinitionKind, Element, FieldType, Span};

pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    for id in draft.ids() {
        let declared = match &draft.declarations[id.0 as usize].kind {
            DeclarationKind::Struct { fields } | DeclarationKind::Table { fields } => fields,
            _ => continue,
        };
        let types = types(draft, id);
        let mut key: Option<&Span> = None;
        for (position, (field, ty)) in declared.iter().zip(&types).enumerate() {
            if draft.is_poisoned(id, position) {
                continue;
            }
            let Some(ty) = *ty else { continue };
            // On a field of a struct, `required` was reported as misplaced already.
            if draft.scope.kind(id) == Kind::Table {
                check_required(draft, field, ty, sink);
            }
            check_bytes(draft, id, field, ty, sink);
            check_hash(draft, field, ty, sink);
            check_key(draft, field, ty, &mut key, sink);
            if attribute::has(&field.attributes, "shared") && ty != FieldType::Single(Element::Text)
            {
                report(field, "shared", "a string", &describe(draft, ty), sink);
            }
        }
        check_tags(draft, declared, &types, sink);
    }
}

/// The types of the fields; `None` for an array in a struct, to which none of these rules applies.
fn types(draft: &Draft<'_>, id: DefinitionId) -> Vec<Option<FieldType>> {
    match &draft.definitions[id.0 as usize].kind {
        DefinitionKind::Table(table) => table.fields.iter().map(|field| Some(field.ty)).collect(),
        DefinitionKind::Struct(found) => {
            let single = found.fields.iter().map(|field| match field.array {
                None => Some(FieldType::Single(field.element)),
                Some(_) => None,
            });
            single.collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn describe(draft: &Draft<'_>, ty: FieldType) -> String {
    let element = draft.scope.describe(ty.element());
    match ty {
        FieldType::Single(_) => element,
        FieldType::Vector(_) => format!("a vector of {element}"),
    }
}

fn is_scalar(draft: &Draft<'_>, element: Element) -> bool {
    matches!(element, Element::Scalar(_)) || draft.scope.kind_of(element) == Some(Kind::Enum)
}

/// Reports an attribute that needs another type.
fn report(field: &FieldDecl, name: &str, needed: &str, found: &str, sink: &mut Sink) {
    let Some(attribute) = attribute::find(&field.attributes, name) else {
        return;
    };
    let message = format!(
        "attribute `{name}` is not allowed on field `{}`",
        field.name.text
    );
    sink.push(
        Diagnostic::error(code::ATTRIBUTE_MISPLACED, message)
            .at(&attribute.name.span, format!("needs {needed}"))
            .and(&field.name.span, format!("is {found}"))
            .help(format!("remove `{name}`, or change the field's type")),
    );
}

fn check_required(draft: &Draft<'_>, field: &FieldDecl, ty: FieldType, sink: &mut Sink) {
    if attribute::has(&field.attributes, "required")
        && let FieldType::Single(element) = ty
        && is_scalar(draft, element)
    {
        let needed = "a string, vector, struct, table or union: numbers are never absent";
        report(field, "required", needed, &describe(draft, ty), sink);
    }
}

fn check_key<'a>(
    draft: &Draft<'_>,
    field: &'a FieldDecl,
    ty: FieldType,
    first: &mut Option<&'a Span>,
    sink: &mut Sink,
) {
    let Some(key) = attribute::find(&field.attributes, "key") else {
        return;
    };
    let sortable = match ty {
        FieldType::Single(element) => element == Element::Text || is_scalar(draft, element),
        FieldType::Vector(_) => false,
    };
    if !sortable {
        report(
            field,
            "key",
            "a number, an enum or a string",
            &describe(draft, ty),
            sink,
        );
    }
    if let Some(first) = first {
        sink.push(
            Diagnostic::error(code::SEVERAL_KEYS, "a table or struct has one `key`")
                .at(&key.name.span, "second key")
                .and(first, "first key")
                .help("remove one, or use `primary` to declare a primary key of several fields"),
        );
    } else {
        *first = Some(&key.name.span);
    }
}

/// Checks `nested_flatbuffer` and `flexbuffer`, which declare the contents of bytes.
fn check_bytes(
    draft: &Draft<'_>,
    id: DefinitionId,
    field: &FieldDecl,
    ty: FieldType,
    sink: &mut Sink,
) {
    let bytes = FieldType::Vector(Element::Scalar(Scalar::U8));
    for name in ["nested_flatbuffer", "flexbuffer"] {
        if attribute::has(&field.attributes, name) && ty != bytes {
            report(field, name, "`[ubyte]`", &describe(draft, ty), sink);
        }
    }
    let Some(path) = attribute::text(&field.attributes, "nested_flatbuffer") else {
        return;
    };
    let namespace = &draft.declarations[id.0 as usize].namespace;
    let found = draft.scope.find(field.name.span.file, namespace, path);
    if found.is_none_or(|found| draft.scope.kind(found) != Kind::Table) {
        let value = attribute::find(&field.attributes, "nested_flatbuffer");
        let Some(value) = value.and_then(|attribute| attribute.value.as_ref()) else {
            return;
        };
        sink.push(
            Diagnostic::error(
                code::ATTRIBUTE_VALUE,
                format!("{path:?} does not name a table"),
            )
            .at(&value.span, "not a table")
            .help("use the name of the table that the bytes hold"),
        );
    }
}

fn check_hash(draft: &Draft<'_>, field: &FieldDecl, ty: FieldType, sink: &mut Sink) {
    let Some(algorithm) = attribute::find(&field.attributes, "hash") else {
        return;
    };
    // In a vector, each element is a hash.
    let bits = match ty.element() {
        Element::Scalar(scalar) if !scalar.is_float() && scalar.size_bytes() > 1 => {
            scalar.size_bytes() * 8
        }
        _ => {
            let needed = "an integer type of 16, 32 or 64 bits";
            return report(field, "hash", needed, &describe(draft, ty), sink);
        }
    };
    let Some(name) = attribute::text(&field.attributes, "hash") else {
        return;
    };
    let names = [format!("fnv1_{bits}"), format!("fnv1a_{bits}")];
    if !names.iter().any(|known| known == name) {
        let span = algorithm
            .value
            .as_ref()
            .map_or(&algorithm.name.span, |value| &value.span);
        sink.push(
            Diagnostic::error(
                code::ATTRIBUTE_VALUE,
                format!("hash {name:?} does not fit the field"),
            )
            .at(span, format!("not a hash of {bits} bits"))
            .help(format!("use \"{}\" or \"{}\"", names[0], names[1])),
        );
    }
}

/// Reports a field that has the name of a union's hidden type code.
fn check_tags(
    draft: &Draft<'_>,
    declared: &[FieldDecl],
    types: &[Option<FieldType>],
    sink: &mut Sink,
) {
    let names: HashMap<&str, &Span> = declared
        .iter()
        .map(|field| (field.name.text.as_str(), &field.name.span))
        .collect();
    for (field, ty) in declared.iter().zip(types) {
        let kind = ty.and_then(|ty| draft.scope.kind_of(ty.element()));
        if kind != Some(Kind::Union) {
            continue;
        }
        let tag = format!("{}_type", field.name.text);
        if let Some(clash) = names.get(tag.as_str()) {
            let message = format!("field `{tag}` has the name of a union's type code");
            sink.push(
                Diagnostic::error(code::UNION_TAG_CLASH, message)
                    .at(clash, "defined here")
                    .and(
                        &field.name.span,
                        format!("this union has a hidden field `{tag}`"),
                    )
                    .help("rename one of the two"),
            );
        }
    }
}
