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
    /// of another type than a scalar or a string. Also if the descriptor would have more bytes than
    /// can be decoded.
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
        let is_sound = extended.covers(self)
            && extended.covers(newer)
            && Self::from_bytes(&extended.to_bytes()).is_ok();
        is_sound.then_some(extended)
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::encoding::BYTES_MAX;
    use crate::{Field, FieldKind, Scalar, Step, Value};

    fn field(voffset: u16, element: Element) -> FieldLayout {
        FieldLayout {
            name: format!("f{voffset}").into(),
            voffset,
            shape: Shape::Single(element),
            default: match element {
                Element::Scalar(_) => Value::Int(0),
                _ => Value::Null,
            },
            required: false,
        }
    }

    /// A type with a key and these fields, up to the field at an offset.
    fn table(fields: &[FieldLayout], end: u16) -> TableDescriptor {
        let key = field(4, Element::Scalar(Scalar::I32));
        let root = TypeDescriptor::Table(TableLayout {
            name: "T".into(),
            fields: [&[key], fields].concat().into(),
            end,
        });
        let part = TypeDescriptor::Table(TableLayout {
            name: "Part".into(),
            fields: vec![field(4, Element::Text)].into(),
            end: 6,
        });
        TableDescriptor {
            name: "t".into(),
            type_name: "T".into(),
            primary_key: vec![Field {
                name: "f4".into(),
                steps: vec![Step::Field(4)].into(),
                kind: FieldKind::Scalar(Scalar::I32),
                default: Value::Int(0),
            }]
            .into(),
            auto_key: None,
            indexes: Cow::Borrowed(&[]),
            types: vec![root, part].into(),
        }
    }

    fn fields(table: &TableDescriptor) -> Vec<u16> {
        let TypeDescriptor::Table(root) = &table.types[0] else {
            panic!("the root is a table");
        };
        root.fields.iter().map(|field| field.voffset).collect()
    }

    const INT: Element = Element::Scalar(Scalar::I32);

    #[test]
    fn further_fields_are_taken_and_deprecated_ones_stay() {
        let ours = table(&[field(6, INT), field(8, Element::Text)], 10);
        let theirs = table(&[field(8, Element::Text), field(10, INT)], 12);
        let extended = ours.extended_by(&theirs).unwrap();
        assert_eq!(fields(&extended), [4, 6, 8, 10]);
        assert!(extended.covers(&ours) && extended.covers(&theirs));
        assert_eq!(ours.extended_by(&ours).as_ref(), Some(&ours));
        // The other one knows less.
        assert_eq!(theirs.extended_by(&ours), None);
    }

    #[test]
    fn descriptor_that_changes_the_meaning_of_bytes_is_not_taken() {
        let ours = table(&[field(6, INT)], 8);
        let with = |change: fn(&mut FieldLayout), voffset: u16| {
            let mut fields = [field(6, INT), field(8, Element::Text)];
            let of_offset = fields.iter_mut().find(|field| field.voffset == voffset);
            change(of_offset.unwrap());
            ours.extended_by(&table(&fields, 10))
        };
        assert!(with(|_| {}, 6).is_some());
        assert_eq!(with(|field| field.default = Value::Int(1), 6), None);
        assert_eq!(with(|field| field.required = true, 6), None);
        assert_eq!(with(|field| field.required = true, 8), None);
        // A deprecated table.
        let ours = table(&[field(6, Element::Table(TypeId(1)))], 8);
        assert_eq!(ours.extended_by(&table(&[field(8, INT)], 10)), None);
    }

    #[test]
    fn descriptor_that_would_be_too_large_is_not_taken() {
        let ours = table(&[field(6, INT)], 8);
        let mut large = field(8, INT);
        large.name = "n".repeat(BYTES_MAX).into();
        assert_eq!(ours.extended_by(&table(&[field(6, INT), large], 10)), None);
    }
}
