//! Writing a verified payload as JSON. Verified payloads have no unreadable values; an unreadable
//! value would count as absent.

use dflat_engine::object::{TableView, UnionView, VectorView};
use dflat_model::{
    Element, EnumLayout, FieldLayout, Scalar, Shape, StructLayout, TableLayout, TypeDescriptor,
    TypeId, UnionLayout,
};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::number::{Number, names};

/// A table of a payload.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) types: &'a [TypeDescriptor],
    pub(super) id: TypeId,
    pub(super) view: TableView<'a>,
}

/// One value.
enum Value<'a> {
    Number(Number),
    Name(String),
    Text(&'a str),
    Struct(&'a [TypeDescriptor], &'a StructLayout, &'a [u8]),
    Table(Table<'a>),
    Array(Vec<Self>),
    /// An element of a vector of unions that is empty.
    Empty,
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Name(name) => serializer.serialize_str(name),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Struct(types, layout, bytes) => structure(types, layout, bytes, serializer),
            Self::Table(table) => table.serialize(serializer),
            Self::Array(values) => {
                let mut sequence = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    sequence.serialize_element(value)?;
                }
                sequence.end()
            }
            // `flatc` reads an empty object as an empty union.
            Self::Empty => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(TypeDescriptor::Table(TableLayout { fields, .. })) = self.ty(self.id) {
            for field in fields.iter() {
                if let Some((tag, value)) = self.field(field) {
                    if let Some(tag) = tag {
                        map.serialize_entry(&format!("{}_type", field.name), &tag)?;
                    }
                    map.serialize_entry(field.name.as_ref(), &value)?;
                }
            }
        }
        map.end()
    }
}

impl<'a> Table<'a> {
    fn ty(&self, id: TypeId) -> Option<&'a TypeDescriptor> {
        self.types.get(usize::from(id.0))
    }

    /// A field's value, and the names of its type codes if it holds unions; `None` if it is absent,
    /// or a number that equals its default.
    fn field(&self, field: &FieldLayout) -> Option<(Option<Value<'a>>, Value<'a>)> {
        let (view, voffset) = (self.view, field.voffset);
        let element = match field.shape {
            Shape::Single(element) => element,
            Shape::Vector(Element::Union(id)) => return self.unions(voffset, id),
            Shape::Vector(element) => return Some((None, self.vector(voffset, element)?)),
        };
        let value = match element {
            Element::Scalar(_) | Element::Enum(_) => {
                let scalar = self.scalar(element)?;
                let number = Number::read(scalar, view.structure_from(voffset, 0).ok()??);
                if number.is_default(&field.default) {
                    return None;
                }
                self.number(element, number)
            }
            Element::Text => Value::Text(view.text(voffset).ok()??),
            Element::Struct(id) => {
                let layout = self.structure(id)?;
                let bytes = view.structure(voffset, layout.size as usize).ok()??;
                Value::Struct(self.types, layout, bytes)
            }
            Element::Table(id) => self.table(id, view.table(voffset).ok()??),
            Element::Union(id) => {
                let (name, value) = self.union(id, view.union(voffset).ok()??)?;
                return Some((Some(Value::Name(name)), value));
            }
        };
        Some((None, value))
    }

    fn scalar(&self, element: Element) -> Option<Scalar> {
        match element {
            Element::Scalar(scalar) => Some(scalar),
            Element::Enum(id) => self.enumeration(id).map(|layout| layout.base),
            _ => None,
        }
    }

    fn enumeration(&self, id: TypeId) -> Option<&'a EnumLayout> {
        match self.ty(id) {
            Some(TypeDescriptor::Enum(layout)) => Some(layout),
            _ => None,
        }
    }

    fn structure(&self, id: TypeId) -> Option<&'a StructLayout> {
        match self.ty(id) {
            Some(TypeDescriptor::Struct(layout)) => Some(layout),
            _ => None,
        }
    }

    fn table(&self, id: TypeId, view: TableView<'a>) -> Value<'a> {
        Value::Table(Table {
            types: self.types,
            id,
            view,
        })
    }

    fn number(&self, element: Element, number: Number) -> Value<'a> {
        let layout = match element {
            Element::Enum(id) => self.enumeration(id),
            _ => None,
        };
        match (layout, number) {
            (Some(layout), Number::Int(value)) => match names(layout, value) {
                Some(names) => Value::Name(names),
                None => Value::Number(number),
            },
            _ => Value::Number(number),
        }
    }

    /// The member's name and value; `None` for a member that the types do not have.
    fn union(&self, id: TypeId, union: UnionView<'a>) -> Option<(String, Value<'a>)> {
        let Some(TypeDescriptor::Union(UnionLayout { members, .. })) = self.ty(id) else {
            return None;
        };
        let member = members.iter().find(|member| member.code == union.code)?;
        let value = match member.element {
            Element::Text => Value::Text(union.text().ok()?),
            Element::Struct(id) => {
                let layout = self.structure(id)?;
                let bytes = union.structure(layout.size as usize).ok()?;
                Value::Struct(self.types, layout, bytes)
            }
            Element::Table(id) => self.table(id, union.table().ok()?),
            _ => return None,
        };
        Some((member.name.to_string(), value))
    }

    fn unions(&self, voffset: u16, id: TypeId) -> Option<(Option<Value<'a>>, Value<'a>)> {
        let codes = self.view.vector(voffset - 2, 1).ok()??;
        let values = self.view.vector(voffset, 4).ok()??;
        let elements = (0..values.len()).map(|index| {
            let code = codes.scalar(index).unwrap_or(0);
            let union = (code != 0)
                .then(|| values.union(index, code).ok())
                .flatten();
            let (name, value) = union
                .and_then(|union| self.union(id, union))
                .unwrap_or_else(|| ("NONE".to_owned(), Value::Empty));
            (Value::Name(name), value)
        });
        let (names, values) = elements.unzip();
        Some((Some(Value::Array(names)), Value::Array(values)))
    }

    fn vector(&self, voffset: u16, element: Element) -> Option<Value<'a>> {
        let size = match element {
            Element::Scalar(_) | Element::Enum(_) => self.scalar(element)?.size_bytes(),
            Element::Struct(id) => self.structure(id)?.size as usize,
            _ => 4,
        };
        let vector = self.view.vector(voffset, size).ok()??;
        let values = (0..vector.len()).map(|index| self.element(vector, index, size, element));
        Some(Value::Array(values.collect::<Option<_>>()?))
    }

    fn element(
        &self,
        vector: VectorView<'a>,
        index: usize,
        size: usize,
        element: Element,
    ) -> Option<Value<'a>> {
        Some(match element {
            Element::Scalar(_) | Element::Enum(_) => {
                let bytes = vector.structure(index, size).ok()?;
                self.number(element, Number::read(self.scalar(element)?, bytes))
            }
            Element::Text => Value::Text(vector.text(index).ok()?),
            Element::Struct(id) => {
                let bytes = vector.structure(index, size).ok()?;
                Value::Struct(self.types, self.structure(id)?, bytes)
            }
            Element::Table(id) => self.table(id, vector.table(index).ok()?),
            // Unions have two vectors.
            Element::Union(_) => return None,
        })
    }
}

fn structure<S: Serializer>(
    types: &[TypeDescriptor],
    layout: &StructLayout,
    bytes: &[u8],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(layout.fields.len()))?;
    for field in layout.fields.iter() {
        let stride = size(types, field.element);
        let at = |index: usize| {
            let bytes = bytes.get(field.offset as usize + index * stride..);
            member(types, field.element, bytes.unwrap_or_default())
        };
        let value = match field.array {
            None => at(0),
            Some(len) => Value::Array((0..usize::from(len)).map(at).collect()),
        };
        map.serialize_entry(field.name.as_ref(), &value)?;
    }
    map.end()
}

/// Bytes from one element of an array in a struct to the next.
pub(super) fn size(types: &[TypeDescriptor], element: Element) -> usize {
    let ty = |id: TypeId| types.get(usize::from(id.0));
    match element {
        Element::Scalar(scalar) => scalar.size_bytes(),
        Element::Enum(id) | Element::Struct(id) => match ty(id) {
            Some(TypeDescriptor::Enum(layout)) => layout.base.size_bytes(),
            Some(TypeDescriptor::Struct(layout)) => layout.size as usize,
            _ => 0,
        },
        Element::Text | Element::Table(_) | Element::Union(_) => 0,
    }
}

fn member<'a>(types: &'a [TypeDescriptor], element: Element, bytes: &'a [u8]) -> Value<'a> {
    let named = |layout: &EnumLayout| match Number::read(layout.base, bytes) {
        Number::Int(value) => match names(layout, value) {
            Some(names) => Value::Name(names),
            None => Value::Number(Number::Int(value)),
        },
        number => Value::Number(number),
    };
    let ty = |id: TypeId| types.get(usize::from(id.0));
    match element {
        Element::Scalar(scalar) => Value::Number(Number::read(scalar, bytes)),
        Element::Enum(id) | Element::Struct(id) => match ty(id) {
            Some(TypeDescriptor::Enum(layout)) => named(layout),
            Some(TypeDescriptor::Struct(layout)) => Value::Struct(types, layout, bytes),
            _ => Value::Empty,
        },
        // Structs hold nothing else.
        Element::Text | Element::Table(_) | Element::Union(_) => Value::Empty,
    }
}
