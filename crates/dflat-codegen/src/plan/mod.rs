//! The plan of what to generate, in terms of the schema and independent of the target language.
//!
//! The plan decides which fields are generated and of which kind, the order of inline values, where
//! recursion needs a box, where a long chain of types hides a type, which types are nested in
//! others, which types have `Eq`, which types another run generates, and how objects are stored.
mod chain;
mod equality;
mod external;
mod recursion;

use dflat_model::{Scalar, TableDescriptor, TypeDescriptor};
use dflat_schema::{
    Default as FieldDefault, Definition, DefinitionId, DefinitionKind, Diagnostic, Element, Enum,
    Field, FieldType, Schema, Struct, StructField, Table, TimeUnit, Union, UnionTarget,
};

use crate::Options;
use chain::Chains;
use recursion::Recursion;

/// A schema with all decisions that printing needs.
pub(crate) struct Plan<'s> {
    /// The names of the requested files, without directories.
    pub(crate) requested: Vec<String>,
    /// By [`DefinitionId`].
    pub(crate) types: Vec<Type<'s>>,
    /// Whether objects are stored, and so can be queried.
    pub(crate) storage: bool,
    /// Without storage: the types of all payloads, by [`DefinitionId`].
    pub(crate) payloads: Vec<TypeDescriptor>,
    /// The tables whose types are hidden in others. Generated code calls their functions through
    /// one list of function pointers, so that rustc does not follow a chain of generic functions.
    pub(crate) links: Vec<DefinitionId>,
    ownership: Ownership,
}

/// How types hold values of other types.
struct Ownership {
    recursion: Recursion,
    chains: Chains,
}

impl Ownership {
    /// Whether a table inside a value needs a box. At a cut it needs none, because the type that
    /// hides it is a box already.
    fn boxes(&self, outer: DefinitionId, inner: DefinitionId) -> bool {
        self.recursion.joins(outer, inner) && !self.chains.cuts(outer, inner)
    }
}

/// A type of the schema.
pub(crate) struct Type<'s> {
    pub(crate) definition: &'s Definition,
    /// The module that has the type, if another run generates it.
    pub(crate) external: Option<&'s str>,
    /// Whether other types hold values of this one.
    pub(crate) nested: bool,
    /// The storage of its objects, if they are stored.
    pub(crate) stored: Option<TableDescriptor>,
    /// Whether its values have `Eq`: none of them holds a float.
    pub(crate) total: bool,
    pub(crate) kind: Kind<'s>,
}

pub(crate) enum Kind<'s> {
    Enum(&'s Enum),
    Union(Vec<MemberPlan<'s>>),
    Struct(StructPlan<'s>),
    Table(TablePlan<'s>),
}

/// A union's member.
pub(crate) struct MemberPlan<'s> {
    pub(crate) source: &'s dflat_schema::UnionMember,
    pub(crate) target: Target,
    /// Whether the union contains itself through this member.
    pub(crate) boxed: bool,
    /// Whether its type does not identify the member. Queries then need a marker type for it.
    pub(crate) ambiguous: bool,
}

/// The value that a union's member holds.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Target {
    Struct(DefinitionId),
    Table(DefinitionId),
    Text,
}

pub(crate) struct StructPlan<'s> {
    pub(crate) size: u32,
    pub(crate) align: u32,
    /// The fields that are not deprecated.
    pub(crate) fields: Vec<StructFieldPlan<'s>>,
    /// Whether its two numbers are a UUID.
    pub(crate) uuid: bool,
}

pub(crate) struct StructFieldPlan<'s> {
    pub(crate) source: &'s StructField,
    pub(crate) item: Item,
    /// The bytes from one element of an array to the next.
    pub(crate) stride: u32,
}

pub(crate) struct TablePlan<'s> {
    /// The fields that are not deprecated, in declaration order.
    pub(crate) fields: Vec<FieldPlan<'s>>,
    /// The inline values in the order of writing: by descending alignment, then by offset.
    pub(crate) inline: Vec<Inline>,
}

/// A value in a table's inline part.
#[derive(Clone, Copy)]
pub(crate) enum Inline {
    /// The value of the field at an index of [`TablePlan::fields`], or the offset to the value.
    Value(usize),
    /// The type code, or the vector of type codes, of the union field at an index.
    Code(usize),
}

pub(crate) struct FieldPlan<'s> {
    pub(crate) source: &'s Field,
    pub(crate) value: Value<'s>,
}

/// The kind of a field's value.
#[derive(Clone, Copy)]
pub(crate) enum Value<'s> {
    Scalar {
        scalar: Scalar,
        optional: bool,
    },
    Enum {
        id: DefinitionId,
        optional: bool,
    },
    /// A date and time.
    Time {
        unit: TimeUnit,
        optional: bool,
    },
    /// A string; never absent if it has a default.
    Text {
        default: Option<&'s str>,
    },
    Struct(DefinitionId),
    Table {
        id: DefinitionId,
        boxed: bool,
        required: bool,
    },
    Union(DefinitionId),
    Vector(Item),
}

/// One value of a vector or an array.
#[derive(Clone, Copy)]
pub(crate) enum Item {
    Scalar(Scalar),
    Text,
    Enum(DefinitionId),
    Struct(DefinitionId),
    Table(DefinitionId),
    Union(DefinitionId),
}

impl<'s> Plan<'s> {
    pub(crate) fn new(schema: &'s Schema, options: &'s Options) -> Result<Self, Vec<Diagnostic>> {
        let origins = external::origins(schema, &options.external)?;
        let ownership = Ownership {
            recursion: Recursion::of(schema),
            chains: Chains::of(schema),
        };
        let nested = nested(schema);
        let total = equality::total(schema);
        let ids = (0..).map(DefinitionId);
        let types = ids.zip(&schema.definitions).map(|(id, definition)| {
            let stored = match &definition.kind {
                DefinitionKind::Table(table) => table.root && !options.payload_only,
                _ => false,
            };
            Type {
                definition,
                external: origins[definition.span.file.0 as usize],
                nested: nested[id.0 as usize],
                total: total[id.0 as usize],
                stored: stored.then(|| dflat_schema::describe(schema, id)),
                kind: kind(schema, &ownership, id),
            }
        });
        let types: Vec<Type<'s>> = types.collect();
        let mut links = ownership.chains.hidden(schema);
        links.retain(|id| types[id.0 as usize].external.is_none());
        let requested = schema.files.iter().filter(|file| file.requested);
        Ok(Self {
            requested: requested
                .map(|file| file_name(&file.path).to_owned())
                .collect(),
            types,
            links,
            payloads: match options.payload_only {
                true => dflat_schema::describe_types(schema),
                false => Vec::new(),
            },
            ownership,
            storage: !options.payload_only,
        })
    }

    pub(crate) fn ty(&self, id: DefinitionId) -> &Type<'s> {
        &self.types[id.0 as usize]
    }

    /// Whether values of the table `inner` inside an `outer` hide their type, so that rustc does
    /// not follow too long a chain.
    pub(crate) fn hides(&self, outer: DefinitionId, inner: DefinitionId) -> bool {
        self.ownership.chains.cuts(outer, inner)
    }

    /// The enum with an id, which must be that of an enum.
    pub(crate) fn enumeration(&self, id: DefinitionId) -> Option<&'s Enum> {
        match self.ty(id).kind {
            Kind::Enum(found) => Some(found),
            _ => None,
        }
    }

    /// The first table that this run generates. Items that all tables share are generated with it.
    pub(crate) fn first_table(&self) -> Option<DefinitionId> {
        let mut tables = self.iter().filter(|(_, ty)| ty.external.is_none());
        tables
            .find(|(_, ty)| matches!(ty.kind, Kind::Table(_)))
            .map(|(id, _)| id)
    }

    /// The types with their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (DefinitionId, &Type<'s>)> {
        (0..).map(DefinitionId).zip(&self.types)
    }
}

/// The last part of a path, with separators of any system.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The index of an enum's default value: the value 0, or else the first.
pub(crate) fn default_value(found: &Enum) -> usize {
    let zero = found.values.iter().position(|value| value.value == 0);
    zero.unwrap_or_default()
}

/// By id: whether other types hold values of the type.
fn nested(schema: &Schema) -> Vec<bool> {
    let mut nested = vec![false; schema.definitions.len()];
    let mut mark = |element| {
        if let Element::Definition(id) = element {
            nested[id.0 as usize] = true;
        }
    };
    for definition in &schema.definitions {
        match &definition.kind {
            DefinitionKind::Enum(_) => {}
            DefinitionKind::Union(union) => {
                for member in &union.members {
                    if let UnionTarget::Definition(id) = member.target {
                        mark(Element::Definition(id));
                    }
                }
            }
            DefinitionKind::Struct(found) => {
                found.fields.iter().for_each(|field| mark(field.element));
            }
            DefinitionKind::Table(table) => {
                let kept = table.fields.iter().filter(|field| !field.deprecated);
                kept.for_each(|field| mark(field.ty.element()));
            }
        }
    }
    nested
}

fn kind<'s>(schema: &'s Schema, ownership: &Ownership, id: DefinitionId) -> Kind<'s> {
    match &schema.definition(id).kind {
        DefinitionKind::Enum(found) => Kind::Enum(found),
        DefinitionKind::Union(union) => Kind::Union(members(schema, ownership, id, union)),
        DefinitionKind::Struct(found) => Kind::Struct(structure(schema, found)),
        DefinitionKind::Table(found) => Kind::Table(table(schema, ownership, id, found)),
    }
}

fn members<'s>(
    schema: &Schema,
    ownership: &Ownership,
    id: DefinitionId,
    union: &'s Union,
) -> Vec<MemberPlan<'s>> {
    let members = union.members.iter().map(|source| {
        let same = |other: &&dflat_schema::UnionMember| other.target == source.target;
        let twice = union.members.iter().filter(same).count() > 1;
        let (target, boxed) = match source.target {
            UnionTarget::Text => (Target::Text, false),
            UnionTarget::Definition(inner) => match schema.definition(inner).kind {
                DefinitionKind::Struct(_) => (Target::Struct(inner), false),
                _ => (Target::Table(inner), ownership.boxes(id, inner)),
            },
        };
        MemberPlan {
            source,
            target,
            boxed,
            ambiguous: source.aliased || twice || target == Target::Text,
        }
    });
    members.collect()
}

fn structure<'s>(schema: &Schema, found: &'s Struct) -> StructPlan<'s> {
    let kept = found.fields.iter().filter(|field| !field.deprecated);
    let fields = kept.map(|source| StructFieldPlan {
        source,
        item: item(schema, source.element),
        stride: layout(schema, source.element).0,
    });
    StructPlan {
        size: found.size,
        align: found.align,
        fields: fields.collect(),
        uuid: found.uuid,
    }
}

/// Size and alignment of an inline value.
fn layout(schema: &Schema, element: Element) -> (u32, u32) {
    let scalar = |scalar: Scalar| {
        let size = scalar.size_bytes() as u32;
        (size, size)
    };
    match element {
        Element::Scalar(found) => scalar(found),
        Element::Text => (4, 4),
        Element::Definition(id) => match &schema.definition(id).kind {
            DefinitionKind::Enum(found) => scalar(found.base),
            DefinitionKind::Struct(found) => (found.size, found.align),
            DefinitionKind::Union(_) | DefinitionKind::Table(_) => (4, 4),
        },
    }
}

fn item(schema: &Schema, element: Element) -> Item {
    match element {
        Element::Scalar(scalar) => Item::Scalar(scalar),
        Element::Text => Item::Text,
        Element::Definition(id) => match schema.definition(id).kind {
            DefinitionKind::Enum(_) => Item::Enum(id),
            DefinitionKind::Union(_) => Item::Union(id),
            DefinitionKind::Struct(_) => Item::Struct(id),
            DefinitionKind::Table(_) => Item::Table(id),
        },
    }
}

fn table<'s>(
    schema: &Schema,
    ownership: &Ownership,
    id: DefinitionId,
    found: &'s Table,
) -> TablePlan<'s> {
    let kept = found.fields.iter().filter(|field| !field.deprecated);
    let fields: Vec<FieldPlan<'s>> = kept
        .map(|source| FieldPlan {
            source,
            value: value(schema, ownership, id, source),
        })
        .collect();
    // Descending alignment leaves no padding between values. Ties are in the order of the vtable.
    let mut inline = Vec::new();
    for (position, field) in fields.iter().enumerate() {
        let voffset = field.source.voffset;
        match field.value {
            Value::Union(_) => {
                inline.push((4, voffset, Inline::Value(position)));
                inline.push((1, voffset - 2, Inline::Code(position)));
            }
            Value::Vector(Item::Union(_)) => {
                inline.push((4, voffset, Inline::Value(position)));
                inline.push((4, voffset - 2, Inline::Code(position)));
            }
            Value::Vector(_) => inline.push((4, voffset, Inline::Value(position))),
            _ => {
                let (_, align) = layout(schema, field.source.ty.element());
                inline.push((align, voffset, Inline::Value(position)));
            }
        }
    }
    inline.sort_by_key(|(align, voffset, _)| (std::cmp::Reverse(*align), *voffset));
    TablePlan {
        fields,
        inline: inline.into_iter().map(|(_, _, inline)| inline).collect(),
    }
}

fn value<'s>(
    schema: &Schema,
    ownership: &Ownership,
    table: DefinitionId,
    field: &'s Field,
) -> Value<'s> {
    let element = match field.ty {
        FieldType::Vector(element) => return Value::Vector(item(schema, element)),
        FieldType::Single(element) => element,
    };
    let optional = field.default == FieldDefault::Null;
    if let Some(unit) = field.time {
        return Value::Time { unit, optional };
    }
    match item(schema, element) {
        Item::Scalar(scalar) => Value::Scalar { scalar, optional },
        Item::Enum(id) => Value::Enum { id, optional },
        Item::Text => Value::Text {
            default: match &field.default {
                FieldDefault::Text(text) => Some(text),
                _ if field.storage.primary || field.required => Some(""),
                _ => None,
            },
        },
        Item::Struct(id) => Value::Struct(id),
        Item::Union(id) => Value::Union(id),
        // In a cycle through unions, the union's member has the box.
        Item::Table(id) => Value::Table {
            id,
            boxed: ownership.boxes(table, id),
            required: field.required,
        },
    }
}
