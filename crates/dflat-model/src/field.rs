//! Paths to values inside an object, as plain data.

use std::borrow::Cow;
use std::fmt;

use crate::{Scalar, Value};

/// One step of a path, from a FlatBuffers table, struct or union towards a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A field of a table, by vtable offset. For a union, it is the offset of the value and not
    /// that of the type code.
    Field(u16),
    /// A field of a struct, by byte offset.
    Offset(u16),
    /// The member of a union, by type code; NULL if the union holds another member or is empty.
    Member(u8),
    /// The type code of a union. It is 0, and never NULL, if the union is empty.
    Tag,
}

/// The type of a field that queries, keys and indexes can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A number, a boolean, or the number of an enum.
    Scalar(Scalar),
    /// A string.
    Text,
}

/// A path to a scalar or a string inside an object. Predicates, orders, keys and indexes use paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name in the schema, such as `priority` or `content.TextContent.text`.
    pub name: Cow<'static, str>,
    /// The steps from the object's root table.
    pub steps: Cow<'static, [Step]>,
    /// The type of the value.
    pub kind: FieldKind,
    /// The value if the field of the last step is absent from its table. If a table, struct or
    /// union member before the last step is absent, the value is NULL and not this default.
    pub default: Value,
}

impl Field {
    /// The key of the field in names of storage tables: `f8`, `f4__f0`, `f26__u2__f4`, `f26__type`.
    ///
    /// Source: the file format of Dflat for Swift.
    #[must_use]
    pub fn storage_key(&self) -> String {
        let parts: Vec<String> = self
            .steps
            .iter()
            .map(|step| match step {
                Step::Field(offset) | Step::Offset(offset) => format!("f{offset}"),
                Step::Member(code) => format!("u{code}"),
                Step::Tag => "type".to_owned(),
            })
            .collect();
        parts.join("__")
    }

    /// Whether the field is the type code of a union.
    #[must_use]
    pub fn is_tag(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Tag))
    }

    /// The storage class of the column that holds the value.
    #[must_use]
    pub const fn column_type(&self) -> ColumnType {
        match self.kind {
            FieldKind::Text => ColumnType::Text,
            FieldKind::Scalar(scalar) if scalar.is_float() => ColumnType::Real,
            FieldKind::Scalar(_) => ColumnType::Integer,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A path to a vector inside an object. Conditions on members use it.
///
/// The paths of such a condition start at a member. For a scalar or a string, the path has no step;
/// for a field of a struct or table, it has the field's step; for a union, it begins with
/// [`Step::Member`] or [`Step::Tag`].
#[derive(Clone, Debug, PartialEq)]
pub struct VectorField {
    /// The name in the schema, such as `tags`.
    pub name: Cow<'static, str>,
    /// The steps from the object's root table.
    pub steps: Cow<'static, [Step]>,
    /// The type of the members.
    pub member: VectorMember,
}

/// The type of a vector's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorMember {
    /// Numbers, booleans, or the numbers of enums.
    Scalar(Scalar),
    /// Strings.
    Text,
    /// Structs of this size in bytes.
    Struct(u32),
    /// FlatBuffers tables.
    Table,
    /// Unions.
    Union,
}

impl VectorMember {
    /// The size in bytes of a member in its vector.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar.size_bytes(),
            Self::Struct(size) => size as usize,
            Self::Text | Self::Table | Self::Union => 4,
        }
    }
}

impl fmt::Display for VectorField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The declared type of a key or index column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Booleans, integers, enums, type codes.
    Integer,
    /// Floating-point numbers.
    Real,
    /// Strings.
    Text,
}

impl ColumnType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Integer, Self::Real, Self::Text];

    /// The name of the type in SQL.
    #[must_use]
    pub const fn sql_name(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
            Self::Text => "TEXT",
        }
    }
}
