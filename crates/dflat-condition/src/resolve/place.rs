//! Fields and members of a type: names to paths.

use std::borrow::Cow;

use dflat_model::{
    Element, Expression, Field, FieldKind, ROOT_TYPE, Scalar, Shape, Step, TableDescriptor,
    TypeDescriptor, TypeId, Value, VectorField, VectorMember,
};

/// Something inside an object that a name leads to.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A value that conditions compare.
    Value(Typed),
    /// A string that is compared without regard to case.
    IgnoreCase(Expression),
    /// A table or a struct.
    Fields(Path, Element),
    /// A union.
    Union(Path, TypeId),
    /// A vector and the type of its members.
    Vector(VectorField, Element),
}

/// A value and its type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) expression: Expression,
    pub(super) ty: Type,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    /// A number: any scalar but `bool`.
    Number(Scalar),
    Text,
    Enum(TypeId),
}

/// The name and the steps of a path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
}

impl Path {
    /// The path of an object, which is in no name.
    pub(super) const fn root() -> Self {
        Self {
            name: String::new(),
            steps: Vec::new(),
        }
    }

    /// The path of a vector's member.
    pub(super) fn member() -> Self {
        Self {
            name: "member".to_owned(),
            steps: Vec::new(),
        }
    }

    pub(super) fn then(&self, name: &str, step: Step) -> Self {
        let name = match self.name.as_str() {
            "" => name.to_owned(),
            before => format!("{before}.{name}"),
        };
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { name, steps }
    }

    fn field(self, kind: FieldKind, default: Value) -> Expression {
        Expression::Field(Field {
            name: Cow::Owned(self.name),
            steps: Cow::Owned(self.steps),
            kind,
            default,
        })
    }
}

/// The types of a descriptor.
#[derive(Clone, Copy)]
pub(super) struct Types<'a>(pub(super) &'a TableDescriptor);

impl<'a> Types<'a> {
    pub(super) fn get(self, id: TypeId) -> Option<&'a TypeDescriptor> {
        self.0.types.get(usize::from(id.0))
    }

    /// The name of a type without its namespace.
    pub(super) fn short_name(self, id: TypeId) -> &'a str {
        let name = self.get(id).map_or("", TypeDescriptor::name);
        name.rsplit('.').next().unwrap_or_default()
    }

    pub(super) fn ty(self, scalar: Scalar) -> Type {
        match scalar {
            Scalar::Bool => Type::Bool,
            number => Type::Number(number),
        }
    }

    /// The place at the end of a path. `None` if the descriptor lacks the type.
    pub(super) fn place(self, path: Path, element: Element, default: Value) -> Option<Place> {
        // In a query NaN is NULL.
        let default = match default {
            Value::Float(float) if float.is_nan() => Value::Null,
            default => default,
        };
        let (kind, ty) = match element {
            Element::Scalar(scalar) => (FieldKind::Scalar(scalar), self.ty(scalar)),
            Element::Enum(id) => (FieldKind::Scalar(self.base(id)?), Type::Enum(id)),
            Element::Text => (FieldKind::Text, Type::Text),
            Element::Struct(_) | Element::Table(_) => return Some(Place::Fields(path, element)),
            Element::Union(id) => return Some(Place::Union(path, id)),
        };
        let expression = path.field(kind, default);
        Some(Place::Value(Typed { expression, ty }))
    }

    fn base(self, id: TypeId) -> Option<Scalar> {
        match self.get(id)? {
            TypeDescriptor::Enum(layout) => Some(layout.base),
            _ => None,
        }
    }

    /// The names of the fields that conditions can use.
    pub(super) fn field_names(self, element: Element) -> Vec<&'a str> {
        let (Element::Table(id) | Element::Struct(id)) = element else {
            return Vec::new();
        };
        match self.get(id) {
            Some(TypeDescriptor::Table(layout)) => {
                layout.fields.iter().map(|field| &*field.name).collect()
            }
            Some(TypeDescriptor::Struct(layout)) => {
                let fields = layout.fields.iter().filter(|field| field.array.is_none());
                fields.map(|field| &*field.name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The place of a field of a table or struct. `Err` means that there is a field, which no
    /// condition can use.
    pub(super) fn field(
        self,
        path: &Path,
        element: Element,
        name: &str,
    ) -> Result<Option<Place>, ArrayField> {
        let (Element::Table(id) | Element::Struct(id)) = element else {
            return Ok(None);
        };
        match self.get(id) {
            Some(TypeDescriptor::Table(layout)) => {
                let fields = layout.fields.iter();
                let Some(field) = crate::nearest::find(fields, |field| &field.name, name) else {
                    return Ok(None);
                };
                let path = path.then(&field.name, Step::Field(field.voffset));
                // Generated code reads an absent string of the key as the empty string.
                let is_key = id == ROOT_TYPE && self.is_key_text(field.voffset);
                let default = match &field.default {
                    Value::Null if is_key => Value::text(""),
                    default => default.clone(),
                };
                Ok(match field.shape {
                    Shape::Single(element) => self.place(path, element, default),
                    Shape::Vector(element) => self.vector(path, element),
                })
            }
            Some(TypeDescriptor::Struct(layout)) => {
                let fields = layout.fields.iter();
                let Some(field) = crate::nearest::find(fields, |field| &field.name, name) else {
                    return Ok(None);
                };
                if field.array.is_some() {
                    return Err(ArrayField);
                }
                let offset = u16::try_from(field.offset).unwrap_or(u16::MAX);
                let path = path.then(&field.name, Step::Offset(offset));
                let zero = match field.element {
                    Element::Scalar(scalar) if scalar.is_float() => Value::Float(0.0),
                    _ => Value::Int(0),
                };
                Ok(self.place(path, field.element, zero))
            }
            _ => Ok(None),
        }
    }

    /// Whether a field of the root table is a string of the primary key.
    fn is_key_text(self, voffset: u16) -> bool {
        let mut key = self.0.primary_key.iter();
        key.any(|key| key.kind == FieldKind::Text && *key.steps == [Step::Field(voffset)])
    }

    fn vector(self, path: Path, element: Element) -> Option<Place> {
        let member = match element {
            Element::Scalar(scalar) => VectorMember::Scalar(scalar),
            Element::Enum(id) => VectorMember::Scalar(self.base(id)?),
            Element::Text => VectorMember::Text,
            Element::Table(_) => VectorMember::Table,
            Element::Union(_) => VectorMember::Union,
            Element::Struct(id) => match self.get(id)? {
                TypeDescriptor::Struct(layout) => VectorMember::Struct(layout.size),
                _ => return None,
            },
        };
        let vector = VectorField {
            name: Cow::Owned(path.name),
            steps: Cow::Owned(path.steps),
            member,
        };
        Some(Place::Vector(vector, element))
    }

    /// A type in messages.
    pub(super) fn describe(self, ty: Type) -> String {
        match ty {
            Type::Bool => "of type `bool`".to_owned(),
            Type::Number(scalar) => format!("of type `{}`", scalar.name()),
            Type::Text => "a string".to_owned(),
            Type::Enum(id) => format!("of type `{}`", self.short_name(id)),
        }
    }
}

/// A field that is an array in a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayField;
