//! The rules for keys that the library assigns.

use dflat_model::{AutoKey, Scalar};

use super::field::describe;
use crate::ast::{Attribute, DeclarationKind, FieldDecl, ValueKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::{Draft, attribute};
use crate::schema::{Default, DefinitionKind, Element, Field, FieldType, Table};

pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    for id in draft.ids() {
        let DeclarationKind::Table { fields } = &draft.declarations[id.0 as usize].kind else {
            continue;
        };
        let DefinitionKind::Table(table) = &draft.definitions[id.0 as usize].kind else {
            continue;
        };
        for (position, declared) in fields.iter().enumerate() {
            if draft.is_poisoned(id, position) {
                continue;
            }
            if let Some(auto) = attribute::find(&declared.attributes, "auto") {
                check_field(draft, table, declared, &table.fields[position], auto, sink);
            }
        }
    }
}

fn check_field(
    draft: &Draft<'_>,
    table: &Table,
    declared: &FieldDecl,
    field: &Field,
    auto: &Attribute,
    sink: &mut Sink,
) {
    let text = match auto.value.as_ref().map(|value| &value.kind) {
        None => None,
        Some(ValueKind::Text(text)) => Some(text.as_str()),
        // Reported as a wrong value of the attribute.
        Some(_) => return,
    };
    let keys = table.fields.iter().filter(|field| field.storage.primary);
    let number = FieldType::Single(Element::Scalar(Scalar::U64));
    let string = FieldType::Single(Element::Text);
    let (why, help) = if field.storage.auto.is_none() {
        let found = format!(
            "has keys of the unknown kind {:?}",
            text.unwrap_or_default()
        );
        (found, "write `auto` alone, or `auto: \"uuid_v7\"`")
    } else if !field.storage.primary {
        let help = "add `primary`, or remove `auto`: the library assigns keys only";
        ("is not the primary key".to_owned(), help)
    } else if keys.count() > 1 {
        let help = "make it the only field of the key, or remove `auto`";
        ("is one of several fields of the key".to_owned(), help)
    } else if field.storage.auto == Some(AutoKey::Increasing) && field.ty != number {
        let help = if field.ty == string {
            "make it a `ulong`, or write `auto: \"uuid_v7\"` for a string"
        } else {
            "make it a `ulong`"
        };
        (format!("is {}", describe(draft, field.ty)), help)
    } else if field.storage.auto == Some(AutoKey::UuidV7) && field.ty != string {
        let help = if field.ty == number {
            "make it a string, or write `auto` alone for a `ulong`"
        } else {
            "make it a string"
        };
        (format!("is {}", describe(draft, field.ty)), help)
    } else if !is_plain_default(&field.default) {
        let help = "remove the default";
        (
            "has a default, which the library would replace".to_owned(),
            help,
        )
    } else {
        return;
    };
    let message = format!("field `{}` cannot be `auto`", field.name);
    sink.push(
        Diagnostic::error(code::AUTO_KEY, message)
            .at(&auto.name.span, "")
            .and(&declared.name.span, why)
            .help(help),
    );
}

/// Whether a field has the default of its type. A `ulong` that is optional is reported as a key
/// that may be absent.
fn is_plain_default(default: &Default) -> bool {
    match default {
        Default::Null | Default::Integer(0) => true,
        Default::Text(text) => text.is_empty(),
        _ => false,
    }
}
