//! Paths of descriptors, followed from a root table to the names of a schema.

use dflat_model::{Element, ROOT_TYPE, Shape, Step, TypeDescriptor};

/// A field on a path: the type that has the field, and the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stop<'a> {
    pub(super) ty: &'a str,
    pub(super) field: &'a str,
}

/// A path as a schema writes it.
pub(super) struct Followed<'a> {
    /// The fields that the path leads through, without the members of unions.
    pub(super) stops: Vec<Stop<'a>>,
    /// The names, joined by dots.
    pub(super) text: String,
    /// The type at the end. For the type code of a union, it is the union.
    pub(super) element: Element,
}

/// Follows a path from the root table. `None` if the types have no such path.
pub(super) fn follow<'a>(types: &'a [TypeDescriptor], steps: &[Step]) -> Option<Followed<'a>> {
    let mut element = Element::Table(ROOT_TYPE);
    let mut stops = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for step in steps {
        let of = |id: dflat_model::TypeId| types.get(usize::from(id.0));
        match (element, *step) {
            (Element::Table(id), Step::Field(voffset)) => {
                let TypeDescriptor::Table(layout) = of(id)? else {
                    return None;
                };
                let mut fields = layout.fields.iter();
                let field = fields.find(|field| field.voffset == voffset)?;
                let Shape::Single(inner) = field.shape else {
                    return None;
                };
                let (ty, name) = (&*layout.name, &*field.name);
                stops.push(Stop { ty, field: name });
                names.push(name);
                element = inner;
            }
            (Element::Struct(id), Step::Offset(offset)) => {
                let TypeDescriptor::Struct(layout) = of(id)? else {
                    return None;
                };
                let mut fields = layout.fields.iter();
                let field = fields.find(|field| field.offset == u32::from(offset))?;
                let (ty, name) = (&*layout.name, &*field.name);
                stops.push(Stop { ty, field: name });
                names.push(name);
                element = field.element;
            }
            (Element::Union(id), Step::Member(code)) => {
                let TypeDescriptor::Union(layout) = of(id)? else {
                    return None;
                };
                let member = layout.members.iter().find(|member| member.code == code)?;
                names.push(&member.name);
                element = member.element;
            }
            (Element::Union(_), Step::Tag) => {}
            _ => return None,
        }
    }
    let text = names.join(".");
    Some(Followed {
        stops,
        text,
        element,
    })
}
