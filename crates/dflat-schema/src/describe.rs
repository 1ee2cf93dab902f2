//! Converts a root table to the descriptor that the engine reads: storage names, keys, and the
//! layout of the bytes.

use std::borrow::Cow;
use std::collections::HashMap;

use dflat_model::{
    EnumLayout, EnumValueLayout, Field as KeyField, FieldKind, FieldLayout, MemberLayout, Shape,
    Step, StructFieldLayout, StructLayout, TableDescriptor, TableLayout, TypeDescriptor, TypeId,
    UnionLayout,
};

use crate::index::{IndexFinder, integer, value};
use crate::schema::{
    DefinitionId, DefinitionKind, Element, Enum, Field, FieldType, Schema, Struct, Table, Union,
    UnionTarget,
};

/// The vtable offset of a table's first field. A vtable begins with two lengths.
const FIRST_VOFFSET: u16 = 4;

/// Describes the table `root` and all types that it reaches.
///
/// The primary key is empty only if the schema was compiled with
/// [`payload_only`](crate::Options::payload_only). If the definition is not a table, the descriptor
/// has the full name instead of a storage name, and no keys.
///
/// # Panics
///
/// Panics if `root` is not an id of `schema`.
#[must_use]
pub fn describe(schema: &Schema, root: DefinitionId) -> TableDescriptor {
    let definition = schema.definition(root);
    let full_name = definition.full_name();
    let primary_key = match &definition.kind {
        DefinitionKind::Table(table) => primary_key(schema, table),
        _ => Vec::new(),
    };
    // Invariant: a schema with more indexes than the limit does not compile, except with
    // `payload_only`, where no object is stored.
    let indexes = IndexFinder::new(&schema.definitions)
        .find(root)
        .unwrap_or_default();
    TableDescriptor {
        name: Cow::Owned(
            definition
                .storage_name()
                .unwrap_or_else(|| full_name.clone()),
        ),
        type_name: Cow::Owned(full_name),
        primary_key: Cow::Owned(primary_key),
        auto_key: match &definition.kind {
            DefinitionKind::Table(table) => table.auto_key(),
            _ => None,
        },
        indexes: Cow::Owned(indexes),
        types: Cow::Owned(Lowering::new(schema, root).types()),
    }
}

/// Describes all types of a schema, in the order of their definitions.
#[must_use]
pub fn describe_types(schema: &Schema) -> Vec<TypeDescriptor> {
    let mut lowering = Lowering {
        schema,
        ids: HashMap::new(),
        reached: Vec::new(),
    };
    for id in 0..schema.definitions.len() {
        lowering.id(DefinitionId(id as u32));
    }
    lowering.types()
}

fn primary_key(schema: &Schema, table: &Table) -> Vec<KeyField> {
    let mut key = Vec::new();
    for field in table.fields.iter().filter(|field| field.storage.primary) {
        let kind = match field.ty.element() {
            Element::Scalar(scalar) => FieldKind::Scalar(scalar),
            Element::Text => FieldKind::Text,
            Element::Definition(id) => match &schema.definition(id).kind {
                DefinitionKind::Enum(found) => FieldKind::Scalar(found.base),
                // Invariant: `check` allows no other type in a key. With `payload_only`, keys are
                // not used.
                _ => continue,
            },
        };
        let scalar = match kind {
            FieldKind::Scalar(scalar) => Some(scalar),
            FieldKind::Text => None,
        };
        key.push(KeyField {
            name: Cow::Owned(field.name.clone()),
            steps: Cow::Owned(vec![Step::Field(field.voffset)]),
            kind,
            default: value(&field.default, scalar),
        });
    }
    key
}

/// Converts types in the order in which they are reached, the root first.
struct Lowering<'a> {
    schema: &'a Schema,
    ids: HashMap<DefinitionId, TypeId>,
    reached: Vec<DefinitionId>,
}

impl<'a> Lowering<'a> {
    fn new(schema: &'a Schema, root: DefinitionId) -> Self {
        let mut lowering = Self {
            schema,
            ids: HashMap::new(),
            reached: Vec::new(),
        };
        lowering.id(root);
        lowering
    }

    fn types(mut self) -> Vec<TypeDescriptor> {
        let mut types = Vec::new();
        while let Some(id) = self.reached.get(types.len()) {
            let definition = self.schema.definition(*id);
            let name = Cow::Owned(definition.full_name());
            types.push(match &definition.kind {
                DefinitionKind::Table(table) => TypeDescriptor::Table(self.table(name, table)),
                DefinitionKind::Struct(found) => {
                    TypeDescriptor::Struct(self.structure(name, found))
                }
                DefinitionKind::Union(found) => TypeDescriptor::Union(self.union(name, found)),
                DefinitionKind::Enum(found) => TypeDescriptor::Enum(enumeration(name, found)),
            });
        }
        types
    }

    /// The id of a type. A type that was not reached before gets a new id.
    fn id(&mut self, definition: DefinitionId) -> TypeId {
        let next = u16::try_from(self.reached.len()).unwrap_or(u16::MAX);
        *self.ids.entry(definition).or_insert_with(|| {
            self.reached.push(definition);
            TypeId(next)
        })
    }

    fn element(&mut self, element: Element) -> dflat_model::Element {
        let definition = match element {
            Element::Scalar(scalar) => return dflat_model::Element::Scalar(scalar),
            Element::Text => return dflat_model::Element::Text,
            Element::Definition(definition) => definition,
        };
        let id = self.id(definition);
        match self.schema.definition(definition).kind {
            DefinitionKind::Enum(_) => dflat_model::Element::Enum(id),
            DefinitionKind::Union(_) => dflat_model::Element::Union(id),
            DefinitionKind::Struct(_) => dflat_model::Element::Struct(id),
            DefinitionKind::Table(_) => dflat_model::Element::Table(id),
        }
    }

    fn table(&mut self, name: Cow<'static, str>, table: &Table) -> TableLayout {
        let mut kept: Vec<&Field> = table
            .fields
            .iter()
            .filter(|field| !field.deprecated)
            .collect();
        kept.sort_by_key(|field| field.voffset);
        let fields = kept.into_iter().map(|field| {
            let element = self.element(field.ty.element());
            let (shape, default) = match field.ty {
                FieldType::Single(_) => (
                    Shape::Single(element),
                    value(&field.default, self.scalar(field)),
                ),
                FieldType::Vector(_) => (Shape::Vector(element), dflat_model::Value::Null),
            };
            FieldLayout {
                name: Cow::Owned(field.name.clone()),
                voffset: field.voffset,
                shape,
                default,
                required: field.required,
            }
        });
        let end = table
            .fields
            .iter()
            .map(|field| field.voffset.saturating_add(2))
            .max();
        TableLayout {
            name,
            fields: fields.collect(),
            end: end.unwrap_or(FIRST_VOFFSET),
        }
    }

    fn scalar(&self, field: &Field) -> Option<dflat_model::Scalar> {
        match field.ty.element() {
            Element::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    fn structure(&mut self, name: Cow<'static, str>, found: &Struct) -> StructLayout {
        let fields = found.fields.iter().map(|field| StructFieldLayout {
            name: Cow::Owned(field.name.clone()),
            offset: field.offset,
            element: self.element(field.element),
            array: field.array,
        });
        let fields = fields.collect();
        StructLayout {
            name,
            size: found.size,
            align: found.align,
            fields,
        }
    }

    fn union(&mut self, name: Cow<'static, str>, found: &Union) -> UnionLayout {
        let members = found.members.iter().map(|member| MemberLayout {
            name: Cow::Owned(member.name.clone()),
            code: member.code,
            element: match member.target {
                UnionTarget::Definition(id) => self.element(Element::Definition(id)),
                UnionTarget::Text => dflat_model::Element::Text,
            },
        });
        UnionLayout {
            name,
            members: members.collect(),
        }
    }
}

fn enumeration(name: Cow<'static, str>, found: &Enum) -> EnumLayout {
    let values = found.values.iter().map(|value| EnumValueLayout {
        name: Cow::Owned(value.name.clone()),
        value: integer(value.value),
    });
    EnumLayout {
        name,
        base: found.base,
        bit_flags: found.bit_flags,
        values: values.collect(),
    }
}
