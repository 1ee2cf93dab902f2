//! An assignment to a path inside of an object.

use dflat_condition::suggestion;
use dflat_model::{Element, FieldLayout, ROOT_TYPE, Shape, Table, TypeDescriptor, UnionLayout};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Sets the value at a path such as `spot.x` or `content.Note.text`. A path through a member of a
/// union makes the union hold this member. The value `null` removes the value.
pub(super) fn assign(
    table: &Table,
    json: &mut Value,
    path: &str,
    text: &str,
) -> Result<(), Failure> {
    /// An object has at most 64 levels, and each may be a member of a union, which has a name.
    const NAMES_MAX: usize = 128;
    let names: Vec<&str> = path.split('.').map(str::trim).collect();
    if names.len() > NAMES_MAX {
        let found = names.len();
        return Err(Failure::usage(format!(
            "a path has at most {NAMES_MAX} names; this one has {found}"
        )));
    }
    let assignment = Assignment {
        types: &table.types,
        path,
        text,
    };
    assignment.set(Element::Table(ROOT_TYPE), json, &names)
}

struct Assignment<'a> {
    types: &'a [TypeDescriptor],
    path: &'a str,
    text: &'a str,
}

impl<'a> Assignment<'a> {
    /// Sets the value at a path that begins at a table or a struct.
    fn set(&self, element: Element, json: &mut Value, names: &[&str]) -> Result<(), Failure> {
        let Some((name, rest)) = names.split_first() else {
            return Err(self.wrong("it ends too early"));
        };
        if !json.is_object() {
            *json = Value::Object(Map::new());
        }
        let Value::Object(map) = json else {
            return Err(self.wrong("it leads through another value"));
        };
        match self.ty(element) {
            Some(TypeDescriptor::Table(layout)) => {
                let fields = layout.fields.iter();
                match fields.clone().find(|field| field.name == *name) {
                    Some(field) => self.set_field(field, map, rest),
                    None => {
                        if let Some(field) = fields.clone().find(|field| is_tag(field, name))
                            && rest.is_empty()
                        {
                            return self.set_tag(field, name, map);
                        }
                        let names: Vec<&str> = fields.map(|field| &*field.name).collect();
                        Err(self.unknown(&layout.name, name, "its fields are", &names))
                    }
                }
            }
            Some(TypeDescriptor::Struct(layout)) => {
                let mut fields = layout.fields.iter();
                let Some(field) = fields.find(|field| field.name == *name) else {
                    let names: Vec<&str> = layout.fields.iter().map(|field| &*field.name).collect();
                    return Err(self.unknown(&layout.name, name, "its fields are", &names));
                };
                let shape = match field.array {
                    Some(_) => Shape::Vector(field.element),
                    None => Shape::Single(field.element),
                };
                self.set_value(name, shape, map, rest)
            }
            _ => Err(self.wrong(&format!("nothing contains a field `{name}`"))),
        }
    }

    fn set_field(
        &self,
        field: &FieldLayout,
        map: &mut Map<String, Value>,
        rest: &[&str],
    ) -> Result<(), Failure> {
        let name = &*field.name;
        let tag = format!("{name}_type");
        let union = match field.shape {
            Shape::Single(element @ Element::Union(_)) => self.ty(element),
            _ => None,
        };
        match (union, rest) {
            (Some(TypeDescriptor::Union(layout)), [member, inner @ ..]) => {
                self.set_member(layout, (name, member), map, inner)
            }
            (Some(_), []) if self.text == "null" => {
                map.remove(&tag);
                map.remove(name);
                Ok(())
            }
            _ => self.set_value(name, field.shape, map, rest),
        }
    }

    /// Sets the type code of a field that holds a union, or those of a vector of unions. Without
    /// the codes, there is no value.
    fn set_tag(
        &self,
        field: &FieldLayout,
        name: &str,
        map: &mut Map<String, Value>,
    ) -> Result<(), Failure> {
        let value = match field.shape {
            Shape::Vector(_) => self.value(field.shape)?,
            Shape::Single(_) => Value::String(self.text.to_owned()),
        };
        if value.is_null() || self.text == "null" {
            map.remove(name);
            map.remove(&*field.name);
        } else {
            map.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn set_value(
        &self,
        name: &str,
        shape: Shape,
        map: &mut Map<String, Value>,
        rest: &[&str],
    ) -> Result<(), Failure> {
        match (shape, rest) {
            (shape, []) => {
                match self.value(shape)? {
                    Value::Null => map.remove(name),
                    value => map.insert(name.to_owned(), value),
                };
                Ok(())
            }
            (Shape::Single(element), rest) => {
                let inner = map.entry(name).or_insert(Value::Null);
                self.set(element, inner, rest)
            }
            (Shape::Vector(_), _) => Err(self.wrong(&format!(
                "`{name}` is a vector, whose value is set as a whole, as JSON"
            ))),
        }
    }

    /// Sets the member of a union, or a value in it.
    fn set_member(
        &self,
        layout: &'a UnionLayout,
        (field, name): (&str, &str),
        map: &mut Map<String, Value>,
        rest: &[&str],
    ) -> Result<(), Failure> {
        let mut members = layout.members.iter();
        let Some(member) = members.find(|member| member.name == name) else {
            let names: Vec<&str> = layout.members.iter().map(|member| &*member.name).collect();
            return Err(self.unknown(&layout.name, name, "its members are", &names));
        };
        let tag = format!("{field}_type");
        if map.get(&tag).and_then(Value::as_str) != Some(name) {
            map.insert(tag, Value::String(name.to_owned()));
            map.insert(field.to_owned(), Value::Null);
        }
        let inner = map.entry(field).or_insert(Value::Null);
        if rest.is_empty() {
            *inner = self.value(Shape::Single(member.element))?;
            return Ok(());
        }
        self.set(member.element, inner, rest)
    }

    /// The value of the text: texts and names stand without quotes.
    fn value(&self, shape: Shape) -> Result<Value, Failure> {
        let text = self.text;
        let parsed = serde_json::from_str::<Value>(text);
        match (shape, parsed) {
            (_, Ok(Value::Null)) => Ok(Value::Null),
            (Shape::Single(Element::Text), Ok(value @ Value::String(_))) => Ok(value),
            (Shape::Single(Element::Text), _) => Ok(Value::String(text.to_owned())),
            (
                Shape::Single(Element::Scalar(_) | Element::Enum(_)),
                Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::String(_))),
            ) => Ok(value),
            (Shape::Single(Element::Scalar(_) | Element::Enum(_)), _) => {
                Ok(Value::String(text.to_owned()))
            }
            (_, Ok(value)) => Ok(value),
            (_, Err(error)) => Err(self.wrong(&format!("expected JSON: {error}"))),
        }
    }

    fn ty(&self, element: Element) -> Option<&'a TypeDescriptor> {
        match element {
            Element::Table(id) | Element::Struct(id) | Element::Union(id) => {
                self.types.get(usize::from(id.0))
            }
            Element::Scalar(_) | Element::Text | Element::Enum(_) => None,
        }
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::usage(format!("{}: {why}", self.path))
    }

    fn unknown(&self, ty: &str, name: &str, what: &str, names: &[&str]) -> Failure {
        let help = suggestion(name, what, names);
        let help = help.map_or_else(String::new, |help| format!("\nhelp: {help}"));
        Failure::usage(format!("{}: `{ty}` has no `{name}`{help}", self.path))
    }
}

/// Whether a name is that of the type codes of a field that holds unions.
fn is_tag(field: &FieldLayout, name: &str) -> bool {
    let holds_unions = matches!(
        field.shape,
        Shape::Single(Element::Union(_)) | Shape::Vector(Element::Union(_))
    );
    holds_unions && name.strip_suffix("_type") == Some(&*field.name)
}
