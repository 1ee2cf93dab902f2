//! Objects of any schema as trees: random objects, and the values that queries read from them, by
//! an independent implementation.

use std::borrow::Cow;

use dflat_model::{
    Element, Field, FieldKind, Scalar, Shape, Step, TableDescriptor, TableLayout, TypeDescriptor,
    TypeId, Value,
};

use crate::fuzz::question::{REALS, TEXTS, WIDES};
use crate::model::Cell;
use crate::random::Random;

/// A value. Absent fields are left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A number, a string, or a missing value.
    Leaf(Cell),
    /// A struct's fields.
    Struct(Vec<Self>),
    /// A table's fields.
    Table(Vec<Option<Self>>),
    /// A union's type code and its value.
    Union(u8, Box<Self>),
    /// Members of a vector: whole numbers or strings.
    Vector(Vec<Cell>),
}

/// The types of an object and its parts.
#[derive(Clone, Copy)]
pub(super) struct Types<'t>(pub(super) &'t [TypeDescriptor]);

impl<'t> Types<'t> {
    pub(super) fn of(self, id: TypeId) -> &'t TypeDescriptor {
        &self.0[usize::from(id.0)]
    }

    pub(super) fn root(self) -> &'t TableLayout {
        match &self.0[0] {
            TypeDescriptor::Table(layout) => layout,
            other => panic!("the root is {}", other.name()),
        }
    }

    /// A random object. The parts of its key are present.
    pub(super) fn object(self, table: &TableDescriptor, random: &mut Random) -> Node {
        let root = self.root();
        let mut fields = self.table(root, random);
        for (field, value) in root.fields.iter().zip(&mut fields) {
            let is_key = |key: &Field| key.steps.as_ref() == [Step::Field(field.voffset)];
            if table.primary_key.iter().any(is_key) {
                let Shape::Single(element) = field.shape else {
                    continue;
                };
                *value = Some(self.key_part(element, random));
            }
        }
        Node::Table(fields)
    }

    fn key_part(self, element: Element, random: &mut Random) -> Node {
        loop {
            match self.single(element, random) {
                Node::Leaf(Cell::Real(number)) if number.is_nan() => {}
                part => return part,
            }
        }
    }

    fn table(self, layout: &TableLayout, random: &mut Random) -> Vec<Option<Node>> {
        let mut fields = Vec::new();
        for field in layout.fields.iter() {
            let absent = random.one_in(4);
            fields.push(match field.shape {
                _ if absent => None,
                Shape::Single(element) => Some(self.single(element, random)),
                Shape::Vector(element) => {
                    let members = (0..random.below(3)).map(|_| self.single(element, random));
                    let cells = members.map(|member| match member {
                        Node::Leaf(cell) => cell,
                        other => panic!("{other:?} in a vector"),
                    });
                    Some(Node::Vector(cells.collect()))
                }
            });
        }
        fields
    }

    fn single(self, element: Element, random: &mut Random) -> Node {
        match element {
            Element::Scalar(scalar) => Node::Leaf(number(scalar, random)),
            Element::Text => Node::Leaf(Cell::Text((*random.pick(&TEXTS)).to_owned())),
            Element::Enum(id) | Element::Struct(id) | Element::Table(id) | Element::Union(id) => {
                match self.of(id) {
                    TypeDescriptor::Enum(layout) => {
                        Node::Leaf(cell(&random.pick(&layout.values).value))
                    }
                    TypeDescriptor::Struct(layout) => {
                        let fields = layout.fields.iter();
                        let fields = fields.map(|field| self.single(field.element, random));
                        Node::Struct(fields.collect())
                    }
                    TypeDescriptor::Table(layout) => Node::Table(self.table(layout, random)),
                    TypeDescriptor::Union(layout) => {
                        let member = random.pick(&layout.members);
                        let held = self.single(member.element, random);
                        Node::Union(member.code, Box::new(held))
                    }
                }
            }
        }
    }

    /// The paths to values that queries can use.
    pub(super) fn paths(self) -> Vec<Field> {
        let mut found = Vec::new();
        self.paths_of(TypeId(0), &mut (Vec::new(), Vec::new()), &mut found);
        found
    }

    fn paths_of(self, id: TypeId, at: &mut (Vec<String>, Vec<Step>), found: &mut Vec<Field>) {
        let mut visit = |name: &str, step, element, default: &Value| {
            at.0.push(name.to_owned());
            at.1.push(step);
            let field = |kind, default: &Value| Field {
                name: Cow::Owned(at.0.join(".")),
                steps: Cow::Owned(at.1.clone()),
                kind,
                default: default.clone(),
            };
            match element {
                Element::Scalar(scalar) => found.push(field(FieldKind::Scalar(scalar), default)),
                Element::Text => found.push(field(FieldKind::Text, default)),
                Element::Enum(id) => match self.of(id) {
                    TypeDescriptor::Enum(layout) => {
                        found.push(field(FieldKind::Scalar(layout.base), default));
                    }
                    other => panic!("{} is no enum", other.name()),
                },
                Element::Struct(id) | Element::Table(id) => self.paths_of(id, at, found),
                Element::Union(id) => {
                    let mut tag = field(FieldKind::Scalar(Scalar::U8), &Value::Int(0));
                    tag.steps.to_mut().push(Step::Tag);
                    found.push(tag);
                    self.paths_of(id, at, found);
                }
            }
            at.0.pop();
            at.1.pop();
        };
        let zero = |element| match element {
            Element::Scalar(Scalar::F32 | Scalar::F64) => Value::Float(0.0),
            _ => Value::Int(0),
        };
        match self.of(id) {
            TypeDescriptor::Table(layout) => {
                for field in layout.fields.iter() {
                    if let Shape::Single(element) = field.shape {
                        visit(
                            &field.name,
                            Step::Field(field.voffset),
                            element,
                            &field.default,
                        );
                    }
                }
            }
            TypeDescriptor::Struct(layout) => {
                for field in layout.fields.iter() {
                    let offset = u16::try_from(field.offset).unwrap();
                    visit(
                        &field.name,
                        Step::Offset(offset),
                        field.element,
                        &zero(field.element),
                    );
                }
            }
            TypeDescriptor::Union(layout) => {
                for member in layout.members.iter() {
                    visit(
                        &member.name,
                        Step::Member(member.code),
                        member.element,
                        &Value::Null,
                    );
                }
            }
            TypeDescriptor::Enum(_) => {}
        }
    }

    /// The value that a query reads from an object by a path.
    pub(super) fn read(self, object: &Node, field: &Field) -> Cell {
        let (mut at, mut id) = (object, TypeId(0));
        let mut steps = field.steps.iter().peekable();
        while let Some(step) = steps.next() {
            let (next, element) = match (step, self.of(id), at) {
                (Step::Field(voffset), TypeDescriptor::Table(layout), Node::Table(values)) => {
                    let place = layout
                        .fields
                        .iter()
                        .position(|field| field.voffset == *voffset);
                    let place = place.unwrap();
                    let Shape::Single(element) = layout.fields[place].shape else {
                        panic!("{} is a vector", field.name)
                    };
                    match &values[place] {
                        Some(value) => (value, element),
                        None => {
                            return match steps.next() {
                                None => cell(&layout.fields[place].default),
                                Some(Step::Tag) => Cell::Whole(0),
                                Some(_) => Cell::Missing,
                            };
                        }
                    }
                }
                (Step::Offset(offset), TypeDescriptor::Struct(layout), Node::Struct(values)) => {
                    let is_it =
                        |field: &dflat_model::StructFieldLayout| field.offset == u32::from(*offset);
                    let place = layout.fields.iter().position(is_it).unwrap();
                    (&values[place], layout.fields[place].element)
                }
                (Step::Member(code), TypeDescriptor::Union(layout), Node::Union(held, value)) => {
                    if code != held {
                        return Cell::Missing;
                    }
                    let member = layout.members.iter().find(|member| member.code == *code);
                    (value.as_ref(), member.unwrap().element)
                }
                (Step::Tag, _, Node::Union(code, _)) => return Cell::Whole((*code).into()),
                (step, ..) => panic!("{step:?} of {at:?}"),
            };
            at = next;
            if let Element::Struct(inner) | Element::Table(inner) | Element::Union(inner) = element
            {
                id = inner;
            }
        }
        match at {
            Node::Leaf(Cell::Real(number)) if number.is_nan() => Cell::Missing,
            Node::Leaf(cell) => cell.clone(),
            other => panic!("{} ends at {other:?}", field.name),
        }
    }
}

/// A number of a type: one of a few small numbers, or a limit of the type.
pub(super) fn number(scalar: Scalar, random: &mut Random) -> Cell {
    let bits = u32::try_from(8 * scalar.size_bytes()).unwrap();
    let few: i128 = *random.pick(&[0, 1, 2, 3]);
    match scalar {
        Scalar::Bool => Cell::Whole(i128::from(random.one_in(2))),
        Scalar::F32 => Cell::Real(f64::from(*random.pick(&REALS) as f32)),
        Scalar::F64 => Cell::Real(*random.pick(&REALS)),
        Scalar::U64 => Cell::Whole((*random.pick(&WIDES)).into()),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => {
            Cell::Whole(*random.pick(&[few, few, (1_i128 << bits) - 1]))
        }
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            let half = 1_i128 << (bits - 1);
            Cell::Whole(*random.pick(&[few, few, -few, half - 1, -half]))
        }
    }
}

/// A value in the form of the model.
pub(super) fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Missing,
        Value::Int(number) => Cell::Whole((*number).into()),
        Value::UInt(number) => Cell::Whole((*number).into()),
        Value::Float(number) => Cell::Real(*number),
        Value::Text(text) => Cell::Text(text.clone().into_owned()),
    }
}

/// A value of the model in the form of queries.
pub(super) fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Missing => Value::Null,
        Cell::Real(number) if number.is_nan() => Value::Null,
        Cell::Whole(number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::UInt(u64::try_from(*number).unwrap()),
        },
        Cell::Real(number) => Value::Float(*number),
        Cell::Text(text) => Value::text(text),
    }
}
