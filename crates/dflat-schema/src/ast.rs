//! The syntax tree of a file, before names are resolved.
//!
//! Every node that a diagnostic can point at has a [`Span`]. A part that could not be parsed is
//! missing or [`TypeExpr::Invalid`], and its declaration is `broken`: later stages skip rules for
//! such a declaration if the error could only be a consequence of the one already reported.

use crate::schema::Span;

/// A parsed file.
#[derive(Debug, Default)]
pub(crate) struct Ast {
    /// The paths of `include` lines.
    pub(crate) includes: Vec<Name>,
    /// Enums, unions, structs and tables.
    pub(crate) declarations: Vec<Declaration>,
    /// The names of `attribute` lines.
    pub(crate) attributes: Vec<Name>,
    /// The `root_type` lines.
    pub(crate) roots: Vec<RootType>,
    /// The `file_identifier` lines.
    pub(crate) identifiers: Vec<Name>,
    /// The `file_extension` lines.
    pub(crate) extensions: Vec<Name>,
}

/// A name, or a string that is used as one.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A `root_type` line.
#[derive(Debug)]
pub(crate) struct RootType {
    pub(crate) path: Name,
    pub(crate) namespace: Vec<String>,
}

/// An enum, union, struct or table.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: Name,
    pub(crate) namespace: Vec<String>,
    pub(crate) docs: Vec<String>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) kind: DeclarationKind,
    /// A part of the declaration could not be parsed.
    pub(crate) broken: bool,
}

/// The kind of a declaration, with its contents.
#[derive(Debug)]
pub(crate) enum DeclarationKind {
    Enum {
        base: Option<TypeExpr>,
        values: Vec<EnumeratorDecl>,
    },
    Union {
        members: Vec<MemberDecl>,
    },
    Struct {
        fields: Vec<FieldDecl>,
    },
    Table {
        fields: Vec<FieldDecl>,
    },
}

/// A value of an enum.
#[derive(Debug)]
pub(crate) struct EnumeratorDecl {
    pub(crate) name: Name,
    pub(crate) docs: Vec<String>,
    pub(crate) value: Option<(i128, Span)>,
    pub(crate) attributes: Vec<Attribute>,
}

/// A member of a union.
#[derive(Debug)]
pub(crate) struct MemberDecl {
    pub(crate) alias: Option<Name>,
    /// The dotted name of its type.
    pub(crate) path: Name,
    pub(crate) docs: Vec<String>,
    pub(crate) code: Option<(i128, Span)>,
    pub(crate) attributes: Vec<Attribute>,
}

/// A field of a struct or table.
#[derive(Debug)]
pub(crate) struct FieldDecl {
    pub(crate) name: Name,
    pub(crate) docs: Vec<String>,
    pub(crate) ty: TypeExpr,
    pub(crate) default: Option<Value>,
    pub(crate) attributes: Vec<Attribute>,
}

/// A type, as written.
#[derive(Debug)]
pub(crate) enum TypeExpr {
    /// A dotted or built-in name.
    Named(Name),
    /// `[T]`.
    Vector(Name),
    /// `[T:n]`, with the span of the whole type.
    Array {
        element: Name,
        length: i128,
        span: Span,
    },
    /// Already reported.
    Invalid,
}

/// An attribute, as in `(id: 3)`.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Name,
    pub(crate) value: Option<Value>,
}

/// A default, or the value of an attribute.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) kind: ValueKind,
    pub(crate) span: Span,
}

/// The kind of a value, with its contents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ValueKind {
    Integer(i128),
    Float(f64),
    Text(String),
    /// A dotted name: a keyword such as `null` or `true`, or a value of an enum.
    Name(String),
    /// `[]`.
    EmptyVector,
    /// Already reported.
    Invalid,
}

impl Value {
    /// Describes the value in a message.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            ValueKind::Integer(value) => format!("`{value}`"),
            ValueKind::Float(value) => format!("`{value:?}`"),
            ValueKind::Text(text) => format!("the string {text:?}"),
            ValueKind::Name(name) => format!("`{name}`"),
            ValueKind::EmptyVector => "`[]`".to_owned(),
            ValueKind::Invalid => "an invalid value".to_owned(),
        }
    }
}
