//! What generated code calls. Not for use by hand: it changes with the compiler.

mod encoder;
#[cfg(feature = "serde")]
pub mod json;
mod link;
mod message;
mod opaque;
mod path;
mod reader;
mod types;
mod vector;

pub use dflat_engine::fetch::KeyParts;
pub use dflat_engine::object::{Object as Handle, ScalarType as Scalar, Slot, VectorView, equal};
pub use dflat_model::{
    Comparison, Element, EnumLayout, EnumValueLayout, Field as FieldPath, FieldKind, FieldLayout,
    IndexCondition, IndexDescriptor, MemberLayout, Scalar as ScalarKind, Shape, Step,
    StructFieldLayout, StructLayout, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
    UnionLayout, Value, ValueRef, VectorMember,
};
pub use std::borrow::Cow;
pub use std::boxed::Box;
pub use std::string::String;
pub use std::vec::Vec;

pub use encoder::Encoder;
pub use link::{Link, Linked};
pub use message::{
    Enum, Message, Struct, Union, UnionMember, decode_boxed, decode_optional, key, number,
    read_array, read_enum_member, read_member, read_struct_member, same, text, write_array,
    write_enum_member, write_member, write_struct_member,
};
pub use opaque::Opaque;
pub use path::Path;
pub use reader::{TableReader, UnionReader};
pub use types::Types;
pub use vector::{Iter, UnionIter, UnionVector, Vector, VectorElement};

/// Without the feature `serde`, generated types have no JSON.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    ($kind:ident $type:ty) => {};
}
