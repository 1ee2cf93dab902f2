//! The known attributes, the kinds of items that may have them, and the values they take.

use super::Scope;
use crate::ast::Attribute;
use crate::suggest::closest;

/// The kind of item that an attribute is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    Enum,
    EnumValue,
    Union,
    UnionMember,
    Struct,
    StructField,
    Table,
    TableField,
}

impl Target {
    pub(crate) fn name(self) -> &'static str {
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

/// The value that an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Argument {
    Nothing,
    Integer,
    Text,
    /// Nothing, or a string with the reason.
    Reason,
    /// Nothing, or a string with the kind of keys.
    KeyKind,
    /// On a table, a string that lists indexes; on a field of a table, nothing or a condition.
    Index,
    /// Any value; Dflat does not use it.
    Anything,
}

impl Argument {
    /// The argument of an attribute on one kind of item.
    pub(crate) fn at(self, target: Target) -> Self {
        match (self, target) {
            (Self::Index, Table) => Self::Text,
            (Self::Index, StructField) => Self::Nothing,
            (argument, _) => argument,
        }
    }
}

use Target::{Enum, Struct, StructField, Table, TableField};

/// The attributes with a meaning, the kinds of items that may have them, and their arguments.
pub(crate) const KNOWN: &[(&str, &[Target], Argument)] = &[
    ("primary", &[TableField, StructField], Argument::Nothing),
    (
        "indexed",
        &[TableField, StructField, Table],
        Argument::Index,
    ),
    ("unique", &[TableField, StructField, Table], Argument::Index),
    ("no_indexes", &[TableField, StructField], Argument::Nothing),
    ("v", &[Table], Argument::Text),
    ("auto", &[TableField], Argument::KeyKind),
    ("stored", &[Table], Argument::Nothing),
    ("time", &[TableField], Argument::Text),
    ("uuid", &[Struct], Argument::Nothing),
    ("id", &[TableField], Argument::Integer),
    ("deprecated", &[TableField], Argument::Reason),
    ("required", &[TableField], Argument::Nothing),
    ("key", &[TableField, StructField], Argument::Nothing),
    ("hash", &[TableField], Argument::Text),
    ("nested_flatbuffer", &[TableField], Argument::Text),
    ("flexbuffer", &[TableField], Argument::Nothing),
    ("shared", &[TableField], Argument::Nothing),
    (
        "force_align",
        &[Struct, Table, TableField],
        Argument::Integer,
    ),
    ("bit_flags", &[Enum], Argument::Nothing),
    ("original_order", &[Table, Struct], Argument::Anything),
];

/// Attributes of flatc's own generators, which are allowed everywhere and ignored.
pub(crate) const IGNORED: &[&str] = &[
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
pub(crate) const UNSUPPORTED: &[&str] = &["offset64", "vector64"];

/// Other words for attributes, whose spelling is not similar enough for `closest`.
const SYNONYMS: &[(&str, &str)] = &[
    ("pk", "primary"),
    ("version", "v"),
    ("autoincrement", "auto"),
    ("auto_increment", "auto"),
    ("timestamp", "time"),
];

/// Whether an attribute is known, or declared by the schema.
fn is_known(scope: &Scope, name: &str) -> bool {
    KNOWN.iter().any(|(known, ..)| *known == name)
        || IGNORED.contains(&name)
        || UNSUPPORTED.contains(&name)
        || scope.attributes.contains(name)
}

/// The attribute that an unknown name probably stands for.
pub(crate) fn suggestion<'a>(scope: &'a Scope, name: &str) -> Option<&'a str> {
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == name);
    if let Some((_, known)) = synonym {
        return Some(known);
    }
    let known = KNOWN.iter().map(|(known, ..)| *known);
    let known = known.chain(IGNORED.iter().copied());
    let declared = scope.attributes.iter().take(100).map(String::as_str);
    closest(name, known.chain(declared))
}

/// Whether one of the attributes probably stands for `wanted`, and is misspelt. Errors that follow
/// from that are not reported.
pub(crate) fn misspells<'a>(
    scope: &Scope,
    attributes: impl IntoIterator<Item = &'a Attribute>,
    wanted: &str,
) -> bool {
    // A hostile schema has a million attributes.
    const ATTRIBUTES_MAX: usize = 1_000;
    attributes
        .into_iter()
        .take(ATTRIBUTES_MAX)
        .map(|attribute| attribute.name.text.as_str())
        .any(|name| !is_known(scope, name) && suggestion(scope, name) == Some(wanted))
}
