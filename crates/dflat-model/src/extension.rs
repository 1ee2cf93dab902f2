//! Extends a version of a type by another version.

use std::collections::HashSet;

use crate::{
    Element, FieldLayout, ROOT_TYPE, Shape, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
};

impl TableDescriptor {
    /// The descriptor with the further fields, enum values and union members of `newer`, which must
    /// [cover](Self::covers) it. Fields that `newer` has deprecated stay. Keys and indexes are
    /// those of this descriptor.
    ///
    /// `None` if that would change the meaning of bytes that are there: if `newer` gives a field
    /// another default, requires a field that this descriptor does not, or has deprecated a field
    /// of another type than a scalar or a string.
    #[must_use]
    pub fn extended_by(&self, newer: &Self) -> Option<Self> {
        if !newer.covers(self) {
            return None;
        }
        let mut extension = Extension {
            ours: &self.types,
            types: newer.types.to_vec(),
            seen: HashSet::from([(ROOT_TYPE, ROOT_TYPE)]),
            waiting: vec![(ROOT_TYPE, ROOT_TYPE)],
        };
        while let Some((ours, theirs)) = extension.waiting.pop() {
            extension.types(ours, theirs)?;
        }
        let extended = Self {
            types: extension.types.into(),
            ..self.clone()
        };
        (extended.covers(self) && extended.covers(newer)).then_some(extended)
    }
}

struct Extension<'t> {
    ours: &'t [TypeDescriptor],
    /// Those of the newer version, with our deprecated fields so far.
    types: Vec<TypeDescriptor>,
    /// The pairs of types, ours and theirs, that were joined or wait for it.
    seen: HashSet<(TypeId, TypeId)>,
    waiting: Vec<(TypeId, TypeId)>,
}

impl<'t> Extension<'t> {
    fn types(&mut self, ours: TypeId, theirs: TypeId) -> Option<()> {
        let of_ours = self.ours.get(usize::from(ours.0))?;
        let of_theirs = self.types.get(usize::from(theirs.0))?.clone();
        match (of_ours, of_theirs) {
            (TypeDescriptor::Table(a), TypeDescriptor::Table(b)) => {
                let joined = self.table(a, b)?;
                *self.types.get_mut(usize::from(theirs.0))? = TypeDescriptor::Table(joined);
            }
            (TypeDescriptor::Struct(a), TypeDescriptor::Struct(b)) => {
                for (a, b) in a.fields.iter().zip(b.fields.iter()) {
                    self.elements(a.element, b.element);
                }
            }
            (TypeDescriptor::Union(a), TypeDescriptor::Union(b)) => {
                for member in &*a.members {
                    let known = b.members.iter().find(|known| known.code == member.code)?;
                    self.elements(member.element, known.element);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn table(&mut self, ours: &'t TableLayout, mut theirs: TableLayout) -> Option<TableLayout> {
        let mut fields = theirs.fields.to_vec();
        let of_ours = |field: &FieldLayout| {
            let mut fields = ours.fields.iter();
            fields.find(|of| of.voffset == field.voffset)
        };
        for field in &fields {
            match of_ours(field) {
                Some(known) => {
                    if known.default != field.default || known.required != field.required {
                        return None;
                    }
                    self.elements(element(known), element(field));
                }
                None if field.required || field.voffset < ours.end => return None,
                None => {}
            }
        }
        for field in &*ours.fields {
            if !fields.iter().any(|known| known.voffset == field.voffset) {
                if !matches!(element(field), Element::Scalar(_) | Element::Text) {
                    return None;
                }
                fields.push(field.clone());
            }
        }
        fields.sort_by_key(|field| field.voffset);
        theirs.fields = fields.into();
        Some(theirs)
    }

    fn elements(&mut self, ours: Element, theirs: Element) {
        if let (Element::Enum(ours), Element::Enum(theirs))
        | (Element::Struct(ours), Element::Struct(theirs))
        | (Element::Table(ours), Element::Table(theirs))
        | (Element::Union(ours), Element::Union(theirs)) = (ours, theirs)
            && self.seen.insert((ours, theirs))
        {
            self.waiting.push((ours, theirs));
        }
    }
}

const fn element(field: &FieldLayout) -> Element {
    match field.shape {
        Shape::Single(element) | Shape::Vector(element) => element,
    }
}
