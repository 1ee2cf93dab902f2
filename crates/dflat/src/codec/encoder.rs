//! Typed writing of payloads.

use dflat_engine::object::{ScalarType, Slot, Writer};

use super::{Enum, Message, Struct, Union};

/// Writes an owned value's payload.
///
/// A table's inline values are written first, each at its vtable offset. Then follow
/// [`Encoder::end_table`] and the table's children, each for the slot reserved for it. A slot is
/// `None` if the child is absent.
#[derive(Debug)]
pub struct Encoder<'w>(&'w mut Writer);

impl<'w> Encoder<'w> {
    /// Encodes a root table; [`Writer::finish`] gives the payload.
    pub fn encode_root<M: Message>(writer: &'w mut Writer, root: &M) {
        Self::encode_with(writer, &|encoder| root.encode(encoder));
    }

    /// Encodes a root table whose values `encode` writes.
    pub(crate) fn encode_with(writer: &'w mut Writer, encode: &dyn Fn(&mut Encoder<'_>)) {
        let slot = writer.begin();
        if writer.begin_table(slot) {
            encode(&mut Encoder(writer));
            writer.leave();
        }
    }

    /// Writes a number or a boolean; omits it if its bits are those of the default.
    #[inline]
    pub fn scalar<T: ScalarType>(&mut self, voffset: u16, value: T, default: T) {
        if !value.same_bits(default) {
            self.0.scalar(voffset, value);
        }
    }

    /// Writes a number or a boolean without a default.
    #[inline]
    pub fn optional_scalar<T: ScalarType>(&mut self, voffset: u16, value: Option<T>) {
        if let Some(value) = value {
            self.0.scalar(voffset, value);
        }
    }

    /// Writes an enum's value; omits it if it is the default.
    #[inline]
    pub fn enumeration<E: Enum>(&mut self, voffset: u16, value: E, default: E) {
        self.scalar(voffset, value.to_base(), default.to_base());
    }

    /// Writes an enum's value without a default.
    #[inline]
    pub fn optional_enumeration<E: Enum>(&mut self, voffset: u16, value: Option<E>) {
        self.optional_scalar(voffset, value.map(E::to_base));
    }

    /// Writes a struct.
    #[inline]
    pub fn structure<S: Struct>(&mut self, voffset: u16, value: Option<&S>) {
        if let Some(value) = value {
            value.write(self.0.structure(voffset, S::SIZE, S::ALIGN));
        }
    }

    /// Writes the type code of a union, given the vtable offset of the union's value.
    #[inline]
    pub fn union_code<U: Union>(&mut self, voffset: u16, value: Option<&U>) {
        self.scalar(voffset - 2, value.map_or(0, U::code), 0);
    }

    /// Reserves a slot for a child, if the child is present.
    #[inline]
    pub fn slot(&mut self, voffset: u16, present: bool) -> Option<Slot> {
        present.then(|| self.0.slot(voffset))
    }

    /// Notes an absent value that is required. Only an update may lack it.
    #[inline]
    pub fn require(&mut self, present: bool, fault: &'static str) {
        if !present {
            self.0.lack(fault);
        }
    }

    /// Ends the inline values; the children follow.
    #[inline]
    pub fn end_table(&mut self) {
        self.0.end_table();
    }

    /// Writes a string.
    #[inline]
    pub fn text(&mut self, slot: Option<Slot>, value: Option<&str>) {
        if let (Some(slot), Some(value)) = (slot, value) {
            self.0.text(slot, value);
        }
    }

    /// Writes a nested table.
    pub fn message<M: Message>(&mut self, slot: Option<Slot>, value: Option<&M>) {
        if let (Some(slot), Some(value)) = (slot, value)
            && self.0.begin_table(slot)
        {
            value.encode(self);
            self.0.leave();
        }
    }

    /// Writes a union's value.
    pub fn union<U: Union>(&mut self, slot: Option<Slot>, value: Option<&U>) {
        if let (Some(slot), Some(value)) = (slot, value) {
            value.encode(self, slot);
        }
    }

    /// Writes a union's member that is a struct.
    pub fn boxed_structure<S: Struct>(&mut self, slot: Slot, value: &S) {
        value.write(self.0.boxed_structure(slot, S::SIZE, S::ALIGN));
    }

    /// Writes a vector of numbers or booleans.
    pub fn scalars<T: ScalarType>(&mut self, slot: Option<Slot>, values: &[T]) {
        if let Some(slot) = slot {
            self.0.scalars(slot, values.iter().copied());
        }
    }

    /// Writes a vector of enums.
    pub fn enumerations<E: Enum>(&mut self, slot: Option<Slot>, values: &[E]) {
        if let Some(slot) = slot {
            self.0
                .scalars(slot, values.iter().map(|value| value.to_base()));
        }
    }

    /// Writes a vector of strings.
    pub fn texts(&mut self, slot: Option<Slot>, values: &[String]) {
        if let Some(slot) = slot {
            let first = self.0.slots(slot, values.len());
            for (index, value) in values.iter().enumerate() {
                self.0.text(first.nth(index), value);
            }
        }
    }

    /// Writes a vector of structs.
    pub fn structures<S: Struct>(&mut self, slot: Option<Slot>, values: &[S]) {
        if let Some(slot) = slot {
            let out = self.0.structures(slot, values.len(), S::SIZE, S::ALIGN);
            for (value, place) in values.iter().zip(out.chunks_exact_mut(S::SIZE)) {
                value.write(place);
            }
        }
    }

    /// Writes a vector of tables.
    pub fn messages<M: Message>(&mut self, slot: Option<Slot>, values: &[M]) {
        if let Some(slot) = slot {
            let first = self.0.slots(slot, values.len());
            for (index, value) in values.iter().enumerate() {
                self.message(Some(first.nth(index)), Some(value));
            }
        }
    }

    /// Writes the type codes of a vector of unions.
    pub fn union_codes<U: Union>(&mut self, slot: Option<Slot>, values: &[Option<U>]) {
        if let Some(slot) = slot {
            let codes = values.iter().map(|value| value.as_ref().map_or(0, U::code));
            self.0.scalars::<u8>(slot, codes);
        }
    }

    /// Writes the values of a vector of unions.
    pub fn unions<U: Union>(&mut self, slot: Option<Slot>, values: &[Option<U>]) {
        if let Some(slot) = slot {
            let first = self.0.slots(slot, values.len());
            for (index, value) in values.iter().enumerate() {
                self.union(Some(first.nth(index)), value.as_ref());
            }
        }
    }
}
