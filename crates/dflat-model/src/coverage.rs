//! Checks whether one version of a type includes another version.

use std::collections::HashSet;

use crate::{
    Element, ROOT_TYPE, Shape, StructLayout, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
};

impl TableDescriptor {
    /// Whether code with this descriptor knows every field, enum value and union member that code
    /// with `other` knows, and reads their bytes alike. Names do not count.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.includes(other, true)
    }

    /// Whether each field and union member that both descriptors have is of the same type in both.
    /// Names and defaults do not count.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        self.includes(other, false)
    }

    fn includes(&self, other: &Self, knows_all: bool) -> bool {
        let mut coverage = Coverage {
            knows_all,
            types: &self.types,
            others: &other.types,
            seen: HashSet::from([(ROOT_TYPE, ROOT_TYPE)]),
            waiting: vec![(ROOT_TYPE, ROOT_TYPE)],
        };
        // An explicit list and no recursion, because a file may nest types arbitrarily deep.
        while let Some((id, other)) = coverage.waiting.pop() {
            if !coverage.types(id, other) {
                return false;
            }
        }
        true
    }
}

struct Coverage<'t> {
    /// Whether the types must know everything that the others know.
    knows_all: bool,
    types: &'t [TypeDescriptor],
    others: &'t [TypeDescriptor],
    /// The pairs of types that were compared or are waiting to be compared.
    seen: HashSet<(TypeId, TypeId)>,
    waiting: Vec<(TypeId, TypeId)>,
}

impl<'t> Coverage<'t> {
    fn types(&mut self, id: TypeId, other: TypeId) -> bool {
        let found = self.types.get(usize::from(id.0));
        match (found, self.others.get(usize::from(other.0))) {
            (Some(TypeDescriptor::Table(a)), Some(TypeDescriptor::Table(b))) => self.tables(a, b),
            (Some(TypeDescriptor::Struct(a)), Some(TypeDescriptor::Struct(b))) => {
                self.structs(a, b)
            }
            (Some(TypeDescriptor::Union(a)), Some(TypeDescriptor::Union(b))) => {
                b.members.iter().all(|member| {
                    let known = a.members.iter().find(|known| known.code == member.code);
                    match known {
                        Some(known) => self.elements(known.element, member.element),
                        None => !self.knows_all,
                    }
                })
            }
            (Some(TypeDescriptor::Enum(a)), Some(TypeDescriptor::Enum(b))) => {
                let known = |value| a.values.iter().any(|known| known.value == value);
                a.base == b.base
                    && a.bit_flags == b.bit_flags
                    && (!self.knows_all || b.values.iter().all(|named| known(named.value.clone())))
            }
            _ => false,
        }
    }

    fn tables(&mut self, a: &'t TableLayout, b: &'t TableLayout) -> bool {
        (!self.knows_all || a.end >= b.end)
            && b.fields.iter().all(|field| {
                let known = a.fields.iter().find(|known| known.voffset == field.voffset);
                // A field that was deprecated since keeps its slot.
                known.is_none_or(|known| match (known.shape, field.shape) {
                    (Shape::Single(a), Shape::Single(b)) | (Shape::Vector(a), Shape::Vector(b)) => {
                        self.elements(a, b)
                    }
                    _ => false,
                })
            })
    }

    fn structs(&mut self, a: &'t StructLayout, b: &'t StructLayout) -> bool {
        a.size == b.size
            && a.align == b.align
            && a.fields.len() == b.fields.len()
            && a.fields.iter().zip(b.fields.iter()).all(|(a, b)| {
                let alike = a.offset == b.offset && a.array == b.array;
                alike && self.elements(a.element, b.element)
            })
    }

    fn elements(&mut self, a: Element, b: Element) -> bool {
        match (a, b) {
            (Element::Scalar(a), Element::Scalar(b)) => a == b,
            (Element::Text, Element::Text) => true,
            (Element::Enum(a), Element::Enum(b))
            | (Element::Struct(a), Element::Struct(b))
            | (Element::Table(a), Element::Table(b))
            | (Element::Union(a), Element::Union(b)) => {
                if self.seen.insert((a, b)) {
                    self.waiting.push((a, b));
                }
                true
            }
            _ => false,
        }
    }
}
