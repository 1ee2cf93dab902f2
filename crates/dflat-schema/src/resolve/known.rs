//! The known attributes, the kinds of items that may have them, and the values they take.

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
    ("v", &[Table], Argument::Text),
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
