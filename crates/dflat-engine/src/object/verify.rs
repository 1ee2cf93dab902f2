//! Verifies a payload against its descriptor, so that reading it can't fail.
//!
//! Checked: every offset, length and vtable that the schema reaches lies in the buffer, strings are
//! UTF-8, and required fields are present. Bounded: the depth, and the bytes visited in proportion
//! to the payload's size, so that shared parts do not make a small payload expensive. Not checked:
//! enum values and union members that the schema does not know; newer code may have written them.

use dflat_model::{Element, FieldLayout, ROOT_TYPE, Shape, TypeDescriptor, TypeId, UnionLayout};

use super::reader::{follow, text_at};
use super::{Malformed, TableView, UnionView, VectorView};

/// How deep tables may nest.
pub const DEPTH_MAX: usize = 64;

/// The bytes that may be visited for each byte of a payload; for a small payload, at least
/// [`VISITS_MIN`].
const VISITS_PER_BYTE: usize = 16;
const VISITS_MIN: usize = 64 * 1024;

/// The largest number of bytes that reading all of a payload may visit.
#[must_use]
pub fn visits_max(payload: &[u8]) -> usize {
    let visits = payload.len().saturating_mul(VISITS_PER_BYTE);
    visits.max(VISITS_MIN)
}

/// Verifies a payload whose root table is the first of `types`.
///
/// # Errors
/// If reading the payload by these types could fail.
pub fn verify(types: &[TypeDescriptor], payload: &[u8]) -> Result<(), Malformed> {
    verify_as(types, ROOT_TYPE, payload)
}

/// Verifies a payload whose root table has the type with this id.
///
/// # Errors
/// If reading the payload by these types could fail.
pub fn verify_as(types: &[TypeDescriptor], root: TypeId, payload: &[u8]) -> Result<(), Malformed> {
    let mut verifier = Verifier {
        types,
        budget: visits_max(payload),
        depth: 0,
    };
    verifier.table(root, TableView::root(payload)?)
}

/// Checks that an inline value lies in the buffer.
#[inline]
fn within(buffer: &[u8], position: usize, size: usize) -> Result<(), Malformed> {
    if position + size <= buffer.len() {
        Ok(())
    } else {
        Err(Malformed)
    }
}

/// Checks that a vector of unions has no type codes if it has no values.
fn no_codes(table: TableView<'_>, voffset: u16) -> Result<(), Malformed> {
    match table.vector(voffset - 2, 1)? {
        Some(codes) if !codes.is_empty() => Err(Malformed),
        _ => Ok(()),
    }
}

struct Verifier<'t> {
    types: &'t [TypeDescriptor],
    budget: usize,
    depth: usize,
}

impl<'t> Verifier<'t> {
    fn spend(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.budget = self.budget.checked_sub(bytes).ok_or(Malformed)?;
        Ok(())
    }

    fn descriptor(&self, id: TypeId) -> Result<&'t TypeDescriptor, Malformed> {
        self.types.get(usize::from(id.0)).ok_or(Malformed)
    }

    fn table(&mut self, id: TypeId, table: TableView<'_>) -> Result<(), Malformed> {
        let TypeDescriptor::Table(layout) = self.descriptor(id)? else {
            return Err(Malformed);
        };
        self.spend(8)?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Malformed);
        }
        for field in layout.fields.as_ref() {
            self.field(field, table)?;
        }
        self.depth -= 1;
        Ok(())
    }

    #[inline]
    fn field(&mut self, field: &FieldLayout, table: TableView<'_>) -> Result<(), Malformed> {
        let Some(position) = table.field(field.voffset) else {
            return match field.shape {
                _ if field.required => Err(Malformed),
                Shape::Vector(Element::Union(_)) => no_codes(table, field.voffset),
                _ => Ok(()),
            };
        };
        let buffer = table.buffer();
        match field.shape {
            Shape::Single(Element::Scalar(scalar)) => within(buffer, position, scalar.size_bytes()),
            Shape::Single(element @ (Element::Enum(_) | Element::Struct(_))) => {
                within(buffer, position, self.inline_size(element)?)
            }
            Shape::Single(Element::Text) => {
                let text = text_at(buffer, follow(buffer, position)?)?;
                self.spend(text.len())
            }
            Shape::Single(Element::Table(id)) => {
                self.table(id, TableView::at(buffer, follow(buffer, position)?)?)
            }
            Shape::Single(Element::Union(id)) => match table.union(field.voffset)? {
                Some(union) => self.union(self.union_layout(id)?, union),
                None => Ok(()),
            },
            Shape::Vector(Element::Union(id)) => self.unions(id, table, field.voffset),
            Shape::Vector(element) => {
                let size = self.inline_size(element)?;
                match table.vector(field.voffset, size)? {
                    Some(vector) => self.elements(element, vector),
                    None => Ok(()),
                }
            }
        }
    }

    fn union_layout(&self, id: TypeId) -> Result<&'t UnionLayout, Malformed> {
        match self.descriptor(id)? {
            TypeDescriptor::Union(layout) => Ok(layout),
            _ => Err(Malformed),
        }
    }

    fn union(&mut self, layout: &UnionLayout, union: UnionView<'_>) -> Result<(), Malformed> {
        let Some(member) = layout
            .members
            .iter()
            .find(|member| member.code == union.code)
        else {
            return Ok(());
        };
        match member.element {
            Element::Table(id) => self.table(id, union.table()?),
            Element::Text => {
                let text = union.text()?;
                self.spend(text.len())
            }
            element => union.structure(self.inline_size(element)?).map(|_| ()),
        }
    }

    fn unions(&mut self, id: TypeId, table: TableView<'_>, voffset: u16) -> Result<(), Malformed> {
        let layout = self.union_layout(id)?;
        let codes = table.vector(voffset - 2, 1)?;
        let values = table.vector(voffset, 4)?;
        let (Some(codes), Some(values)) = (codes, values) else {
            return Err(Malformed);
        };
        if codes.len() != values.len() {
            return Err(Malformed);
        }
        self.spend(codes.len().saturating_mul(5))?;
        for (index, code) in codes.bytes().iter().enumerate() {
            if *code != 0 {
                self.union(layout, values.union(index, *code)?)?;
            }
        }
        Ok(())
    }

    fn elements(&mut self, element: Element, vector: VectorView<'_>) -> Result<(), Malformed> {
        match element {
            Element::Text => {
                self.spend(vector.len().saturating_mul(4))?;
                (0..vector.len()).try_for_each(|index| {
                    let text = vector.text(index)?;
                    self.spend(text.len())
                })
            }
            Element::Table(id) => {
                self.spend(vector.len().saturating_mul(4))?;
                (0..vector.len()).try_for_each(|index| self.table(id, vector.table(index)?))
            }
            // Elements of fixed size were checked together with the vector's length.
            _ => Ok(()),
        }
    }

    /// The size of an element's inline part.
    fn inline_size(&self, element: Element) -> Result<usize, Malformed> {
        Ok(match element {
            Element::Scalar(scalar) => scalar.size_bytes(),
            Element::Enum(id) => match self.descriptor(id)? {
                TypeDescriptor::Enum(layout) => layout.base.size_bytes(),
                _ => return Err(Malformed),
            },
            Element::Struct(id) => match self.descriptor(id)? {
                TypeDescriptor::Struct(layout) => layout.size as usize,
                _ => return Err(Malformed),
            },
            Element::Text | Element::Table(_) | Element::Union(_) => 4,
        })
    }
}
