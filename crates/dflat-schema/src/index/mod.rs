//! The secondary indexes of a root table, and of the tables and structs that it contains.
//!
//! First, [`declare`] finds the indexes over several fields or of some objects. Then, an `indexed`
//! field of a nested table, struct or union member gets an index for each path that leads to it
//! from the root. A path enters no vectors and no deprecated fields, and visits no table type
//! twice, so recursive tables have finitely many indexes. The search also has limits; `check`
//! reports a schema that exceeds them.

mod condition;
mod declared;
mod path;
mod prefix;
mod syntax;
mod text;

use std::borrow::Cow;

use dflat_model::{FieldKind, IndexDescriptor, Scalar, Step, Value};

pub(crate) use declared::declare;
use prefix::Prefix;

use crate::schema::{
    Default, Definition, DefinitionId, DefinitionKind, Element, Field, FieldType, Span, Storage,
    StructField, UnionTarget,
};

/// The limit on indexes of a table. Every index is a table in the database, and costs a statement
/// at every insertion.
const INDEXES_MAX: usize = 500;
const STEPS_MAX: usize = 64;
/// The limit on visited fields. It bounds the search if most paths end at a table type that they
/// visited before.
const FIELDS_VISITED_MAX: usize = 1_000_000;

/// A field through which a root table inherits `unique` from another root table.
pub(crate) struct Inherited {
    /// The position of the field that holds the other root table.
    pub(crate) field: Span,
    /// The other root table.
    pub(crate) owner: DefinitionId,
    /// The index, as in messages.
    pub(crate) index: String,
}

/// The result of a search.
#[derive(Default)]
pub(crate) struct Found {
    /// The indexes, in declaration order.
    pub(crate) indexes: Vec<IndexDescriptor>,
    /// One item for each inherited `unique` index.
    pub(crate) inherited: Vec<Inherited>,
}

/// Finds indexes in a set of definitions.
pub(crate) struct IndexFinder<'a> {
    definitions: &'a [Definition],
    /// By [`DefinitionId`]: whether a path leads from the definition to an index.
    has_path: Vec<bool>,
}

impl<'a> IndexFinder<'a> {
    pub(crate) fn new(definitions: &'a [Definition]) -> Self {
        let mut containers: Vec<Vec<usize>> = vec![Vec::new(); definitions.len()];
        let mut pending = Vec::new();
        for (position, definition) in definitions.iter().enumerate() {
            if has_index(definition) {
                pending.push(position);
            }
            for inner in contained(definition) {
                containers[inner.0 as usize].push(position);
            }
        }
        let mut has_path = vec![false; definitions.len()];
        while let Some(position) = pending.pop() {
            if !std::mem::replace(&mut has_path[position], true) {
                pending.extend(&containers[position]);
            }
        }
        Self {
            definitions,
            has_path,
        }
    }

    /// The indexes of a root table, in declaration order, or the limit that they exceed.
    pub(crate) fn find(&self, root: DefinitionId) -> Result<Vec<IndexDescriptor>, String> {
        self.search(root).map(|found| found.indexes)
    }

    /// Whether a path leads from a value to an index.
    pub(crate) fn has_path(&self, element: Element) -> bool {
        match element {
            Element::Definition(id) => self.has_path[id.0 as usize],
            Element::Scalar(_) | Element::Text => false,
        }
    }

    /// The indexes of a root table, and the fields through which it inherits `unique`.
    pub(crate) fn search(&self, root: DefinitionId) -> Result<Found, String> {
        let mut search = Search {
            finder: self,
            path: Prefix::default(),
            visited: Vec::new(),
            fields_visited: 0,
            field: None,
            holders: Vec::new(),
            found: Found::default(),
        };
        search.enter(root)?;
        Ok(search.found)
    }
}

fn has_index(definition: &Definition) -> bool {
    match &definition.kind {
        DefinitionKind::Table(table) => {
            let mut fields = table.fields.iter();
            !table.indexes.is_empty()
                || fields.any(|field| field.storage.indexed && !field.deprecated)
        }
        DefinitionKind::Struct(found) => found.fields.iter().any(|field| field.storage.indexed),
        DefinitionKind::Enum(_) | DefinitionKind::Union(_) => false,
    }
}

/// The definitions that a path can reach directly from this one.
fn contained(definition: &Definition) -> Vec<DefinitionId> {
    let element = |element| match element {
        Element::Definition(id) => Some(id),
        _ => None,
    };
    match &definition.kind {
        DefinitionKind::Table(table) => {
            let enters = |field: &&Field| !field.deprecated && !field.storage.no_indexes;
            let fields = table.fields.iter().filter(enters);
            let single = fields.filter_map(|field| match field.ty {
                FieldType::Single(inner) => element(inner),
                FieldType::Vector(_) => None,
            });
            single.collect()
        }
        DefinitionKind::Struct(found) => {
            let enters = |field: &&StructField| field.array.is_none() && !field.storage.no_indexes;
            let single = found.fields.iter().filter(enters);
            single.filter_map(|field| element(field.element)).collect()
        }
        DefinitionKind::Union(found) => {
            let targets = found.members.iter().map(|member| member.target);
            let definitions = targets.filter_map(|target| match target {
                UnionTarget::Definition(id) => Some(id),
                UnionTarget::Text => None,
            });
            definitions.collect()
        }
        DefinitionKind::Enum(_) => Vec::new(),
    }
}

struct Search<'a> {
    finder: &'a IndexFinder<'a>,
    path: Prefix<'a>,
    /// The table types on the current path.
    visited: Vec<DefinitionId>,
    fields_visited: usize,
    /// The field of a table that the path leads to or through last.
    field: Option<&'a Span>,
    /// The root tables inside of the root table on the current path, and the fields that hold
    /// them.
    holders: Vec<(DefinitionId, &'a Span)>,
    found: Found,
}

impl<'a> Search<'a> {
    fn enter(&mut self, id: DefinitionId) -> Result<(), String> {
        if !self.finder.has_path[id.0 as usize] || self.visited.contains(&id) {
            return Ok(());
        }
        if self.path.steps.len() > STEPS_MAX {
            return Err(format!(
                "a path to an index has more than {STEPS_MAX} steps"
            ));
        }
        let definitions: &'a [Definition] = self.finder.definitions;
        match &definitions[id.0 as usize].kind {
            DefinitionKind::Table(table) => {
                let holder = self.field.filter(|_| table.root);
                self.holders.extend(holder.map(|field| (id, field)));
                self.visited.push(id);
                for field in table.fields.iter().filter(|field| !field.deprecated) {
                    let FieldType::Single(element) = field.ty else {
                        continue;
                    };
                    self.path.push(Step::Field(field.voffset), &field.name);
                    let outer = self.field.replace(&field.span);
                    self.field(element, field.storage, &field.default)?;
                    self.field = outer;
                    self.path.pop();
                }
                for index in &table.indexes {
                    let index = self.path.with_index(&index.descriptor);
                    self.push(index)?;
                }
                self.visited.pop();
                if holder.is_some() {
                    self.holders.pop();
                }
            }
            DefinitionKind::Struct(found) => {
                for field in found.fields.iter().filter(|field| field.array.is_none()) {
                    let offset = u16::try_from(field.offset).unwrap_or(u16::MAX);
                    self.path.push(Step::Offset(offset), &field.name);
                    self.field(field.element, field.storage, &zero(field.element))?;
                    self.path.pop();
                }
            }
            DefinitionKind::Union(found) => {
                for member in &found.members {
                    let UnionTarget::Definition(target) = member.target else {
                        continue;
                    };
                    self.path.push(Step::Member(member.code), &member.name);
                    self.enter(target)?;
                    self.path.pop();
                }
            }
            DefinitionKind::Enum(_) => {}
        }
        Ok(())
    }

    /// Visits the field that the path leads to.
    fn field(
        &mut self,
        element: Element,
        storage: Storage,
        default: &Default,
    ) -> Result<(), String> {
        self.fields_visited += 1;
        if self.fields_visited > FIELDS_VISITED_MAX {
            return Err("too many paths lead through its nested tables".to_owned());
        }
        // The fields of the root's primary key need no index of their own.
        let primary_of_root = storage.primary && self.visited.len() == 1;
        let indexed = storage.indexed && !primary_of_root;
        let definitions: &'a [Definition] = self.finder.definitions;
        let (kind, base) = match element {
            Element::Scalar(scalar) => (FieldKind::Scalar(scalar), Some(scalar)),
            Element::Text => (FieldKind::Text, None),
            Element::Definition(id) => match &definitions[id.0 as usize].kind {
                DefinitionKind::Enum(found) => (FieldKind::Scalar(found.base), Some(found.base)),
                DefinitionKind::Union(_) => {
                    if indexed {
                        // The name of the type code in FlatBuffers.
                        let name = self.path.names.last().map(|name| format!("{name}_type"));
                        self.add_tag(&name.unwrap_or_default(), storage.unique)?;
                    }
                    return self.enter_field(id, storage);
                }
                DefinitionKind::Struct(_) | DefinitionKind::Table(_) => {
                    return self.enter_field(id, storage);
                }
            },
        };
        if indexed {
            let name = self.path.names.join(".");
            let steps = self.path.steps.clone();
            self.add(name, steps, kind, value(default, base), storage.unique)?;
        }
        Ok(())
    }

    /// Enters the type of a field, unless the field has no indexes inside.
    fn enter_field(&mut self, id: DefinitionId, storage: Storage) -> Result<(), String> {
        match storage.no_indexes {
            true => Ok(()),
            false => self.enter(id),
        }
    }

    fn add_tag(&mut self, last_name: &str, unique: bool) -> Result<(), String> {
        let mut names = self.path.names.clone();
        names.pop();
        names.push(Cow::Borrowed(last_name));
        let mut steps = self.path.steps.clone();
        steps.push(Step::Tag);
        let kind = FieldKind::Scalar(Scalar::U8);
        self.add(names.join("."), steps, kind, Value::Int(0), unique)
    }

    fn add(
        &mut self,
        name: String,
        steps: Vec<Step>,
        kind: FieldKind,
        default: Value,
        unique: bool,
    ) -> Result<(), String> {
        let field = dflat_model::Field {
            name: Cow::Owned(name),
            steps: Cow::Owned(steps),
            kind,
            default,
        };
        self.push(IndexDescriptor::plain(field, unique))
    }

    fn push(&mut self, index: IndexDescriptor) -> Result<(), String> {
        if let Some((owner, field)) = self.holders.last().filter(|_| index.unique) {
            self.found.inherited.push(Inherited {
                field: (*field).clone(),
                owner: *owner,
                index: index.to_string(),
            });
        }
        let key = index.storage_key();
        // A field may be `indexed` itself and also have an index declared by a table around it.
        if let Some(same) = self
            .found
            .indexes
            .iter_mut()
            .find(|found| found.storage_key() == key)
        {
            same.unique |= index.unique;
            return Ok(());
        }
        if self.found.indexes.len() >= INDEXES_MAX {
            return Err(format!(
                "more than {INDEXES_MAX} paths lead to `indexed` fields"
            ));
        }
        self.found.indexes.push(index);
        Ok(())
    }
}

/// The initial value of a field of a struct.
fn zero(element: Element) -> Default {
    match element {
        Element::Scalar(scalar) if scalar.is_float() => Default::Float(0.0),
        _ => Default::Integer(0),
    }
}

/// A default as a value of the engine: a `float` is rounded and widened, and NaN becomes NULL.
pub(crate) fn value(default: &Default, scalar: Option<Scalar>) -> Value {
    match default {
        Default::Null | Default::EmptyVector => Value::Null,
        Default::Integer(number) => integer(*number),
        Default::Float(number) => {
            let number = if scalar == Some(Scalar::F32) {
                f64::from(*number as f32)
            } else {
                *number
            };
            if number.is_nan() {
                Value::Null
            } else {
                Value::Float(number)
            }
        }
        Default::Text(text) => Value::text(text),
    }
}

pub(crate) fn integer(number: i128) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => Value::Int(number),
        (_, Ok(number)) => Value::UInt(number),
        // Invariant: `check` allows no number outside of both ranges.
        _ => Value::Null,
    }
}
