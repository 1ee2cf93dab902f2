//! Paths of descriptors, followed from a root table to the names of a schema.

use dflat_model::{Element, ROOT_TYPE, Shape, Step, TableDescriptor, TypeDescriptor, TypeId};

/// A field on a path: the type that has the field, and the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stop<'a> {
    pub(super) ty: &'a str,
    pub(super) field: &'a str,
}

/// A table at which paths start.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) types: &'a [TypeDescriptor],
    pub(super) table: TypeId,
}

impl<'a> Start<'a> {
    pub(super) fn root(table: &'a TableDescriptor) -> Self {
        let types = &table.types;
        let table = ROOT_TYPE;
        Self { types, table }
    }

    /// The table to which a path leads. `None` if it leads to another type.
    pub(super) fn after(self, steps: &[Step]) -> Option<Self> {
        match follow(self, steps)?.element {
            Element::Table(table) => Some(Self { table, ..self }),
            _ => None,
        }
    }

    pub(super) fn type_name(self) -> Option<&'a str> {
        Some(self.types.get(usize::from(self.table.0))?.name())
    }
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

/// Follows a path from a table. `None` if the types have no such path.
pub(super) fn follow<'a>(start: Start<'a>, steps: &[Step]) -> Option<Followed<'a>> {
    let types = start.types;
    let mut element = Element::Table(start.table);
    let mut stops = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for step in steps {
        let of = |id: TypeId| types.get(usize::from(id.0));
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
