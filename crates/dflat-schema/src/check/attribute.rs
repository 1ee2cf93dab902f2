//! The rules for attributes: the items that may have each, and its value.

use crate::ast::{Attribute, DeclarationKind, ValueKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::known::{Argument, IGNORED, KNOWN, Target, UNSUPPORTED, suggestion};
use crate::resolve::{Draft, Scope};
use Target::{Enum, Struct, StructField, Table, TableField};

pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    let scope = &draft.scope;
    for declaration in &draft.declarations {
        let target = match &declaration.kind {
            DeclarationKind::Enum { values, .. } => {
                for value in values {
                    check_list(scope, Target::EnumValue, &value.attributes, sink);
                }
                Enum
            }
            DeclarationKind::Union { members } => {
                for member in members {
                    check_list(scope, Target::UnionMember, &member.attributes, sink);
                }
                Target::Union
            }
            DeclarationKind::Struct { fields } => {
                for field in fields {
                    check_list(scope, StructField, &field.attributes, sink);
                }
                Struct
            }
            DeclarationKind::Table { fields } => {
                for field in fields {
                    check_list(scope, TableField, &field.attributes, sink);
                }
                Table
            }
        };
        check_list(scope, target, &declaration.attributes, sink);
    }
}

fn check_list(scope: &Scope, target: Target, attributes: &[Attribute], sink: &mut Sink) {
    for (position, attribute) in attributes.iter().enumerate() {
        let name = &attribute.name;
        // The search for duplicates is quadratic, and a hostile list has a million attributes. Once
        // the sink is full, its result would not be shown.
        if sink.is_full() {
            return;
        }
        if let Some(first) = attributes[..position]
            .iter()
            .find(|first| first.name.text == name.text)
        {
            let message = format!("attribute `{}` is given twice", name.text);
            sink.push(
                Diagnostic::error(code::ATTRIBUTE_TWICE, message)
                    .at(&name.span, "given again here")
                    .and(&first.name.span, "first given here")
                    .help("remove one of them"),
            );
            continue;
        }
        if let Some((_, targets, argument)) = KNOWN.iter().find(|(known, ..)| *known == name.text) {
            if targets.contains(&target) {
                check_value(attribute, argument.at(target), sink);
            } else {
                report_misplaced(attribute, target, targets, sink);
            }
        } else if UNSUPPORTED.contains(&name.text.as_str()) {
            let message = format!("attribute `{}` is not supported", name.text);
            sink.push(
                Diagnostic::error(code::UNSUPPORTED_ATTRIBUTE, message)
                    .at(&name.span, "needs 64-bit offsets")
                    .help("remove it"),
            );
        } else if !IGNORED.contains(&name.text.as_str()) && !scope.attributes.contains(&name.text) {
            report_unknown(scope, attribute, sink);
        }
    }
}

fn report_misplaced(attribute: &Attribute, target: Target, targets: &[Target], sink: &mut Sink) {
    let name = &attribute.name;
    let message = format!(
        "attribute `{}` is not allowed on {}",
        name.text,
        target.name()
    );
    let allowed: Vec<&str> = targets.iter().map(|target| target.name()).collect();
    sink.push(
        Diagnostic::error(code::ATTRIBUTE_MISPLACED, message)
            .at(&name.span, "")
            .help(format!("it is allowed on {}", allowed.join(" or "))),
    );
}

fn report_unknown(scope: &Scope, attribute: &Attribute, sink: &mut Sink) {
    let name = &attribute.name;
    let help = match suggestion(scope, &name.text) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => format!(
            "if the attribute is your own, declare it: `attribute {:?};`",
            name.text
        ),
    };
    sink.push(
        Diagnostic::error(
            code::UNKNOWN_ATTRIBUTE,
            format!("attribute `{}` is not defined", name.text),
        )
        .at(&name.span, "")
        .help(help),
    );
}

fn check_value(attribute: &Attribute, argument: Argument, sink: &mut Sink) {
    let name = &attribute.name.text;
    let kind = attribute.value.as_ref().map(|value| &value.kind);
    let (expected, help) = match (argument, kind) {
        (_, Some(ValueKind::Invalid))
        | (Argument::Anything, _)
        | (Argument::Nothing | Argument::Reason | Argument::Index | Argument::KeyKind, None)
        | (Argument::Integer, Some(ValueKind::Integer(_)))
        | (
            Argument::Text | Argument::Reason | Argument::Index | Argument::KeyKind,
            Some(ValueKind::Text(_)),
        ) => return,
        (Argument::Integer, Some(ValueKind::Text(text))) if text.parse::<i128>().is_ok() => return,
        (Argument::Nothing, _) => ("no value", format!("write `{name}` alone")),
        // `deprecated: false` would deprecate the field.
        (Argument::Reason, _) => (
            "no value, or a string with the reason",
            format!("write `{name}` alone, or remove it"),
        ),
        (Argument::Index, _) => (
            "no value, or a string with the condition of an index",
            format!("write `{name}` alone, or `{name}: \"done == false\"`"),
        ),
        (Argument::KeyKind, _) => (
            "no value, or a string with the kind of keys",
            format!("write `{name}` alone, or `{name}: \"uuid_v7\"`"),
        ),
        (Argument::Integer, _) => ("an integer", format!("write `{name}: 4`, with your number")),
        (Argument::Text, _) => (
            "a string",
            format!("write `{name}: \"..\"`, with your string"),
        ),
    };
    let span = attribute
        .value
        .as_ref()
        .map_or(&attribute.name.span, |value| &value.span);
    let found = attribute
        .value
        .as_ref()
        .map_or_else(|| "none".to_owned(), |value| value.describe());
    sink.push(
        Diagnostic::error(
            code::ATTRIBUTE_VALUE,
            format!("attribute `{name}` takes {expected}"),
        )
        .at(span, format!("found {found}"))
        .help(help),
    );
}
