//! Items that generated code uses. They are not for other code: they change with the compiler.

#[cfg(feature = "serde")]
pub mod json;
mod key;
mod macros;
mod names;
mod uuid_operand;

pub use dflat_engine::object::{ScalarType as Scalar, Slot, equal};
pub use dflat_model::{
    AutoKey, Comparison, Element, EnumLayout, EnumValueLayout, Field as FieldPath, FieldKind,
    FieldLayout, IndexCondition, IndexDescriptor, MemberLayout, Scalar as ScalarKind, Shape, Step,
    StructFieldLayout, StructLayout, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
    UnionLayout, Value, ValueRef, VectorMember,
};
pub use std::borrow::Cow;
pub use std::boxed::Box;
pub use std::string::String;
pub use std::vec::Vec;

pub use crate::codec::{
    Encoder, Enum, Handle, Iter, KeyParts, Link, Linked, Message, Opaque, Struct, TableReader,
    Types, Union, UnionIter, UnionReader, UnionVector, Vector, VectorElement, VectorView,
    decode_boxed, decode_optional, read_array, read_enum_member, read_member, read_struct_member,
    write_array, write_enum_member, write_member, write_struct_member,
};
pub use crate::query::{Path, UnionMember};
pub use key::{key, number, same, text};
pub use names::{FlagBits, read_flags, unknown_name, write_flags};
#[cfg(feature = "uuid")]
pub use uuid;
pub use uuid_operand::UuidOperand;

/// Keys that are UUIDs. A schema with such keys needs the feature `uuid`.
#[cfg(feature = "uuid")]
pub const UUID_V7_KEYS: AutoKey = AutoKey::UuidV7;

/// Without the feature `serde`, generated types have no JSON.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    ($kind:ident $type:ty) => {};
}
