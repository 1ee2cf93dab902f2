//! Objects as trees of values, written and read by the untyped codec.

use std::collections::BTreeMap;

use dflat_engine::object::{Malformed, Slot, TableView, Writer};
use dflat_schema::{Definition, DefinitionKind, Schema};
use dflat_testkit::random::Random;

use super::version::{Field, Identity, Number, Type, Version};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Absent,
    Number(u64),
    Text(String),
    /// An enum's value, or a number that has none in this version.
    Enum(Result<Identity, u8>),
    Fields(BTreeMap<Identity, Self>),
    /// A union's member; `None` if this version has none of the type code.
    Member(Option<(Identity, Box<Self>)>),
    Vector(Vec<Self>),
}

const DEPTH_MAX: usize = 3;

/// A version with its schema, to write and read objects.
pub(crate) struct Codec<'a> {
    pub(crate) version: &'a Version,
    pub(crate) schema: &'a Schema,
}

impl Codec<'_> {
    fn definition(&self, name: &str) -> &Definition {
        let mut definitions = self.schema.definitions.iter();
        definitions
            .find(|definition| definition.name == name)
            .unwrap()
    }

    /// The number of each field of a table.
    fn voffsets(&self, table: usize) -> BTreeMap<&str, u16> {
        let definition = self.definition(&self.version.tables[table].name);
        let DefinitionKind::Table(table) = &definition.kind else {
            panic!("no table")
        };
        table
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.voffset))
            .collect()
    }

    /// Size, alignment and offsets of the struct.
    fn layout(&self) -> (usize, usize, Vec<usize>) {
        let definition = self.definition(&self.version.struct_name);
        let DefinitionKind::Struct(found) = &definition.kind else {
            panic!("no struct")
        };
        let offsets = found.fields.iter().map(|field| field.offset as usize);
        (found.size as usize, found.align as usize, offsets.collect())
    }

    /// A random table, as programs of this version write it.
    pub(crate) fn any(&self, table: usize, depth: usize, random: &mut Random) -> Value {
        let fields = self.version.tables[table].fields.iter();
        let fields = fields.filter(|field| !field.deprecated);
        let values = fields.map(|field| (field.identity, self.any_field(field, depth, random)));
        Value::Fields(values.collect())
    }

    fn any_field(&self, field: &Field, depth: usize, random: &mut Random) -> Value {
        let nullable = !matches!(field.ty, Type::Number(_) | Type::Enum);
        if nullable && !field.required && random.one_in(4) {
            return Value::Absent;
        }
        let nested = |table, random: &mut Random| match depth {
            DEPTH_MAX => Value::Absent,
            _ => self.any(table, depth + 1, random),
        };
        match field.ty {
            Type::Number(_) if random.one_in(3) => Value::Number(self.default(field)),
            Type::Number(number) => Value::Number(any_number(number, random)),
            Type::Text => Value::Text(format!("text {}", random.below(100))),
            Type::Enum => Value::Enum(Ok(random.pick(&self.version.values).identity)),
            Type::Struct => {
                let members = self.version.structure.iter();
                let members = members.map(|member| {
                    (
                        member.identity,
                        Value::Number(any_number(member.number, random)),
                    )
                });
                Value::Fields(members.collect())
            }
            Type::Union => {
                let member = random.pick(&self.version.members);
                match nested(member.table, random) {
                    Value::Absent => Value::Absent,
                    value => Value::Member(Some((member.identity, Box::new(value)))),
                }
            }
            Type::Table(table) => nested(table, random),
            Type::Numbers => {
                let numbers = (0..random.below(4)).map(|_| any_number(Number::Int, random));
                Value::Vector(numbers.map(Value::Number).collect())
            }
            Type::Texts => {
                let texts = (0..random.below(4)).map(|n| Value::Text(format!("{n}")));
                Value::Vector(texts.collect())
            }
            Type::Tables(table) => {
                let len = if depth == DEPTH_MAX {
                    0
                } else {
                    random.below(3)
                };
                Value::Vector(
                    (0..len)
                        .map(|_| self.any(table, depth + 1, random))
                        .collect(),
                )
            }
        }
    }

    fn default(&self, field: &Field) -> u64 {
        match field.ty {
            Type::Number(Number::Double) => f64::from(field.default).to_bits(),
            _ => u64::from(field.default),
        }
    }

    pub(crate) fn payload(&self, root: &Value) -> Vec<u8> {
        let mut writer = Writer::new();
        let slot = writer.begin();
        self.write_table(&mut writer, slot, 0, root);
        writer.finish().unwrap().to_vec()
    }

    fn write_table(&self, writer: &mut Writer, slot: Slot, table: usize, value: &Value) {
        let Value::Fields(values) = value else {
            panic!("{value:?}")
        };
        let voffsets = self.voffsets(table);
        assert!(writer.begin_table(slot));
        let mut children = Vec::new();
        for field in &self.version.tables[table].fields {
            let voffset = voffsets[field.name.as_str()];
            match (field.ty, values.get(&field.identity)) {
                (_, None | Some(Value::Absent)) => {}
                (Type::Number(number), Some(Value::Number(value))) => {
                    if *value != self.default(field) {
                        write_number(writer, voffset, number, *value);
                    }
                }
                (Type::Enum, Some(Value::Enum(Ok(identity)))) => {
                    let mut known = self.version.values.iter();
                    let value = known.find(|value| value.identity == *identity).unwrap();
                    if value.number != 0 {
                        writer.scalar(voffset, value.number);
                    }
                }
                (Type::Struct, Some(Value::Fields(members))) => {
                    let (size, align, offsets) = self.layout();
                    let out = writer.structure(voffset, size, align);
                    for (member, offset) in self.version.structure.iter().zip(offsets) {
                        let Value::Number(bits) = members[&member.identity] else {
                            panic!()
                        };
                        let width = width(member.number);
                        let bytes = &bits.to_le_bytes()[..width];
                        out[offset..offset + width].copy_from_slice(bytes);
                    }
                }
                (Type::Union, Some(Value::Member(Some((identity, value))))) => {
                    let mut known = self.version.members.iter();
                    let member = known.find(|member| member.identity == *identity).unwrap();
                    writer.scalar(voffset - 2, member.number);
                    children.push((writer.slot(voffset), Type::Table(member.table), &**value));
                }
                (ty, Some(value)) => children.push((writer.slot(voffset), ty, value)),
            }
        }
        writer.end_table();
        for (slot, ty, value) in children {
            self.write_child(writer, slot, ty, value);
        }
        writer.leave();
    }

    fn write_child(&self, writer: &mut Writer, slot: Slot, ty: Type, value: &Value) {
        match (ty, value) {
            (Type::Text, Value::Text(text)) => writer.text(slot, text),
            (Type::Table(table), value) => self.write_table(writer, slot, table, value),
            (Type::Numbers, Value::Vector(values)) => {
                let numbers = values.iter().map(|value| match value {
                    Value::Number(number) => *number as i32,
                    other => panic!("{other:?}"),
                });
                writer.scalars(slot, numbers.collect::<Vec<_>>().into_iter());
            }
            (ty, Value::Vector(values)) => {
                let element = match ty {
                    Type::Tables(table) => Type::Table(table),
                    _ => Type::Text,
                };
                let first = writer.slots(slot, values.len());
                for (index, value) in values.iter().enumerate() {
                    self.write_child(writer, first.nth(index), element, value);
                }
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn read(&self, payload: &[u8]) -> Result<Value, Malformed> {
        self.read_table(TableView::root(payload)?, 0)
    }

    fn read_table(&self, view: TableView<'_>, table: usize) -> Result<Value, Malformed> {
        let voffsets = self.voffsets(table);
        let fields = self.version.tables[table].fields.iter();
        let values = fields.filter(|field| !field.deprecated).map(|field| {
            let value = self.read_field(view, field, voffsets[field.name.as_str()])?;
            Ok((field.identity, value))
        });
        values.collect::<Result<_, Malformed>>().map(Value::Fields)
    }

    fn read_field(
        &self,
        view: TableView<'_>,
        field: &Field,
        voffset: u16,
    ) -> Result<Value, Malformed> {
        let value = match field.ty {
            Type::Number(number) => Value::Number(
                read_number(view, voffset, number)?.unwrap_or_else(|| self.default(field)),
            ),
            Type::Text => view
                .text(voffset)?
                .map_or(Value::Absent, |text| Value::Text(text.to_owned())),
            Type::Enum => {
                let number = view.scalar::<u8>(voffset)?.unwrap_or(0);
                let mut known = self.version.values.iter();
                let value = known.find(|value| value.number == number);
                Value::Enum(value.map(|value| value.identity).ok_or(number))
            }
            Type::Struct => {
                let (size, _, offsets) = self.layout();
                let Some(bytes) = view.structure(voffset, size)? else {
                    return Ok(Value::Absent);
                };
                let members = self
                    .version
                    .structure
                    .iter()
                    .zip(offsets)
                    .map(|(member, offset)| {
                        let mut bits = [0; 8];
                        let width = width(member.number);
                        bits[..width].copy_from_slice(&bytes[offset..offset + width]);
                        (member.identity, Value::Number(u64::from_le_bytes(bits)))
                    });
                Value::Fields(members.collect())
            }
            Type::Union => {
                let Some(union) = view.union(voffset)? else {
                    return Ok(Value::Absent);
                };
                let mut known = self.version.members.iter();
                let Some(member) = known.find(|member| member.number == union.code) else {
                    return Ok(Value::Member(None));
                };
                let value = self.read_table(union.table()?, member.table)?;
                Value::Member(Some((member.identity, Box::new(value))))
            }
            Type::Table(table) => match view.table(voffset)? {
                None => Value::Absent,
                Some(view) => self.read_table(view, table)?,
            },
            Type::Numbers | Type::Texts | Type::Tables(_) => {
                return self.read_vector(view, field.ty, voffset);
            }
        };
        Ok(value)
    }

    fn read_vector(&self, view: TableView<'_>, ty: Type, voffset: u16) -> Result<Value, Malformed> {
        let Some(vector) = view.vector(voffset, 4)? else {
            return Ok(Value::Absent);
        };
        let values = (0..vector.len()).map(|index| match ty {
            Type::Tables(table) => self.read_table(vector.table(index)?, table),
            Type::Texts => Ok(Value::Text(vector.text(index)?.to_owned())),
            _ => Ok(Value::Number(
                u64::from(vector.scalar::<i32>(index)? as u32),
            )),
        });
        values.collect::<Result<_, Malformed>>().map(Value::Vector)
    }
}

fn width(number: Number) -> usize {
    match number {
        Number::Bool | Number::Byte => 1,
        Number::Int => 4,
        Number::Long | Number::Double => 8,
    }
}

/// The bits of a number.
fn any_number(number: Number, random: &mut Random) -> u64 {
    match number {
        Number::Bool => random.number() % 2,
        Number::Byte => random.number() % 256,
        Number::Int => u64::from(random.number() as u32),
        Number::Long => random.number(),
        Number::Double => (random.below(1000) as f64 / 4.0).to_bits(),
    }
}

fn write_number(writer: &mut Writer, voffset: u16, number: Number, bits: u64) {
    match width(number) {
        1 => writer.scalar(voffset, bits as u8),
        4 => writer.scalar(voffset, bits as u32),
        _ => writer.scalar(voffset, bits),
    }
}

fn read_number(
    view: TableView<'_>,
    voffset: u16,
    number: Number,
) -> Result<Option<u64>, Malformed> {
    Ok(match width(number) {
        1 => view.scalar::<u8>(voffset)?.map(u64::from),
        4 => view.scalar::<u32>(voffset)?.map(u64::from),
        _ => view.scalar(voffset)?,
    })
}
