//! Typed reading of verified payloads.
//!
//! The bytes were verified before, so no read fails. If a read failed all the same, it would return
//! an absent value.

use dflat_engine::object::{ScalarType, TableView, UnionView};

use super::{Enum, Message, Struct, Union, UnionVector, Vector, VectorElement};

/// A FlatBuffers table of a verified payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableReader<'a>(TableView<'a>);

impl<'a> TableReader<'a> {
    /// The reader of a table.
    #[must_use]
    pub fn new(table: TableView<'a>) -> Self {
        Self(table)
    }

    /// A number or a boolean.
    #[inline]
    #[must_use]
    pub fn scalar<T: ScalarType>(self, voffset: u16, default: T) -> T {
        self.optional_scalar(voffset).unwrap_or(default)
    }

    /// A number or a boolean without a default.
    #[inline]
    #[must_use]
    pub fn optional_scalar<T: ScalarType>(self, voffset: u16) -> Option<T> {
        self.0.scalar(voffset).unwrap_or_default()
    }

    /// An enum's value; the default for a value that this code does not know.
    #[inline]
    #[must_use]
    pub fn enumeration<E: Enum>(self, voffset: u16, default: E) -> E {
        self.optional_enumeration(voffset).unwrap_or(default)
    }

    /// An enum's value without a default; `None` for a value that this code does not know.
    #[inline]
    #[must_use]
    pub fn optional_enumeration<E: Enum>(self, voffset: u16) -> Option<E> {
        self.optional_scalar(voffset).and_then(E::from_base)
    }

    /// A string.
    #[inline]
    #[must_use]
    pub fn text(self, voffset: u16) -> Option<&'a str> {
        self.0.text(voffset).unwrap_or_default()
    }

    /// A string with a default.
    #[inline]
    #[must_use]
    pub fn text_or(self, voffset: u16, default: &'static str) -> &'a str {
        self.text(voffset).unwrap_or(default)
    }

    /// A struct.
    #[inline]
    #[must_use]
    pub fn structure<S: Struct>(self, voffset: u16) -> Option<S> {
        self.0
            .structure(voffset, S::SIZE)
            .unwrap_or_default()
            .map(S::read)
    }

    /// A nested table.
    #[inline]
    #[must_use]
    pub fn message<M: Message>(self, voffset: u16) -> Option<M::Ref<'a>> {
        self.0
            .table(voffset)
            .unwrap_or_default()
            .map(|table| M::view(Self(table)))
    }

    /// A nested table that a verified payload has. It is read as a table without fields if it is
    /// absent, in a payload that was verified without its required values.
    #[inline]
    #[must_use]
    pub fn required_message<M: Message>(self, voffset: u16) -> M::Ref<'a> {
        M::view(Self(
            self.0
                .table(voffset)
                .unwrap_or_default()
                .unwrap_or_default(),
        ))
    }

    /// A vector; empty if absent.
    #[inline]
    #[must_use]
    pub fn vector<E: VectorElement + ?Sized>(self, voffset: u16) -> Vector<'a, E> {
        Vector::new(self.0.vector(voffset, E::SIZE).unwrap_or_default())
    }

    /// A union; `None` if it is empty or holds a member that this code does not know.
    #[inline]
    #[must_use]
    pub fn union<U: Union>(self, voffset: u16) -> Option<U::Ref<'a>> {
        self.0
            .union(voffset)
            .unwrap_or_default()
            .and_then(|union| U::view(UnionReader(union)))
    }

    /// A vector of unions; empty if absent.
    #[inline]
    #[must_use]
    pub fn union_vector<U: Union>(self, voffset: u16) -> UnionVector<'a, U> {
        UnionVector::new(
            self.0.vector(voffset - 2, 1).unwrap_or_default(),
            self.0.vector(voffset, 4).unwrap_or_default(),
        )
    }
}

/// The value of a union in a verified payload.
#[derive(Clone, Copy, Debug)]
pub struct UnionReader<'a>(pub(super) UnionView<'a>);

impl<'a> UnionReader<'a> {
    /// The type code.
    #[inline]
    #[must_use]
    pub fn code(self) -> u8 {
        self.0.code
    }

    /// The member, if it is a table.
    #[inline]
    #[must_use]
    pub fn message<M: Message>(self) -> Option<M::Ref<'a>> {
        self.0.table().ok().map(|table| M::view(TableReader(table)))
    }

    /// The member, if it is a struct.
    #[inline]
    #[must_use]
    pub fn structure<S: Struct>(self) -> Option<S> {
        self.0.structure(S::SIZE).ok().map(S::read)
    }

    /// The member, if it is a string.
    #[inline]
    #[must_use]
    pub fn text(self) -> Option<&'a str> {
        self.0.text().ok()
    }
}
