//! Detects values that a schema does not know, because newer code wrote them.

use dflat_model::{
    Element, EnumLayout, ROOT_TYPE, Shape, StructLayout, TypeDescriptor, TypeId, Value,
};

use super::super::{Malformed, TableView, UnionView, VectorView};

type IsKnown = Result<bool, Malformed>;

/// The fields in which payloads of some types can hold values that the types do not know.
#[derive(Clone, Debug)]
pub struct Knowledge {
    /// For each type that is a table, the positions of the fields to check.
    fields: Vec<Vec<u16>>,
}

impl Knowledge {
    /// Finds the fields to check in payloads of these types.
    #[must_use]
    pub fn of(types: &[TypeDescriptor]) -> Self {
        let looked_into = |ty: &TypeDescriptor| -> Vec<u16> {
            let TypeDescriptor::Table(layout) = ty else {
                return Vec::new();
            };
            let fields = (0..).zip(layout.fields.iter());
            let hiding = fields.filter(|(_, field)| {
                let (Shape::Single(element) | Shape::Vector(element)) = field.shape;
                Types(types).may_hide(element).unwrap_or(true)
            });
            hiding.map(|(position, _)| position).collect()
        };
        Self {
            fields: types.iter().map(looked_into).collect(),
        }
    }

    /// Whether `types`, from which this was made, know all fields, enum values and union members of
    /// a payload that they verified.
    ///
    /// # Errors
    /// If the payload is malformed.
    pub fn covers(&self, types: &[TypeDescriptor], payload: &[u8]) -> IsKnown {
        self.checker(Types(types))
            .table(ROOT_TYPE, TableView::root(payload)?)
    }

    pub(super) fn checker<'k>(&'k self, types: Types<'k>) -> Checker<'k> {
        Checker {
            types,
            knowledge: self,
        }
    }

    fn of_table(&self, id: TypeId) -> Result<&[u16], Malformed> {
        let fields = self.fields.get(usize::from(id.0));
        fields.map(Vec::as_slice).ok_or(Malformed)
    }
}

/// The types of a payload, found by their ids.
#[derive(Clone, Copy)]
pub(super) struct Types<'t>(pub(super) &'t [TypeDescriptor]);

impl<'t> Types<'t> {
    pub(super) fn get(self, id: TypeId) -> Result<&'t TypeDescriptor, Malformed> {
        self.0.get(usize::from(id.0)).ok_or(Malformed)
    }

    pub(super) fn enumeration(self, id: TypeId) -> Result<&'t EnumLayout, Malformed> {
        match self.get(id)? {
            TypeDescriptor::Enum(layout) => Ok(layout),
            _ => Err(Malformed),
        }
    }

    pub(super) fn structure(self, id: TypeId) -> Result<&'t StructLayout, Malformed> {
        match self.get(id)? {
            TypeDescriptor::Struct(layout) => Ok(layout),
            _ => Err(Malformed),
        }
    }

    /// The member of a union with a type code; `None` if it is not known.
    pub(super) fn member(self, id: TypeId, code: u8) -> Result<Option<Element>, Malformed> {
        let TypeDescriptor::Union(layout) = self.get(id)? else {
            return Err(Malformed);
        };
        let member = layout.members.iter().find(|member| member.code == code);
        Ok(member.map(|member| member.element))
    }

    /// The size and alignment of an element's inline part.
    pub(super) fn inline(self, element: Element) -> Result<(usize, usize), Malformed> {
        let size = match element {
            Element::Scalar(scalar) => scalar.size_bytes(),
            Element::Enum(id) => self.enumeration(id)?.base.size_bytes(),
            Element::Struct(id) => {
                let layout = self.structure(id)?;
                return Ok((layout.size as usize, layout.align as usize));
            }
            Element::Text | Element::Table(_) | Element::Union(_) => 4,
        };
        Ok((size, size))
    }

    /// Whether an element can hold values that its types do not know.
    fn may_hide(self, element: Element) -> IsKnown {
        Ok(match element {
            Element::Scalar(_) | Element::Text => false,
            // Flags combine, and keep bits that have no name.
            Element::Enum(id) => !self.enumeration(id)?.bit_flags,
            Element::Struct(id) => {
                let fields = &self.structure(id)?.fields;
                fields
                    .iter()
                    .any(|field| self.may_hide(field.element).unwrap_or(true))
            }
            Element::Table(_) | Element::Union(_) => true,
        })
    }

    /// Whether the value of an enum, or all enum values of a struct, are known.
    pub(super) fn knows_inline(self, element: Element, bytes: &[u8]) -> IsKnown {
        match element {
            Element::Enum(id) => {
                let layout = self.enumeration(id)?;
                // Flags combine, and keep bits that have no name.
                Ok(layout.bit_flags || names(layout, bytes))
            }
            Element::Struct(id) => {
                for field in self.structure(id)?.fields.as_ref() {
                    let (size, _) = self.inline(field.element)?;
                    for index in 0..usize::from(field.array.unwrap_or(1)) {
                        let start = field.offset as usize + index * size;
                        let bytes = bytes.get(start..start + size).ok_or(Malformed)?;
                        if !self.knows_inline(field.element, bytes)? {
                            return Ok(false);
                        }
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }
}

/// Checks a payload for unknown values.
#[derive(Clone, Copy)]
pub(super) struct Checker<'k> {
    types: Types<'k>,
    knowledge: &'k Knowledge,
}

impl Checker<'_> {
    fn table(self, id: TypeId, table: TableView<'_>) -> IsKnown {
        let TypeDescriptor::Table(layout) = self.types.get(id)? else {
            return Err(Malformed);
        };
        if table.has_from(layout.end) {
            return Ok(false);
        }
        for position in self.knowledge.of_table(id)? {
            let field = layout.fields.get(usize::from(*position)).ok_or(Malformed)?;
            let known = match field.shape {
                Shape::Single(element @ (Element::Enum(_) | Element::Struct(_))) => {
                    let (size, _) = self.types.inline(element)?;
                    match table.structure(field.voffset, size)? {
                        Some(bytes) => self.types.knows_inline(element, bytes)?,
                        None => true,
                    }
                }
                Shape::Single(Element::Table(id)) => match table.table(field.voffset)? {
                    Some(table) => self.table(id, table)?,
                    None => true,
                },
                Shape::Single(Element::Union(id)) => match table.union(field.voffset)? {
                    Some(union) => self.union(id, union)?,
                    None => true,
                },
                Shape::Single(Element::Scalar(_) | Element::Text) => true,
                Shape::Vector(element) => self.vector(element, field.voffset, table)?,
            };
            if !known {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn vector(self, element: Element, voffset: u16, table: TableView<'_>) -> IsKnown {
        if matches!(element, Element::Scalar(_) | Element::Text) {
            return Ok(true);
        }
        let (size, _) = self.types.inline(element)?;
        let Some(vector) = table.vector(voffset, size)? else {
            return Ok(true);
        };
        let codes = match element {
            Element::Union(_) => table.vector(voffset - 2, 1)?,
            _ => None,
        };
        for index in 0..vector.len() {
            if !self.element(element, vector, codes, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether everything in a member of a vector is known.
    pub(super) fn element(
        self,
        element: Element,
        vector: VectorView<'_>,
        codes: Option<VectorView<'_>>,
        index: usize,
    ) -> IsKnown {
        match element {
            Element::Scalar(_) | Element::Text => Ok(true),
            Element::Enum(_) | Element::Struct(_) => {
                let (size, _) = self.types.inline(element)?;
                self.types
                    .knows_inline(element, vector.structure(index, size)?)
            }
            Element::Table(id) => self.table(id, vector.table(index)?),
            Element::Union(id) => match codes.ok_or(Malformed)?.scalar::<u8>(index)? {
                0 => Ok(true),
                code => self.union(id, vector.union(index, code)?),
            },
        }
    }

    fn union(self, id: TypeId, union: UnionView<'_>) -> IsKnown {
        match self.types.member(id, union.code)? {
            None => Ok(false),
            Some(Element::Table(id)) => self.table(id, union.table()?),
            Some(Element::Text) => Ok(true),
            Some(element) => {
                let (size, _) = self.types.inline(element)?;
                self.types.knows_inline(element, union.structure(size)?)
            }
        }
    }
}

/// Whether an enum has a name for the value with these bytes.
fn names(layout: &EnumLayout, bytes: &[u8]) -> bool {
    layout.values.iter().any(|named| {
        let value = match named.value {
            Value::Int(value) => value.to_le_bytes(),
            Value::UInt(value) => value.to_le_bytes(),
            _ => return false,
        };
        value.get(..bytes.len()) == Some(bytes)
    })
}
