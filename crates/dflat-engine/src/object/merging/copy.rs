//! Copies a payload, or parts of it: as stored, or as code with given types sees it.

use dflat_model::{
    Element, Field, FieldLayout, Shape, StructLayout, TableLayout, TypeDescriptor, TypeId, Value,
};

use super::super::{Malformed, Slot, TableView, UnionView, VectorView, Writer};
use super::knowledge::Types;
use super::parts::{copy_members, inline_parts};

type Copied = Result<(), Malformed>;

/// Copies the values that its types describe.
#[derive(Clone, Copy)]
pub(super) struct Copier<'t> {
    pub(super) types: Types<'t>,
    /// Whether values that the types do not know are replaced as accessors do: an enum's value by
    /// the default, a union by an empty one.
    pub(super) as_seen: bool,
    /// If given, the copy is in the canonical form of an object with this primary key.
    pub(super) canonical: Option<&'t [Field]>,
}

/// The places that were left for the values behind a table: of a value, and of type codes.
type Slots = (Option<Slot>, Option<Slot>);

/// A value that is written behind the table that it belongs to.
pub(super) enum Child {
    Value(Slot),
    /// The type codes of a vector of unions, and their values.
    Unions(Slot, Slot),
}

impl<'t> Copier<'t> {
    /// Copies a table with everything in it.
    pub(super) fn table(
        self,
        writer: &mut Writer,
        slot: Slot,
        id: TypeId,
        from: TableView<'_>,
    ) -> Copied {
        let TypeDescriptor::Table(layout) = self.types.get(id)? else {
            return Err(Malformed);
        };
        if !writer.begin_table(slot) {
            return Err(Malformed);
        }
        if let Some(key) = self.canonical {
            self.canonical_fields(key, writer, (id, layout), from)?;
            writer.leave();
            return Ok(());
        }
        let mut children = Vec::new();
        for field in layout.fields.as_ref() {
            if let Some(child) = self.inline_part(writer, field, from)? {
                children.push((field, child));
            }
        }
        writer.end_table();
        for (field, child) in children {
            self.child(writer, field, child, from)?;
        }
        writer.leave();
        Ok(())
    }

    /// Copies the fields of a table that was begun into the canonical form of an object with this
    /// primary key.
    fn canonical_fields(
        self,
        key: &[Field],
        writer: &mut Writer,
        (id, layout): (TypeId, &TableLayout),
        from: TableView<'_>,
    ) -> Copied {
        let mut parts = inline_parts((self.types, key), (id, layout), from)?;
        parts.sort_unstable();
        let mut slots: Vec<Slots> = vec![(None, None); layout.fields.len()];
        for (_, voffset, number) in parts {
            let field = layout.fields.get(number).ok_or(Malformed)?;
            let slots = slots.get_mut(number).ok_or(Malformed)?;
            match field.shape {
                Shape::Single(
                    element @ (Element::Scalar(_) | Element::Enum(_) | Element::Struct(_)),
                ) => {
                    let (size, align) = self.types.inline(element)?;
                    let bytes = from.structure(voffset, size)?.ok_or(Malformed)?;
                    self.inline(element, bytes, writer.structure(voffset, size, align))?;
                }
                Shape::Single(Element::Union(_)) if voffset != field.voffset => {
                    let union = from.union(field.voffset)?.ok_or(Malformed)?;
                    writer.scalar(voffset, union.code);
                }
                _ if voffset != field.voffset => slots.1 = Some(writer.slot(voffset)),
                _ => slots.0 = Some(writer.slot(voffset)),
            }
        }
        writer.end_table();
        for (field, slots) in layout.fields.iter().zip(slots) {
            let child = match slots {
                (Some(value), None) => Child::Value(value),
                (Some(values), Some(codes)) => Child::Unions(codes, values),
                (None, _) => continue,
            };
            self.child(writer, field, child, from)?;
        }
        Ok(())
    }

    /// Copies the inline part of a field; the child that must follow, if there is one.
    pub(super) fn inline_part(
        self,
        writer: &mut Writer,
        field: &FieldLayout,
        from: TableView<'_>,
    ) -> Result<Option<Child>, Malformed> {
        let voffset = field.voffset;
        match field.shape {
            Shape::Single(
                element @ (Element::Scalar(_) | Element::Enum(_) | Element::Struct(_)),
            ) => {
                let (size, align) = self.types.inline(element)?;
                if let Some(bytes) = from.structure(voffset, size)? {
                    self.inline_field(writer, field, element, bytes, align)?;
                }
                Ok(None)
            }
            Shape::Single(Element::Union(id)) => {
                let Some(union) = from.union(voffset)? else {
                    return Ok(None);
                };
                if self.as_seen && self.types.member(id, union.code)?.is_none() {
                    return Ok(None);
                }
                writer.scalar(voffset - 2, union.code);
                Ok(Some(Child::Value(writer.slot(voffset))))
            }
            Shape::Vector(Element::Union(_)) if from.has(voffset) => {
                let codes = writer.slot(voffset - 2);
                Ok(Some(Child::Unions(codes, writer.slot(voffset))))
            }
            _ if from.has(voffset) => Ok(Some(Child::Value(writer.slot(voffset)))),
            _ => Ok(None),
        }
    }

    fn inline_field(
        self,
        writer: &mut Writer,
        field: &FieldLayout,
        element: Element,
        bytes: &[u8],
        align: usize,
    ) -> Copied {
        let unseen = self.as_seen
            && matches!(element, Element::Enum(_))
            && !self.types.knows_inline(element, bytes)?;
        if unseen {
            // Accessors return the default instead, as they do for an absent field.
            return Ok(());
        }
        let place = writer.structure(field.voffset, bytes.len(), align);
        self.inline(element, bytes, place)
    }

    /// A number, an enum's value or a struct.
    pub(super) fn inline(self, element: Element, bytes: &[u8], place: &mut [u8]) -> Copied {
        if self.canonical.is_some() {
            return copy_members(self.types, element, bytes, place);
        }
        place
            .get_mut(..bytes.len())
            .ok_or(Malformed)?
            .copy_from_slice(bytes);
        if self.as_seen && !self.types.knows_inline(element, bytes)? {
            self.see(element, place)?;
        }
        Ok(())
    }

    /// Replaces values of enums that are not known.
    fn see(self, element: Element, place: &mut [u8]) -> Copied {
        match element {
            Element::Enum(id) if !self.types.knows_inline(element, place)? => {
                let values = &self.types.enumeration(id)?.values;
                let zero = values.iter().find(|named| named.value == Value::Int(0));
                let bytes = match zero.or_else(|| values.first()).map(|named| &named.value) {
                    Some(Value::Int(value)) => value.to_le_bytes(),
                    Some(Value::UInt(value)) => value.to_le_bytes(),
                    _ => [0; 8],
                };
                let size = place.len();
                place.copy_from_slice(bytes.get(..size).ok_or(Malformed)?);
            }
            Element::Struct(id) => {
                let layout: &StructLayout = self.types.structure(id)?;
                for field in layout.fields.as_ref() {
                    let (size, _) = self.types.inline(field.element)?;
                    for index in 0..usize::from(field.array.unwrap_or(1)) {
                        let start = field.offset as usize + index * size;
                        let place = place.get_mut(start..start + size).ok_or(Malformed)?;
                        self.see(field.element, place)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Copies the part of a field that is behind its table.
    pub(super) fn child(
        self,
        writer: &mut Writer,
        field: &FieldLayout,
        child: Child,
        from: TableView<'_>,
    ) -> Copied {
        let voffset = field.voffset;
        match (child, field.shape) {
            (Child::Value(slot), Shape::Single(Element::Text)) => {
                writer.text(slot, from.text(voffset)?.ok_or(Malformed)?);
                Ok(())
            }
            (Child::Value(slot), Shape::Single(Element::Table(id))) => {
                self.table(writer, slot, id, from.table(voffset)?.ok_or(Malformed)?)
            }
            (Child::Value(slot), Shape::Single(Element::Union(id))) => {
                self.union(writer, slot, id, from.union(voffset)?.ok_or(Malformed)?)
            }
            (Child::Value(slot), Shape::Vector(element)) => {
                let (size, _) = self.types.inline(element)?;
                let vector = from.vector(voffset, size)?.ok_or(Malformed)?;
                self.vector(writer, slot, element, vector)
            }
            (Child::Unions(codes, values), Shape::Vector(Element::Union(id))) => {
                let vector = from.vector(voffset, 4)?.ok_or(Malformed)?;
                let from = from.vector(voffset - 2, 1)?.ok_or(Malformed)?;
                self.unions(writer, (codes, values), id, (from, vector))
            }
            _ => Err(Malformed),
        }
    }

    /// A union's value.
    pub(super) fn union(
        self,
        writer: &mut Writer,
        slot: Slot,
        id: TypeId,
        from: UnionView<'_>,
    ) -> Copied {
        match self.types.member(id, from.code)?.ok_or(Malformed)? {
            Element::Table(id) => self.table(writer, slot, id, from.table()?),
            Element::Text => {
                writer.text(slot, from.text()?);
                Ok(())
            }
            element => {
                let (size, align) = self.types.inline(element)?;
                let place = writer.boxed_structure(slot, size, align);
                self.inline(element, from.structure(size)?, place)
            }
        }
    }

    fn vector(
        self,
        writer: &mut Writer,
        slot: Slot,
        element: Element,
        from: VectorView<'_>,
    ) -> Copied {
        match element {
            Element::Text | Element::Table(_) => {
                let first = writer.slots(slot, from.len());
                for index in 0..from.len() {
                    match element {
                        Element::Table(id) => {
                            self.table(writer, first.nth(index), id, from.table(index)?)?;
                        }
                        _ => writer.text(first.nth(index), from.text(index)?),
                    }
                }
            }
            _ => {
                let (size, align) = self.types.inline(element)?;
                let places = writer.structures(slot, from.len(), size, align);
                for (index, place) in places.chunks_exact_mut(size).enumerate() {
                    self.inline(element, from.structure(index, size)?, place)?;
                }
            }
        }
        Ok(())
    }

    fn unions(
        self,
        writer: &mut Writer,
        (codes, values): (Slot, Slot),
        id: TypeId,
        (from_codes, from): (VectorView<'_>, VectorView<'_>),
    ) -> Copied {
        let mut seen = Vec::with_capacity(from_codes.len());
        for code in from_codes.bytes() {
            let hidden = self.as_seen && self.types.member(id, *code)?.is_none();
            seen.push(if hidden { 0 } else { *code });
        }
        writer.byte_vector(codes, &seen);
        let first = writer.slots(values, seen.len());
        for (index, code) in seen.iter().enumerate() {
            if *code != 0 {
                self.union(writer, first.nth(index), id, from.union(index, *code)?)?;
            }
        }
        Ok(())
    }
}
