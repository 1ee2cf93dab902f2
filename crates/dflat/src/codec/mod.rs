//! Typed payloads: reading, writing and copying the values of generated types.

mod encoder;
mod link;
mod message;
mod opaque;
mod reader;
mod types;
mod vector;

pub use dflat_engine::fetch::KeyParts;
pub use dflat_engine::object::{Object as Handle, VectorView};

pub use encoder::Encoder;
pub use link::{Link, Linked};
pub use message::{
    Enum, Message, Struct, Union, decode_boxed, decode_optional, read_array, read_enum_member,
    read_member, read_struct_member, write_array, write_enum_member, write_member,
    write_struct_member,
};
pub use opaque::Opaque;
pub use reader::{TableReader, UnionReader};
pub use types::Types;
pub use vector::{Iter, UnionIter, UnionVector, Vector, VectorElement};
