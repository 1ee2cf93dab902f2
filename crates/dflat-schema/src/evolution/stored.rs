//! The values that objects of the old version have in an index of the new version.

use dflat_model::{Field as Path, IndexCondition, IndexDescriptor, Step, Value};

use crate::schema::{DefinitionKind, Element, Schema, Table, UnionTarget};

/// A table in its schema.
type Placed<'a> = (&'a Schema, &'a Table);

/// The entries that objects of the old version have in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    /// No object has an entry with values, so a unique index refuses none.
    None,
    /// All objects that the index contains have the same values.
    Equal,
    /// The objects may have any values.
    Any,
}

/// The entries of old objects in an index of the new table.
pub(super) fn entries((old, new): (Placed<'_>, Placed<'_>), index: &IndexDescriptor) -> Entries {
    let stored = |path: &Path| stored(old, new, path);
    let condition = index.condition.as_ref();
    if condition.is_some_and(|condition| !may_hold(condition, &stored)) {
        return Entries::None;
    }
    let mut entries = Entries::Equal;
    for value in index.fields.iter().map(stored) {
        match value {
            // As in SQL, an index refuses no object that lacks one of the values.
            Stored::Default { value, .. } if value.as_ref().is_null() => return Entries::None,
            Stored::Default { .. } => {}
            Stored::Any => entries = Entries::Any,
        }
    }
    entries
}

/// The values of a path in objects of the old version.
#[derive(Debug, PartialEq)]
enum Stored {
    /// The old version has the field.
    Any,
    /// The objects lack the field, and have this value for it. If `may_miss`, objects that also
    /// lack a value around the field have NULL.
    Default { value: Value, may_miss: bool },
}

fn stored(old: Placed<'_>, new: Placed<'_>, path: &Path) -> Stored {
    let (mut old_table, mut new_table) = (old.1, new.1);
    let mut steps = &*path.steps;
    let mut may_miss = false;
    loop {
        let [Step::Field(voffset), rest @ ..] = steps else {
            // The field of a struct: the layout of a struct does not change.
            return Stored::Any;
        };
        let Some(after) = new_table
            .fields
            .iter()
            .find(|field| field.voffset == *voffset)
        else {
            return Stored::Any;
        };
        // A field that moved to another number is an error of its own.
        let mut fields = old_table.fields.iter();
        let before = fields.find(|field| field.voffset == *voffset || field.name == after.name);
        let Some(before) = before else {
            let value = match rest {
                [] | [Step::Tag] => path.default.clone(),
                _ => Value::Null,
            };
            return Stored::Default { value, may_miss };
        };
        may_miss = true;
        let (mut from, mut to) = (before.ty.element(), after.ty.element());
        steps = rest;
        if let [Step::Member(code), rest @ ..] = steps {
            let Some(target) = member(new.0, to, *code) else {
                return Stored::Any;
            };
            let Some(known) = member(old.0, from, *code) else {
                let value = Value::Null;
                return Stored::Default { value, may_miss };
            };
            (from, to, steps) = (known, target, rest);
        }
        match (table(old.0, from), table(new.0, to)) {
            (Some(before), Some(after)) => (old_table, new_table) = (before, after),
            _ => return Stored::Any,
        }
    }
}

fn table(schema: &Schema, element: Element) -> Option<&Table> {
    match element {
        Element::Definition(id) => match &schema.definition(id).kind {
            DefinitionKind::Table(table) => Some(table),
            _ => None,
        },
        Element::Scalar(_) | Element::Text => None,
    }
}

/// The type of a union's member.
fn member(schema: &Schema, union: Element, code: u8) -> Option<Element> {
    let Element::Definition(id) = union else {
        return None;
    };
    let DefinitionKind::Union(union) = &schema.definition(id).kind else {
        return None;
    };
    let member = union.members.iter().find(|member| member.code == code)?;
    Some(match member.target {
        UnionTarget::Definition(id) => Element::Definition(id),
        UnionTarget::Text => Element::Text,
    })
}

/// Whether a condition can be true for an object of the old version.
fn may_hold(condition: &IndexCondition, stored: &impl Fn(&Path) -> Stored) -> bool {
    match condition {
        IndexCondition::Compare {
            field,
            operator,
            value: wanted,
        } => match stored(field) {
            Stored::Any => true,
            Stored::Default { value, .. } => {
                let ordering = value.as_ref().compare(wanted.as_ref());
                ordering.is_some_and(|ordering| operator.accepts(ordering))
            }
        },
        IndexCondition::IsNull(field) => match stored(field) {
            Stored::Any => true,
            Stored::Default { value, may_miss } => may_miss || value.as_ref().is_null(),
        },
        IndexCondition::IsNotNull(field) => match stored(field) {
            Stored::Any => true,
            Stored::Default { value, .. } => !value.as_ref().is_null(),
        },
        IndexCondition::And(parts) => parts.iter().all(|part| may_hold(part, stored)),
        IndexCondition::Or(parts) => parts.iter().any(|part| may_hold(part, stored)),
    }
}
