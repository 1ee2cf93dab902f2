//! Checks whether codecs can use a descriptor from a file.

use crate::{
    Element, INDEX_FIELDS_MAX, IndexDescriptor, ROOT_TYPE, Shape, StructLayout, TableDescriptor,
    TableLayout, TypeDescriptor, TypeId,
};

/// The vtable offset of a table's first field.
const FIRST_VOFFSET: u16 = 4;

/// The largest alignment of the format.
const ALIGN_MAX: u32 = 256;

/// The limit on the nesting of structs.
const STRUCT_DEPTH_MAX: usize = 64;

/// The limit on the size of a struct, which must fit the inline part of a table.
const STRUCT_SIZE_MAX: u32 = 64 * 1024;

pub(super) fn is_valid(table: &TableDescriptor) -> bool {
    let types = Types(&table.types);
    types.is(ROOT_TYPE, |ty| matches!(ty, TypeDescriptor::Table(_)))
        && !table.primary_key.is_empty()
        && table.indexes.iter().all(is_valid_index)
        && table.types.iter().all(|ty| match ty {
            TypeDescriptor::Table(table) => types.is_valid_table(table),
            TypeDescriptor::Struct(found) => types.is_valid_struct(found),
            TypeDescriptor::Union(union) => union.members.iter().all(|member| {
                let fits = matches!(
                    member.element,
                    Element::Text | Element::Table(_) | Element::Struct(_)
                );
                fits && member.code != 0 && types.has(member.element)
            }),
            TypeDescriptor::Enum(found) => !found.base.is_float(),
        })
        && types.have_no_cycle()
}

/// Whether each field of an index can be a column of one table.
fn is_valid_index(index: &IndexDescriptor) -> bool {
    let fields = &index.fields;
    (1..=INDEX_FIELDS_MAX).contains(&fields.len())
        && fields.iter().enumerate().all(|(position, field)| {
            let mut before = fields[..position].iter();
            before.all(|other| other.storage_key() != field.storage_key())
        })
}

#[derive(Clone, Copy)]
struct Types<'t>(&'t [TypeDescriptor]);

impl Types<'_> {
    fn is(self, TypeId(id): TypeId, kind: impl Fn(&TypeDescriptor) -> bool) -> bool {
        self.0.get(usize::from(id)).is_some_and(kind)
    }

    /// Whether the type of an element exists and has the right kind.
    fn has(self, element: Element) -> bool {
        match element {
            Element::Scalar(_) | Element::Text => true,
            Element::Enum(id) => self.is(id, |ty| matches!(ty, TypeDescriptor::Enum(_))),
            Element::Struct(id) => self.is(id, |ty| matches!(ty, TypeDescriptor::Struct(_))),
            Element::Table(id) => self.is(id, |ty| matches!(ty, TypeDescriptor::Table(_))),
            Element::Union(id) => self.is(id, |ty| matches!(ty, TypeDescriptor::Union(_))),
        }
    }

    fn is_valid_table(self, table: &TableLayout) -> bool {
        let mut next = FIRST_VOFFSET;
        table.fields.iter().all(|field| {
            let (Shape::Single(element) | Shape::Vector(element)) = field.shape;
            // The type codes of a union are in the slot before.
            let first = match element {
                Element::Union(_) => next.saturating_add(2),
                _ => next,
            };
            let fits = field.voffset >= first && field.voffset < table.end;
            next = field.voffset.saturating_add(2);
            fits && self.has(element)
        })
    }

    fn is_valid_struct(self, found: &StructLayout) -> bool {
        let sized = (1..=STRUCT_SIZE_MAX).contains(&found.size);
        let aligned = found.align.is_power_of_two() && found.align <= ALIGN_MAX;
        sized
            && aligned
            && found.fields.iter().all(|field| {
                let end = self
                    .inline_size(field.element)
                    .and_then(|size| size.checked_mul(usize::from(field.array.unwrap_or(1))))
                    .and_then(|size| size.checked_add(field.offset as usize));
                end.is_some_and(|end| end <= found.size as usize)
            })
    }

    fn inline_size(self, element: Element) -> Option<usize> {
        match element {
            Element::Scalar(scalar) => Some(scalar.size_bytes()),
            Element::Enum(TypeId(id)) => match self.0.get(usize::from(id))? {
                TypeDescriptor::Enum(found) => Some(found.base.size_bytes()),
                _ => None,
            },
            Element::Struct(TypeId(id)) => match self.0.get(usize::from(id))? {
                TypeDescriptor::Struct(found) => Some(found.size as usize),
                _ => None,
            },
            Element::Text | Element::Table(_) | Element::Union(_) => None,
        }
    }

    /// Whether no struct contains itself. Each round marks the structs that contain only marked
    /// ones.
    fn have_no_cycle(self) -> bool {
        let mut marked = vec![false; self.0.len()];
        for _ in 0..STRUCT_DEPTH_MAX {
            let mut changed = false;
            for (position, ty) in self.0.iter().enumerate() {
                let ends = match ty {
                    TypeDescriptor::Struct(found) => found.fields.iter().all(|field| {
                        !matches!(field.element, Element::Struct(TypeId(id))
                            if !marked.get(usize::from(id)).is_some_and(|marked| *marked))
                    }),
                    _ => true,
                };
                if let Some(mark) = marked.get_mut(position) {
                    changed |= ends && !*mark;
                    *mark = ends;
                }
            }
            if !changed {
                break;
            }
        }
        marked.iter().all(|marked| *marked)
    }
}
