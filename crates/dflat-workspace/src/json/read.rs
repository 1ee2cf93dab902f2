//! Reading JSON into a payload.

use dflat_engine::object::{Slot, Writer};
use dflat_model::{
    Element, EnumLayout, FieldLayout, MemberLayout, Scalar, Shape, StructLayout, TypeDescriptor,
    TypeId, UnionLayout,
};

use super::number::{Number, named, number_of};
use super::tree::Json;
use super::write::size;

/// A result whose error says where the JSON is wrong, and why.
type Read<T> = Result<T, String>;

/// The payload of a JSON object.
pub(super) fn payload(types: &[TypeDescriptor], root: TypeId, json: &Json) -> Read<Vec<u8>> {
    let mut reader = Reader {
        types,
        writer: Writer::new(),
    };
    let slot = reader.writer.begin();
    reader.table(slot, root, json)?;
    let payload = reader.writer.finish().map_err(|error| error.to_string())?;
    Ok(payload.to_vec())
}

struct Reader<'t> {
    types: &'t [TypeDescriptor],
    writer: Writer,
}

/// A child of a table, to be written after the table's inline values.
enum Child<'t, 'j> {
    One(Element, &'j Json),
    Vector(Element, &'j Json),
    Union(&'t MemberLayout, &'j Json),
    Codes(Vec<u8>),
    Unions(&'t UnionLayout, Vec<u8>, &'j Json),
}

impl<'t> Reader<'t> {
    fn ty(&self, id: TypeId) -> Read<&'t TypeDescriptor> {
        self.types
            .get(usize::from(id.0))
            .ok_or_else(|| "an unknown type".to_owned())
    }

    fn table(&mut self, slot: Slot, id: TypeId, json: &Json) -> Read<()> {
        let TypeDescriptor::Table(layout) = self.ty(id)? else {
            return Err("the type is no table".to_owned());
        };
        let Json::Object(entries) = json else {
            return Err(format!("expected an object for a {}", layout.name));
        };
        for (position, (key, _)) in entries.iter().enumerate() {
            let is_union = |field: &FieldLayout| {
                matches!(
                    field.shape,
                    Shape::Single(Element::Union(_)) | Shape::Vector(Element::Union(_))
                )
            };
            let known = layout.fields.iter().any(|field| {
                field.name == *key
                    || is_union(field) && key.strip_suffix("_type") == Some(&field.name)
            });
            if !known {
                return Err(format!("{} has no field `{key}`", layout.name));
            }
            if entries[..position].iter().any(|(before, _)| before == key) {
                return Err(format!("the field `{key}` occurs twice"));
            }
        }
        if !self.writer.begin_table(slot) {
            return Err("tables are nested more than 64 deep".to_owned());
        }
        let mut children = Vec::new();
        for field in layout.fields.iter() {
            let entry = |name: &str| {
                let mut entries = entries.iter();
                let found = entries.find(|(key, _)| key == name).map(|(_, value)| value);
                found.filter(|value| !matches!(value, Json::Null))
            };
            if let Some(json) = entry(&field.name) {
                let tag = entry(&format!("{}_type", field.name));
                self.field(field, json, tag, &mut children)
                    .map_err(|error| format!("{}: {error}", field.name))?;
            } else if field.required {
                return Err(format!(
                    "{}: a value is required, and {} has none",
                    field.name, layout.name
                ));
            }
        }
        self.writer.end_table();
        for (name, slot, child) in children {
            self.child(slot, child)
                .map_err(|error| format!("{name}: {error}"))?;
        }
        self.writer.leave();
        Ok(())
    }

    /// Writes the inline part of a field's value. If a child follows, adds it to `children`.
    fn field<'j>(
        &mut self,
        field: &'t FieldLayout,
        json: &'j Json,
        tag: Option<&'j Json>,
        children: &mut Vec<(&'t str, Slot, Child<'t, 'j>)>,
    ) -> Read<()> {
        let voffset = field.voffset;
        let name = field.name.as_ref();
        let child = match field.shape {
            Shape::Single(Element::Scalar(_) | Element::Enum(_) | Element::Struct(_)) => {
                let Shape::Single(element) = field.shape else {
                    return Ok(());
                };
                let (size, align) = self.inline(element)?;
                let types = self.types;
                let out = self.writer.structure(voffset, size, align);
                return fill(types, element, json, out);
            }
            Shape::Single(Element::Union(id)) => {
                let layout = self.union_layout(id)?;
                let tag = tag.ok_or("a union needs its `_type`")?;
                let code = code(layout, tag)?;
                let Some(member) = layout.members.iter().find(|member| member.code == code) else {
                    return Ok(());
                };
                self.writer.scalar(voffset - 2, code);
                Child::Union(member, json)
            }
            Shape::Vector(Element::Union(id)) => {
                let layout = self.union_layout(id)?;
                let (Json::Array(values), Some(Json::Array(tags))) = (json, tag) else {
                    return Err("expected arrays of values and of their `_type`s".to_owned());
                };
                if values.len() != tags.len() {
                    return Err("there are not as many `_type`s as values".to_owned());
                }
                let codes: Vec<u8> = tags
                    .iter()
                    .map(|tag| code(layout, tag))
                    .collect::<Read<_>>()?;
                let slot = self.writer.slot(voffset - 2);
                children.push((name, slot, Child::Codes(codes.clone())));
                Child::Unions(layout, codes, json)
            }
            Shape::Single(element) => Child::One(element, json),
            Shape::Vector(element) => Child::Vector(element, json),
        };
        children.push((name, self.writer.slot(voffset), child));
        Ok(())
    }

    /// The size and the alignment of an inline value.
    fn inline(&self, element: Element) -> Read<(usize, usize)> {
        let size = size(self.types, element);
        match element {
            Element::Struct(id) => match self.ty(id)? {
                TypeDescriptor::Struct(layout) => Ok((size, layout.align as usize)),
                _ => Err("the type is no struct".to_owned()),
            },
            _ => Ok((size, size)),
        }
    }

    fn union_layout(&self, id: TypeId) -> Read<&'t UnionLayout> {
        match self.ty(id)? {
            TypeDescriptor::Union(layout) => Ok(layout),
            _ => Err("the type is no union".to_owned()),
        }
    }

    fn child(&mut self, slot: Slot, child: Child<'t, '_>) -> Read<()> {
        match child {
            Child::One(element, json) => self.one(slot, element, json),
            Child::Vector(element, json) => self.vector(slot, element, json),
            Child::Union(member, json) => self.one(slot, member.element, json),
            Child::Codes(codes) => {
                self.writer.byte_vector(slot, &codes);
                Ok(())
            }
            Child::Unions(layout, codes, json) => {
                let first = self.writer.slots(slot, codes.len());
                let values = elements(json)?;
                for (index, (code, json)) in codes.iter().zip(values).enumerate() {
                    let member = layout.members.iter().find(|member| member.code == *code);
                    if let Some(member) = member {
                        self.one(first.nth(index), member.element, json)
                            .map_err(|error| at(index, &error))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes a string, a table, or a struct that is not inline.
    fn one(&mut self, slot: Slot, element: Element, json: &Json) -> Read<()> {
        match (element, json) {
            (Element::Text, Json::Text(text)) => self.writer.text(slot, text),
            (Element::Text, _) => return Err("expected a string".to_owned()),
            (Element::Table(id), json) => self.table(slot, id, json)?,
            (element, json) => {
                let (size, align) = self.inline(element)?;
                let types = self.types;
                fill(
                    types,
                    element,
                    json,
                    self.writer.boxed_structure(slot, size, align),
                )?;
            }
        }
        Ok(())
    }

    fn vector(&mut self, slot: Slot, element: Element, json: &Json) -> Read<()> {
        let values = elements(json)?;
        if matches!(element, Element::Text | Element::Table(_)) {
            let first = self.writer.slots(slot, values.len());
            for (index, json) in values.iter().enumerate() {
                self.one(first.nth(index), element, json)
                    .map_err(|error| at(index, &error))?;
            }
            return Ok(());
        }
        let (size, align) = self.inline(element)?;
        let types = self.types;
        let out = self.writer.structures(slot, values.len(), size, align);
        let places = out.chunks_exact_mut(size.max(1));
        for (index, (json, place)) in values.iter().zip(places).enumerate() {
            fill(types, element, json, place).map_err(|error| at(index, &error))?;
        }
        Ok(())
    }
}

/// An error of an element of an array.
fn at(index: usize, error: &str) -> String {
    format!("[{index}]: {error}")
}

fn elements(json: &Json) -> Read<&[Json]> {
    match json {
        Json::Array(values) => Ok(values),
        _ => Err("expected an array".to_owned()),
    }
}

/// The type code of a union's member, given by name or by number.
fn code(layout: &UnionLayout, tag: &Json) -> Read<u8> {
    let code = match tag {
        Json::Text(name) if name == "NONE" => Some(0),
        Json::Text(name) => {
            let name = name.rsplit('.').next().unwrap_or_default();
            let mut members = layout.members.iter();
            members
                .find(|member| member.name == name)
                .map(|member| member.code)
        }
        Json::Number(Number::Int(code)) => u8::try_from(*code)
            .ok()
            .filter(|code| *code == 0 || layout.members.iter().any(|member| member.code == *code)),
        _ => None,
    };
    code.ok_or_else(|| match tag {
        Json::Text(name) => format!("{} has no member `{name}`", layout.name),
        _ => format!("expected the name of a member of {}", layout.name),
    })
}

/// Fills the bytes of a number, an enum or a struct.
fn fill(types: &[TypeDescriptor], element: Element, json: &Json, out: &mut [u8]) -> Read<()> {
    let ty = |id: TypeId| types.get(usize::from(id.0));
    match element {
        Element::Scalar(scalar) => number(scalar, json, out),
        Element::Enum(id) | Element::Struct(id) => match ty(id) {
            Some(TypeDescriptor::Enum(layout)) => enumeration(layout, json, out),
            Some(TypeDescriptor::Struct(layout)) => structure(types, layout, json, out),
            _ => Err("an unknown type".to_owned()),
        },
        Element::Text | Element::Table(_) | Element::Union(_) => {
            Err("a value that does not stand in line".to_owned())
        }
    }
}

fn number(scalar: Scalar, json: &Json, out: &mut [u8]) -> Read<()> {
    let number = match json {
        Json::Number(number) => Some(*number),
        Json::Text(text) => named(text),
        _ => None,
    };
    match number {
        Some(number) if number.write(scalar, out) => Ok(()),
        _ if scalar == Scalar::Bool => Err("expected true or false".to_owned()),
        _ => Err(format!("expected a number of type `{}`", scalar.name())),
    }
}

fn enumeration(layout: &EnumLayout, json: &Json, out: &mut [u8]) -> Read<()> {
    if let Json::Text(text) = json
        && let Some(value) = number_of(layout, text)
        && Number::Int(value).write(layout.base, out)
    {
        return Ok(());
    }
    number(layout.base, json, out).map_err(|_| match json {
        Json::Text(text) => {
            let mut names = text.split_whitespace();
            let unknown = names.find(|name| number_of(layout, name).is_none());
            format!("{} has no value `{}`", layout.name, unknown.unwrap_or(text))
        }
        _ => format!("expected a value of {}", layout.name),
    })
}

fn structure(
    types: &[TypeDescriptor],
    layout: &StructLayout,
    json: &Json,
    out: &mut [u8],
) -> Read<()> {
    let Json::Object(entries) = json else {
        return Err(format!("expected an object for a {}", layout.name));
    };
    for (position, (key, json)) in entries.iter().enumerate() {
        let field = layout.fields.iter().find(|field| field.name == *key);
        let field = field.ok_or_else(|| format!("{} has no field `{key}`", layout.name))?;
        if entries[..position].iter().any(|(before, _)| before == key) {
            return Err(format!("the field `{key}` occurs twice"));
        }
        let place = out.get_mut(field.offset as usize..).unwrap_or_default();
        let Some(len) = field.array else {
            fill(types, field.element, json, place)?;
            continue;
        };
        let values = elements(json)?;
        if values.len() != usize::from(len) {
            return Err(format!("the array `{key}` has {len} elements"));
        }
        let stride = size(types, field.element).max(1);
        for (json, place) in values.iter().zip(place.chunks_exact_mut(stride)) {
            fill(types, field.element, json, place)?;
        }
    }
    Ok(())
}
