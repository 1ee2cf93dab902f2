//! Descriptors of stored types: their storage, their keys and the layout of their bytes.
//!
//! A descriptor is plain data. Generated code has it in a `static`; a schema can build it at run
//! time. Types refer to one another by [`TypeId`], so that the descriptor of a recursive schema is
//! finite.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::record::payload_hash;
use crate::{Field, IndexDescriptor, Scalar, Step, Value};

/// A stored type. Each root table of a schema has one.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescriptor {
    /// The storage table's name, such as `mygame__sample__monster_v1_1`.
    pub name: Cow<'static, str>,
    /// The type's full name in the schema, such as `MyGame.Sample.Monster`.
    pub type_name: Cow<'static, str>,
    /// The fields of the primary key, in order; never empty.
    pub primary_key: Cow<'static, [Field]>,
    /// How the library assigns the key of a new object that has none. Only a key of one field can
    /// be assigned. The encoding leaves it out, so a decoded descriptor has `None`: each program
    /// assigns keys by its own schema, whatever the file says.
    pub auto_key: Option<AutoKey>,
    /// The secondary indexes.
    pub indexes: Cow<'static, [IndexDescriptor]>,
    /// The types of the payload: the root table first, then all types that it reaches.
    pub types: Cow<'static, [TypeDescriptor]>,
}

impl TableDescriptor {
    /// A hash of the descriptor's [bytes](Self::to_bytes), which names it in records of changes.
    #[must_use]
    pub fn content_hash(&self) -> u64 {
        payload_hash(&self.to_bytes())
    }
}

/// How the library assigns the key of a new object whose key has the default value, 0 or the empty
/// string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AutoKey {
    /// One more than the largest key in the table, at most 2^63 - 1; 1 in an empty table. The key
    /// is a `ulong`.
    Increasing,
    /// A new UUID of version 7, as text of 36 characters. The key is a string.
    UuidV7,
}

impl AutoKey {
    /// Whether the library can assign keys of a table in this way: the primary key must be a single
    /// field of the root table, and have the type that the way needs.
    #[must_use]
    pub fn fits(self, table: &TableDescriptor) -> bool {
        let needed = match self {
            Self::Increasing => Element::Scalar(Scalar::U64),
            Self::UuidV7 => Element::Text,
        };
        let ([Field { steps, .. }], Some(TypeDescriptor::Table(root))) =
            (table.primary_key.as_ref(), table.types.first())
        else {
            return false;
        };
        let [Step::Field(voffset)] = steps.as_ref() else {
            return false;
        };
        let field = root.fields.iter().find(|field| field.voffset == *voffset);
        field.is_some_and(|field| field.shape == Shape::Single(needed))
    }
}

/// Index of a type in [`TableDescriptor::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub u16);

/// The id of the root table of a payload.
pub const ROOT_TYPE: TypeId = TypeId(0);

/// A type of the schema, with all that is needed to read its bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeDescriptor {
    /// A FlatBuffers table.
    Table(TableLayout),
    /// A struct.
    Struct(StructLayout),
    /// A union.
    Union(UnionLayout),
    /// An enum.
    Enum(EnumLayout),
}

impl TypeDescriptor {
    /// The type's full name in the schema.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Table(layout) => &layout.name,
            Self::Struct(layout) => &layout.name,
            Self::Union(layout) => &layout.name,
            Self::Enum(layout) => &layout.name,
        }
    }
}

/// A FlatBuffers table's fields.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLayout {
    /// The full name.
    pub name: Cow<'static, str>,
    /// The fields that are not deprecated, by ascending vtable offset.
    pub fields: Cow<'static, [FieldLayout]>,
    /// The vtable offset after the last field, deprecated ones included. A field at this offset or
    /// above was written by a newer version of the schema.
    pub end: u16,
}

/// A field of a FlatBuffers table.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldLayout {
    /// The name.
    pub name: Cow<'static, str>,
    /// The vtable offset of the value. The type code of a union is at `voffset - 2`.
    pub voffset: u16,
    /// The type.
    pub shape: Shape,
    /// The value of an absent field; NULL for all types but scalars, enums and strings.
    pub default: Value,
    /// Whether a payload without the field is corrupt.
    pub required: bool,
}

/// One value, or a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    Single(Element),
    /// A vector. A vector of unions has its type codes in a second vector at `voffset - 2`.
    Vector(Element),
}

/// The type of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number or a boolean.
    Scalar(Scalar),
    /// A string.
    Text,
    /// An enum.
    Enum(TypeId),
    /// A struct.
    Struct(TypeId),
    /// A FlatBuffers table.
    Table(TypeId),
    /// A union.
    Union(TypeId),
}

/// A struct's size and fields.
#[derive(Clone, Debug, PartialEq)]
pub struct StructLayout {
    /// The full name.
    pub name: Cow<'static, str>,
    /// Size in bytes, padding included.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// The fields, in order.
    pub fields: Cow<'static, [StructFieldLayout]>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct StructFieldLayout {
    /// The name.
    pub name: Cow<'static, str>,
    /// Byte offset within the struct.
    pub offset: u32,
    /// The type: a scalar, an enum or a struct.
    pub element: Element,
    /// The number of values of a fixed array, or `None` for one value.
    pub array: Option<u16>,
}

/// A union's members.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionLayout {
    /// The full name.
    pub name: Cow<'static, str>,
    /// The members.
    pub members: Cow<'static, [MemberLayout]>,
}

/// A member of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberLayout {
    /// The name.
    pub name: Cow<'static, str>,
    /// The type code.
    pub code: u8,
    /// The type of its value: a table, a struct or a string.
    pub element: Element,
}

/// An enum's values and their names.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumLayout {
    /// The full name.
    pub name: Cow<'static, str>,
    /// The underlying integer.
    pub base: Scalar,
    /// Whether the values are bits that can be combined.
    pub bit_flags: bool,
    /// The values and their names, in declaration order.
    pub values: Cow<'static, [EnumValueLayout]>,
}

/// A value of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumValueLayout {
    /// The name.
    pub name: Cow<'static, str>,
    /// The value.
    pub value: Value,
}

/// A handle to a static or shared [`TableDescriptor`], which is cheap to clone.
#[derive(Clone)]
pub struct Table {
    inner: Inner,
    name_hash: u32,
}

#[derive(Clone)]
enum Inner {
    Static(&'static TableDescriptor),
    Shared(Arc<TableDescriptor>),
}

impl Table {
    /// Creates a handle to a descriptor of generated code.
    #[must_use]
    pub const fn from_static(descriptor: &'static TableDescriptor) -> Self {
        let name = match &descriptor.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        };
        Self {
            inner: Inner::Static(descriptor),
            name_hash: fnv1a(name.as_bytes()),
        }
    }

    /// Creates a handle to a descriptor that was built at run time.
    #[must_use]
    pub fn new(descriptor: TableDescriptor) -> Self {
        Self {
            name_hash: fnv1a(descriptor.name.as_bytes()),
            inner: Inner::Shared(Arc::new(descriptor)),
        }
    }

    /// A hash of the table's name, for a cheap check that an object is of this table.
    #[must_use]
    #[inline]
    pub const fn name_hash(&self) -> u32 {
        self.name_hash
    }

    /// Whether both handles refer to the same descriptor in memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(&raw const **self, &raw const **other)
    }

    /// Whether the objects of both types are in the same table of a database.
    #[must_use]
    pub fn is_stored_as(&self, other: &Self) -> bool {
        self.is_same(other) || self.name == other.name
    }
}

/// The hash FNV-1a of 32 bits, <http://www.isthe.com/chongo/tech/comp/fnv/>.
const fn fnv1a(bytes: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut rest = bytes;
    while let [byte, after @ ..] = rest {
        hash = (hash ^ *byte as u32).wrapping_mul(0x0100_0193);
        rest = after;
    }
    hash
}

impl Deref for Table {
    type Target = TableDescriptor;

    fn deref(&self) -> &TableDescriptor {
        match &self.inner {
            Inner::Static(descriptor) => descriptor,
            Inner::Shared(descriptor) => descriptor,
        }
    }
}

impl From<&Self> for Table {
    fn from(table: &Self) -> Self {
        table.clone()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", self.type_name)
    }
}
