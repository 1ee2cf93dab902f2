//! Vectors of values in objects of any schema.

use dflat_model::{Element, Field, Shape, Step, TypeDescriptor, TypeId, VectorField, VectorMember};

use super::tree::{Node, Types};
use crate::model::Cell;

/// The paths of a schema.
pub(super) struct Paths {
    /// Paths to values.
    pub(super) fields: Vec<Field>,
    /// Paths to vectors of values.
    pub(super) vectors: Vec<VectorField>,
}

impl Types<'_> {
    pub(super) fn all_paths(self) -> Paths {
        let mut vectors = Vec::new();
        self.vectors_of(TypeId(0), (&[], &[]), &mut vectors);
        Paths {
            fields: self.paths(),
            vectors,
        }
    }

    fn vectors_of(self, id: TypeId, at: (&[String], &[Step]), found: &mut Vec<VectorField>) {
        let parts: Vec<(&str, Step, Shape)> = match self.of(id) {
            TypeDescriptor::Table(layout) => {
                let fields = layout.fields.iter();
                let fields = fields.map(|f| (&*f.name, Step::Field(f.voffset), f.shape));
                fields.collect()
            }
            TypeDescriptor::Union(layout) => {
                let members = layout.members.iter();
                let members =
                    members.map(|m| (&*m.name, Step::Member(m.code), Shape::Single(m.element)));
                members.collect()
            }
            // Structs have no vectors.
            TypeDescriptor::Struct(_) | TypeDescriptor::Enum(_) => Vec::new(),
        };
        for (name, step, shape) in parts {
            let names = [at.0, &[name.to_owned()]].concat();
            let steps = [at.1, &[step]].concat();
            match shape {
                Shape::Single(Element::Table(id) | Element::Union(id)) => {
                    self.vectors_of(id, (&names, &steps), found);
                }
                Shape::Single(_) => {}
                Shape::Vector(element) => found.push(VectorField {
                    name: names.join(".").into(),
                    steps: steps.into(),
                    member: self.member(element),
                }),
            }
        }
    }

    fn member(self, element: Element) -> VectorMember {
        match element {
            Element::Scalar(scalar) => VectorMember::Scalar(scalar),
            Element::Text => VectorMember::Text,
            Element::Enum(id) => match self.of(id) {
                TypeDescriptor::Enum(layout) => VectorMember::Scalar(layout.base),
                other => panic!("{} is no enum", other.name()),
            },
            other => panic!("{other:?} in a vector"),
        }
    }

    /// The members of a vector as a query sees them; `None` if the table that holds the vector is
    /// absent.
    pub(super) fn members<'n>(self, object: &'n Node, vector: &VectorField) -> Option<&'n [Cell]> {
        let (mut at, mut id) = (object, TypeId(0));
        for step in vector.steps.iter() {
            let (next, element) = match (step, self.of(id), at) {
                (Step::Field(voffset), TypeDescriptor::Table(layout), Node::Table(values)) => {
                    let mut fields = layout.fields.iter().zip(values);
                    let (field, value) = fields.find(|(f, _)| f.voffset == *voffset).unwrap();
                    match (field.shape, value) {
                        (Shape::Vector(_), None) => return Some(&[]),
                        (Shape::Vector(_), Some(Node::Vector(cells))) => return Some(cells),
                        (Shape::Single(element), Some(value)) => (value, element),
                        (Shape::Single(_), None) => return None,
                        (shape, value) => panic!("{value:?} is no {shape:?}"),
                    }
                }
                (Step::Member(code), TypeDescriptor::Union(layout), Node::Union(held, value)) => {
                    if code != held {
                        return None;
                    }
                    let member = layout.members.iter().find(|member| member.code == *code);
                    (value.as_ref(), member.unwrap().element)
                }
                (step, ..) => panic!("{step:?} of {at:?}"),
            };
            at = next;
            if let Element::Table(inner) | Element::Union(inner) = element {
                id = inner;
            }
        }
        panic!("{} is no vector", vector.name)
    }
}
