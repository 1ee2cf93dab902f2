//! The checked schema, with resolved names and a layout. Later stages need nothing of the syntax.
//!
//! A [`Schema`] exists only if there was no error: every reference resolves, every offset is
//! assigned, and every default fits its type. Code that uses a schema need not check this again.

use std::ops::Range;

use dflat_model::{AutoKey, IndexDescriptor, Scalar};

/// Index of a [`SourceFile`] in [`Schema::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// Index of a [`Definition`] in [`Schema::definitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionId(pub u32);

/// A range of bytes in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The range of bytes in the file's text.
    pub range: Range<usize>,
}

/// A checked schema of one or more files.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The requested files and the files they include.
    pub files: Vec<SourceFile>,
    /// All types, in declaration order. Types of an included file come before those of its
    /// includer.
    pub definitions: Vec<Definition>,
}

impl Schema {
    /// The definition with an id.
    #[must_use]
    pub fn definition(&self, id: DefinitionId) -> &Definition {
        &self.definitions[id.0 as usize]
    }
}

/// One file of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as it was given or included, for messages.
    pub path: String,
    /// Whether the file was requested, and not only included by a requested file.
    pub requested: bool,
    /// The files that this file includes directly.
    pub includes: Vec<FileId>,
    /// Its `file_identifier`.
    pub file_identifier: Option<String>,
    /// Its `file_extension`.
    pub file_extension: Option<String>,
    /// Its `root_type`.
    pub root: Option<DefinitionId>,
}

/// A named type.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name, as written.
    pub name: String,
    /// The namespace's parts, as written.
    pub namespace: Vec<String>,
    /// The lines of its `///` comment, without the slashes and one leading blank.
    pub docs: Vec<String>,
    /// The position of its name.
    pub span: Span,
    /// Its kind and contents.
    pub kind: DefinitionKind,
}

impl Definition {
    /// The dotted name with its namespace, such as `MyGame.Sample.Monster`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let mut parts = self.namespace.clone();
        parts.push(self.name.clone());
        parts.join(".")
    }

    /// The name under which objects of a table are stored, such as `mygame__sample__monster_v1_1`.
    /// It joins namespaces and name in lower case with `__`, and appends `_v` and the version with
    /// `_` for `.`. It is `None` if the definition is not a table. Only objects of root tables are
    /// stored.
    ///
    /// Source: the file format of Dflat for Swift.
    #[must_use]
    pub fn storage_name(&self) -> Option<String> {
        let DefinitionKind::Table(table) = &self.kind else {
            return None;
        };
        let mut parts: Vec<String> = self
            .namespace
            .iter()
            .map(|part| part.to_ascii_lowercase())
            .collect();
        parts.push(self.name.to_ascii_lowercase());
        let mut name = parts.join("__");
        if let Some(version) = &table.version {
            name.push_str("_v");
            name.push_str(&version.replace('.', "_"));
        }
        Some(name)
    }
}

/// The kind of a definition, with its contents.
#[derive(Clone, Debug, PartialEq)]
pub enum DefinitionKind {
    /// An enum, or a set of bit flags.
    Enum(Enum),
    /// A union.
    Union(Union),
    /// A struct.
    Struct(Struct),
    /// A FlatBuffers table.
    Table(Table),
}

/// An enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Enum {
    /// The underlying integer type.
    pub base: Scalar,
    /// Declared with `bit_flags`; the values are then masks (`1 << n`).
    pub bit_flags: bool,
    /// The values, in declaration order.
    pub values: Vec<EnumValue>,
}

/// A value of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumValue {
    /// The name, as written.
    pub name: String,
    /// Its `///` comment.
    pub docs: Vec<String>,
    /// The position of its name.
    pub span: Span,
    /// The value. The type has room for an `ulong` above `i64::MAX`.
    pub value: i128,
}

/// A union.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The members, without `NONE`, in declaration order.
    pub members: Vec<UnionMember>,
}

/// A member of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionMember {
    /// The alias, or the last part of the type's name.
    pub name: String,
    /// Whether the schema gave the name (`Alias: Type`).
    pub aliased: bool,
    /// Its `///` comment.
    pub docs: Vec<String>,
    /// The position of its name.
    pub span: Span,
    /// The type code, from 1 to 255; 0 is `NONE`.
    pub code: u8,
    /// The type it holds.
    pub target: UnionTarget,
}

/// The type that a union's member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnionTarget {
    /// A table or a struct.
    Definition(DefinitionId),
    /// A string.
    Text,
}

/// A struct: fixed size, fields in line.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// Size in bytes, padding included.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// The fields, in declaration order, with their byte offsets.
    pub fields: Vec<StructField>,
    /// Declared with `uuid`: its two numbers are a UUID.
    pub uuid: bool,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct StructField {
    /// The name, as written.
    pub name: String,
    /// Its `///` comment.
    pub docs: Vec<String>,
    /// The position of its name.
    pub span: Span,
    /// Byte offset within the struct.
    pub offset: u32,
    /// The element's type; never text, a table or a union.
    pub element: Element,
    /// The length, if it is a fixed array.
    pub array: Option<u16>,
    /// Its Dflat attributes.
    pub storage: Storage,
    /// Declared with `deprecated`.
    pub deprecated: bool,
}

/// A FlatBuffers table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The fields, in declaration order.
    pub fields: Vec<Field>,
    /// The table version, attribute `v:`.
    pub version: Option<String>,
    /// Dflat stores the table's objects: a `root_type` names it, or it has the attribute `stored`.
    pub root: bool,
    /// The indexes that its attributes declare over several fields, or of some objects.
    pub indexes: Vec<TableIndex>,
}

impl Table {
    /// How the library assigns the key of a new object.
    #[must_use]
    pub fn auto_key(&self) -> Option<AutoKey> {
        let mut keys = self.fields.iter().filter(|field| field.storage.primary);
        keys.find_map(|field| field.storage.auto)
    }
}

/// An index that a table declares.
#[derive(Clone, Debug, PartialEq)]
pub struct TableIndex {
    /// The index, with paths that start at this table.
    pub descriptor: IndexDescriptor,
    /// The position of its declaration.
    pub span: Span,
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name, as written.
    pub name: String,
    /// Its `///` comment.
    pub docs: Vec<String>,
    /// The position of its name.
    pub span: Span,
    /// The vtable offset of its value (4, 6, ..). The type code of a union is at `voffset - 2`.
    pub voffset: u16,
    /// Its type.
    pub ty: FieldType,
    /// Its value when absent.
    pub default: Default,
    /// Declared with `deprecated`: the field keeps its slot, and no code is generated for it.
    pub deprecated: bool,
    /// Declared with `required`.
    pub required: bool,
    /// Declared with `key`, an attribute of FlatBuffers that Dflat does not use.
    pub key: bool,
    /// Its Dflat attributes.
    pub storage: Storage,
    /// The unit, if the field is a date and time.
    pub time: Option<TimeUnit>,
}

/// The Dflat attributes of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Part of the primary key.
    pub primary: bool,
    /// Has a secondary index; also true if `unique` is.
    pub indexed: bool,
    /// Its index admits each value once.
    pub unique: bool,
    /// The indexes that the field's type declares do not hold for the table with this field.
    pub no_indexes: bool,
    /// How the library assigns the field in a new object, attribute `auto`.
    pub auto: Option<AutoKey>,
}

/// The unit of a `long` that counts the time since 1970-01-01T00:00:00Z, attribute `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
}

impl TimeUnit {
    /// All units, from the largest.
    pub const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// The name in a schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

/// The type of a table's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// One value.
    Single(Element),
    /// A vector of values.
    Vector(Element),
}

impl FieldType {
    /// The type of the value, or of each value of a vector.
    #[must_use]
    pub fn element(self) -> Element {
        match self {
            Self::Single(element) | Self::Vector(element) => element,
        }
    }
}

/// The type of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number or a boolean.
    Scalar(Scalar),
    /// A string.
    Text,
    /// An enum, a union, a struct or a table.
    Definition(DefinitionId),
}

/// A field's value when it is absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    /// No default: an absent string, table, struct, union, vector or optional field (`= null`)
    /// stays absent.
    Null,
    /// A boolean, an integer or an enum's value.
    Integer(i128),
    /// A number of type `float` or `double`; may be NaN or infinite.
    Float(f64),
    /// A string.
    Text(String),
    /// An empty vector, `= []`.
    EmptyVector,
}
