//! Traits of generated types, which are read from and written to payloads.

use dflat_engine::object::{ScalarType, Slot};

use super::{Encoder, TableReader, UnionReader};

/// A native enum, or a set of bit flags.
pub trait Enum: Copy + PartialEq + 'static {
    /// The underlying integer.
    type Base: ScalarType;

    /// The value with a number; `None` if this code does not know the number.
    fn from_base(base: Self::Base) -> Option<Self>;

    /// The value's number.
    fn to_base(self) -> Self::Base;
}

/// A struct of the schema.
pub trait Struct: Copy + 'static {
    /// Size in bytes, padding included.
    const SIZE: usize;
    /// Alignment in bytes.
    const ALIGN: usize;

    /// Reads the struct from its bytes. Missing bytes count as zero.
    fn read(bytes: &[u8]) -> Self;

    /// Writes the struct to zeroed bytes.
    fn write(&self, out: &mut [u8]);
}

/// Reads a number of a struct.
#[inline]
#[must_use]
pub fn read_member<T: ScalarType + Default>(bytes: &[u8], offset: usize) -> T {
    bytes.get(offset..).and_then(T::read).unwrap_or_default()
}

/// Writes a number of a struct.
#[inline]
pub fn write_member<T: ScalarType>(out: &mut [u8], offset: usize, value: T) {
    if let Some(place) = out.get_mut(offset..) {
        value.write(place);
    }
}

/// Reads an enum of a struct. Returns the default for a number that this code does not know.
#[inline]
#[must_use]
pub fn read_enum_member<E: Enum + Default>(bytes: &[u8], offset: usize) -> E {
    bytes
        .get(offset..)
        .and_then(E::Base::read)
        .and_then(E::from_base)
        .unwrap_or_default()
}

/// Writes an enum of a struct.
#[inline]
pub fn write_enum_member<E: Enum>(out: &mut [u8], offset: usize, value: E) {
    write_member(out, offset, value.to_base());
}

/// Reads a struct inside a struct.
#[inline]
#[must_use]
pub fn read_struct_member<S: Struct>(bytes: &[u8], offset: usize) -> S {
    S::read(bytes.get(offset..).unwrap_or_default())
}

/// Writes a struct inside a struct.
#[inline]
pub fn write_struct_member<S: Struct>(out: &mut [u8], offset: usize, value: S) {
    if let Some(place) = out.get_mut(offset..) {
        value.write(place);
    }
}

/// Reads an array of a struct, its elements with `read`.
#[inline]
#[must_use]
pub fn read_array<T, const N: usize>(
    bytes: &[u8],
    offset: usize,
    stride: usize,
    read: fn(&[u8], usize) -> T,
) -> [T; N] {
    std::array::from_fn(|index| read(bytes, offset + index * stride))
}

/// Writes an array of a struct, its elements with `write`.
#[inline]
pub fn write_array<T: Copy>(
    out: &mut [u8],
    offset: usize,
    stride: usize,
    values: &[T],
    write: fn(&mut [u8], usize, T),
) {
    for (index, value) in values.iter().enumerate() {
        write(out, offset + index * stride, *value);
    }
}

/// A FlatBuffers table of the schema, as an owned struct.
pub trait Message: Sized + 'static {
    /// A view on such a value in a payload.
    type Ref<'a>: Copy;

    /// A view on a table.
    fn view(table: TableReader<'_>) -> Self::Ref<'_>;

    /// An owned copy of the value that a view shows.
    fn decode(view: Self::Ref<'_>) -> Self;

    /// Writes the fields of the table that the encoder has begun: inline values, then
    /// [`Encoder::end_table`], then children.
    fn encode(&self, encoder: &mut Encoder<'_>);
}

/// An owned copy for a table that contains itself.
#[must_use]
pub fn decode_boxed<M: Message>(view: M::Ref<'_>) -> Box<M> {
    Box::new(M::decode(view))
}

/// An owned copy of an element of a vector of unions.
#[must_use]
pub fn decode_optional<U: Union>(view: Option<U::Ref<'_>>) -> Option<U> {
    view.map(U::decode)
}

/// A union of the schema, as an owned enum.
pub trait Union: Sized + 'static {
    /// A view on such a value in a payload.
    type Ref<'a>: Copy;

    /// A view on a union's value; `None` for a member that this code does not know.
    fn view(union: UnionReader<'_>) -> Option<Self::Ref<'_>>;

    /// An owned copy of the value that a view shows.
    fn decode(view: Self::Ref<'_>) -> Self;

    /// The type code.
    fn code(&self) -> u8;

    /// Writes the value that belongs to a slot.
    fn encode(&self, encoder: &mut Encoder<'_>, slot: Slot);
}
