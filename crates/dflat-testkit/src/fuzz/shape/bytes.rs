//! Encodes an object, given as a tree, to bytes.

use dflat_engine::object::{Slot, Writer};
use dflat_model::{Element, Scalar, Shape, StructLayout, TableLayout, TypeDescriptor, TypeId};

use super::tree::{Node, Types};
use crate::model::Cell;

impl<'t> Types<'t> {
    /// The bytes of an object.
    pub(super) fn encode(self, object: &Node) -> Vec<u8> {
        let mut writer = Writer::new();
        let root = writer.begin();
        self.write_table(&mut writer, root, self.root(), object);
        writer.finish().unwrap().to_vec()
    }

    fn write_table(self, writer: &mut Writer, slot: Slot, layout: &TableLayout, node: &Node) {
        let Node::Table(values) = node else {
            panic!("{node:?} is no table")
        };
        assert!(writer.begin_table(slot));
        let mut children = Vec::new();
        for (field, value) in layout.fields.iter().zip(values) {
            let Some(value) = value else { continue };
            let voffset = field.voffset;
            let element = match field.shape {
                Shape::Vector(element) | Shape::Single(element) => element,
            };
            match (value, element) {
                (Node::Leaf(Cell::Text(_)) | Node::Table(_) | Node::Vector(_), _) => {
                    children.push((writer.slot(voffset), element, value));
                }
                (Node::Leaf(cell), _) => {
                    let scalar = self.scalar(element);
                    let place = writer.structure(voffset, scalar.size_bytes(), scalar.size_bytes());
                    put(place, scalar, cell);
                }
                (Node::Struct(_), Element::Struct(id)) => {
                    let layout = self.structure(id);
                    let (size, align) = (layout.size as usize, layout.align as usize);
                    self.put_struct(writer.structure(voffset, size, align), layout, value);
                }
                (Node::Union(code, _), _) => {
                    writer.scalar(voffset - 2, *code);
                    children.push((writer.slot(voffset), element, value));
                }
                (value, _) => panic!("{value:?} in {}", field.name),
            }
        }
        writer.end_table();
        for (slot, element, value) in children {
            self.write_child(writer, slot, element, value);
        }
        writer.leave();
    }

    fn write_child(self, writer: &mut Writer, slot: Slot, element: Element, value: &Node) {
        match (value, element) {
            (Node::Leaf(Cell::Text(text)), _) => writer.text(slot, text),
            (Node::Vector(members), Element::Text) => {
                let first = writer.slots(slot, members.len());
                for (n, member) in members.iter().enumerate() {
                    if let Cell::Text(text) = member {
                        writer.text(first.nth(n), text);
                    }
                }
            }
            (Node::Vector(members), element) => {
                let scalar = self.scalar(element);
                let size = scalar.size_bytes();
                let room = writer.structures(slot, members.len(), size, size);
                for (place, member) in room.chunks_exact_mut(size).zip(members) {
                    put(place, scalar, member);
                }
            }
            (Node::Table(_), Element::Table(id)) => match self.of(id) {
                TypeDescriptor::Table(layout) => self.write_table(writer, slot, layout, value),
                other => panic!("{} is no table", other.name()),
            },
            (Node::Union(code, held), Element::Union(id)) => {
                let TypeDescriptor::Union(layout) = self.of(id) else {
                    panic!("no union")
                };
                let member = layout.members.iter().find(|member| member.code == *code);
                self.write_child(writer, slot, member.unwrap().element, held);
            }
            (Node::Struct(_), Element::Struct(id)) => {
                let layout = self.structure(id);
                let (size, align) = (layout.size as usize, layout.align as usize);
                self.put_struct(writer.boxed_structure(slot, size, align), layout, value);
            }
            (value, element) => panic!("{value:?} as {element:?}"),
        }
    }

    fn put_struct(self, room: &mut [u8], layout: &StructLayout, node: &Node) {
        let Node::Struct(values) = node else {
            panic!("{node:?} is no struct")
        };
        for (field, value) in layout.fields.iter().zip(values) {
            let place = &mut room[field.offset as usize..];
            match (value, field.element) {
                (Node::Leaf(cell), element) => put(place, self.scalar(element), cell),
                (inner, Element::Struct(id)) => self.put_struct(place, self.structure(id), inner),
                (inner, _) => panic!("{inner:?} in a struct"),
            }
        }
    }

    fn structure(self, id: TypeId) -> &'t StructLayout {
        match self.of(id) {
            TypeDescriptor::Struct(layout) => layout,
            other => panic!("{} is no struct", other.name()),
        }
    }

    fn scalar(self, element: Element) -> Scalar {
        match element {
            Element::Scalar(scalar) => scalar,
            Element::Enum(id) => match self.of(id) {
                TypeDescriptor::Enum(layout) => layout.base,
                other => panic!("{} is no enum", other.name()),
            },
            other => panic!("{other:?} is no number"),
        }
    }
}

fn put(place: &mut [u8], scalar: Scalar, cell: &Cell) {
    let size = scalar.size_bytes();
    match (scalar, cell) {
        (Scalar::F32, Cell::Real(number)) => {
            place[..4].copy_from_slice(&(*number as f32).to_le_bytes());
        }
        (Scalar::F64, Cell::Real(number)) => place[..8].copy_from_slice(&number.to_le_bytes()),
        (_, Cell::Whole(number)) => place[..size].copy_from_slice(&number.to_le_bytes()[..size]),
        (scalar, cell) => panic!("{cell:?} as {scalar:?}"),
    }
}
