//! Which attributes exist, where they may stand, and what values they take.

use crate::ast::{Attribute, DeclarationKind, ValueKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::{Draft, Scope, suggest::closest};

/// Where an attribute stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Enum,
    EnumValue,
    Union,
    UnionMember,
    Struct,
    StructField,
    Table,
    TableField,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Enum => "an enum",
            Self::EnumValue => "an enum's value",
            Self::Union => "a union",
            Self::UnionMember => "a union's member",
            Self::Struct => "a struct",
            Self::StructField => "a field of a struct",
            Self::Table => "a table",
            Self::TableField => "a field of a table",
        }
    }
}

/// The value an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Takes {
    Nothing,
    Integer,
    Text,
    /// Nothing, or a text that says why.
    Reason,
    /// On a table the text of indexes, on its field nothing or a condition.
    Index,
    /// Anything: Dflat does not use it.
    Anything,
}

impl Takes {
    /// What is taken at a place.
    fn at(self, place: Place) -> Self {
        match (self, place) {
            (Self::Index, Table) => Self::Text,
            (Self::Index, StructField) => Self::Nothing,
            (takes, _) => takes,
        }
    }
}

use Place::{Enum, Struct, StructField, Table, TableField};

/// The attributes with a meaning, and where they have it.
const KNOWN: &[(&str, &[Place], Takes)] = &[
    ("primary", &[TableField, StructField], Takes::Nothing),
    ("indexed", &[TableField, StructField, Table], Takes::Index),
    ("unique", &[TableField, StructField, Table], Takes::Index),
    ("v", &[Table], Takes::Text),
    ("id", &[TableField], Takes::Integer),
    ("deprecated", &[TableField], Takes::Reason),
    ("required", &[TableField], Takes::Nothing),
    ("key", &[TableField, StructField], Takes::Nothing),
    ("hash", &[TableField], Takes::Text),
    ("nested_flatbuffer", &[TableField], Takes::Text),
    ("flexbuffer", &[TableField], Takes::Nothing),
    ("shared", &[TableField], Takes::Nothing),
    ("force_align", &[Struct, Table, TableField], Takes::Integer),
    ("bit_flags", &[Enum], Takes::Nothing),
    ("original_order", &[Table, Struct], Takes::Anything),
];

/// Attributes of flatc's own generators, legal everywhere and without a meaning here.
const IGNORED: &[&str] = &[
    "cpp_ptr_type",
    "cpp_ptr_type_get",
    "cpp_str_flex_ctor",
    "cpp_str_type",
    "cpp_type",
    "csharp_partial",
    "idempotent",
    "native_custom_alloc",
    "native_default",
    "native_inline",
    "native_type",
    "native_type_pack_name",
    "private",
    "streaming",
];

/// Attributes that change the format.
const UNSUPPORTED: &[&str] = &["offset64", "vector64"];

pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    let scope = &draft.scope;
    for declaration in &draft.declarations {
        let place = match &declaration.kind {
            DeclarationKind::Enum { values, .. } => {
                for value in values {
                    check_list(scope, Place::EnumValue, &value.attributes, sink);
                }
                Enum
            }
            DeclarationKind::Union { members } => {
                for member in members {
                    check_list(scope, Place::UnionMember, &member.attributes, sink);
                }
                Place::Union
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
        check_list(scope, place, &declaration.attributes, sink);
    }
}

fn check_list(scope: &Scope, place: Place, attributes: &[Attribute], sink: &mut Sink) {
    for (position, attribute) in attributes.iter().enumerate() {
        let name = &attribute.name;
        // No search once nobody would see its result: a hostile list has a million attributes.
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
        if let Some((_, places, takes)) = KNOWN.iter().find(|(known, ..)| *known == name.text) {
            if places.contains(&place) {
                check_value(attribute, takes.at(place), sink);
            } else {
                report_misplaced(attribute, place, places, sink);
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

fn report_misplaced(attribute: &Attribute, place: Place, places: &[Place], sink: &mut Sink) {
    let name = &attribute.name;
    let message = format!("attribute `{}` cannot stand on {}", name.text, place.name());
    let allowed: Vec<&str> = places.iter().map(|place| place.name()).collect();
    sink.push(
        Diagnostic::error(code::ATTRIBUTE_MISPLACED, message)
            .at(&name.span, "")
            .help(format!("it can stand on {}", allowed.join(" or "))),
    );
}

fn report_unknown(scope: &Scope, attribute: &Attribute, sink: &mut Sink) {
    let name = &attribute.name;
    let known = KNOWN
        .iter()
        .map(|(known, ..)| *known)
        .chain(IGNORED.iter().copied());
    let declared = scope.attributes.iter().take(100).map(String::as_str);
    // Too far away to be found by its letters.
    let similar = if name.text == "version" {
        Some("v")
    } else {
        None
    };
    let help = match similar.or_else(|| closest(&name.text, known.chain(declared))) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => format!("declare it if it is your own: `attribute {:?};`", name.text),
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

fn check_value(attribute: &Attribute, takes: Takes, sink: &mut Sink) {
    let name = &attribute.name.text;
    let kind = attribute.value.as_ref().map(|value| &value.kind);
    let (expected, help) = match (takes, kind) {
        (_, Some(ValueKind::Invalid))
        | (Takes::Anything, _)
        | (Takes::Nothing | Takes::Reason | Takes::Index, None)
        | (Takes::Integer, Some(ValueKind::Integer(_)))
        | (Takes::Text | Takes::Reason | Takes::Index, Some(ValueKind::Text(_))) => return,
        (Takes::Integer, Some(ValueKind::Text(text))) if text.parse::<i128>().is_ok() => return,
        (Takes::Nothing, _) => ("no value", format!("write `{name}` alone")),
        // `deprecated: false` would say the opposite of what it does.
        (Takes::Reason, _) => (
            "no value, or a text that says why",
            format!("write `{name}` alone, or remove it"),
        ),
        (Takes::Index, _) => (
            "no value, or the condition of an index as a text",
            format!("write `{name}` alone, or `{name}: \"done == false\"`"),
        ),
        (Takes::Integer, _) => ("an integer", format!("write `{name}: 4`, with your number")),
        (Takes::Text, _) => (
            "a string",
            format!("write `{name}: \"..\"`, with your text"),
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
