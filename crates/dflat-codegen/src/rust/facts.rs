//! The sentences that the documentation of generated items adds to the schema's comments: type,
//! default, key, indexes.

use std::fmt::Write as _;

use dflat_model::{AutoKey, Scalar};
use dflat_schema::{
    Default as FieldDefault, DefinitionKind, Element, Enum, EnumValue, Field, FieldType, Storage,
    StructField, UnionMember, UnionTarget,
};

use super::Scope;
use super::text::Text;
use crate::plan::{FieldPlan, StructFieldPlan, Value, default_value};

impl Scope<'_> {
    /// Prints the schema's comment on a field, and its name with its facts.
    pub(super) fn field_docs(self, field: &FieldPlan<'_>, text: &mut Text) {
        let source = field.source;
        let facts = format!("`{}`: {}.", source.name, self.field_facts(field));
        text.docs(&source.docs, &facts);
    }

    /// The type of a field in the schema, its default, and its role in storage.
    pub(super) fn field_facts(self, field: &FieldPlan<'_>) -> String {
        let source = field.source;
        let mut facts = match source.ty {
            FieldType::Single(element) => format!("`{}`", self.schema_type(element)),
            FieldType::Vector(element) => format!("`[{}]`", self.schema_type(element)),
        };
        if let Some(unit) = source.time {
            let _ = write!(facts, ", {} since 1970", unit.name());
        }
        if let Some(default) = self.default_fact(field) {
            facts.push_str(", ");
            facts.push_str(&default);
        }
        facts.push_str(&self.key_fact(source));
        if self.plan().storage {
            facts.push_str(index_fact(source.storage));
            facts.push_str(&self.table_index_facts(source));
        }
        facts
    }

    /// How to fill in an absent value, or nothing if the field always has a value.
    fn default_fact(self, field: &FieldPlan<'_>) -> Option<String> {
        let source = field.source;
        if source.required {
            return Some("required".to_owned());
        }
        if source.storage.primary {
            return match source.default {
                FieldDefault::Null => None,
                _ => self.default_value_fact(field),
            };
        }
        match field.value {
            Value::Vector(_) => Some("empty by default".to_owned()),
            Value::Text { default: None }
            | Value::Struct(_)
            | Value::Table { .. }
            | Value::Union(_)
            | Value::Scalar { optional: true, .. }
            | Value::Enum { optional: true, .. }
            | Value::Time { optional: true, .. } => Some("may be missing".to_owned()),
            _ => self.default_value_fact(field),
        }
    }

    fn default_value_fact(self, field: &FieldPlan<'_>) -> Option<String> {
        let value = match (&field.source.default, field.value) {
            (FieldDefault::Integer(number), Value::Enum { id, .. }) => {
                let found = self.plan().enumeration(id)?;
                if found.bit_flags && *number == 0 {
                    return Some("no flag by default".to_owned());
                }
                enum_value(found, *number)
            }
            (
                FieldDefault::Integer(number),
                Value::Scalar {
                    scalar: Scalar::Bool,
                    ..
                },
            ) => (*number != 0).to_string(),
            (FieldDefault::Integer(number), _) => number.to_string(),
            (
                FieldDefault::Float(number),
                Value::Scalar {
                    scalar: Scalar::F32,
                    ..
                },
            ) => (*number as f32).to_string(),
            (FieldDefault::Float(number), _) => number.to_string(),
            (FieldDefault::Text(text), _) => format!("{text:?}"),
            (FieldDefault::Null | FieldDefault::EmptyVector, _) => return None,
        };
        Some(format!("default {}", code(&value)))
    }

    fn key_fact(self, field: &Field) -> String {
        let Some(stored) = &self.ty().stored else {
            return String::new();
        };
        if !field.storage.primary {
            return String::new();
        }
        let key = if stored.primary_key.len() > 1 {
            ", part of the primary key"
        } else {
            ", the primary key"
        };
        let auto = match field.storage.auto {
            Some(AutoKey::Increasing) => ", assigned in increasing order",
            Some(AutoKey::UuidV7) => ", assigned as a UUID v7",
            None => "",
        };
        format!("{key}{auto}")
    }

    /// The indexes over several fields, or of some objects, that begin at this field or include it.
    fn table_index_facts(self, field: &Field) -> String {
        let DefinitionKind::Table(table) = &self.ty().definition.kind else {
            return String::new();
        };
        let mut facts = String::new();
        for index in &table.indexes {
            let names = index
                .descriptor
                .fields
                .iter()
                .map(|path| path.name.as_ref());
            let names: Vec<&str> = names.collect();
            if !names.contains(&field.name.as_str()) {
                continue;
            }
            let kind = if index.descriptor.unique {
                "unique"
            } else {
                "indexed"
            };
            let others = names.iter().filter(|name| **name != field.name);
            let others: Vec<String> = others.map(|name| format!("`{name}`")).collect();
            let _ = write!(facts, ", {kind}");
            if !others.is_empty() {
                let _ = write!(facts, " together with {}", others.join(" and "));
            }
            if index.descriptor.condition.is_some() {
                facts.push_str(" in some objects");
            }
        }
        facts
    }

    /// Prints the schema's comment on a field of a struct, and its name with its facts.
    pub(super) fn struct_field_docs(self, field: &StructFieldPlan<'_>, text: &mut Text) {
        let source: &StructField = field.source;
        let element = self.schema_type(source.element);
        let ty = match source.array {
            Some(length) => format!("[{element}:{length}]"),
            None => element,
        };
        let index = match self.plan().storage {
            true => index_fact(source.storage),
            false => "",
        };
        text.docs(&source.docs, &format!("`{}`: `{ty}`{index}.", source.name));
    }

    /// Prints the schema's comment on a union's member, and its name with its type.
    pub(super) fn union_member_docs(self, source: &UnionMember, text: &mut Text) {
        let ty = match source.target {
            UnionTarget::Text => "string".to_owned(),
            UnionTarget::Definition(id) => self.schema_type(Element::Definition(id)),
        };
        let code = source.code;
        let facts = format!("`{}`: `{ty}`, type code {code}.", source.name);
        text.docs(&source.docs, &facts);
    }

    /// Prints the schema's comment on an enum, and its type with its default.
    pub(super) fn enum_docs(self, found: &Enum, text: &mut Text) {
        let base = found.base.name();
        let default = found.values.get(default_value(found));
        let facts = match default {
            _ if found.bit_flags => format!("Bit flags of the schema: `{base}`, none by default."),
            Some(value) => {
                format!(
                    "An enum of the schema: `{base}`, `{}` by default.",
                    value.name
                )
            }
            None => format!("An enum of the schema: `{base}`."),
        };
        text.docs(&self.ty().definition.docs, &facts);
    }

    /// The name of a type as a schema writes it.
    fn schema_type(self, element: Element) -> String {
        match element {
            Element::Scalar(scalar) => scalar.name().to_owned(),
            Element::Text => "string".to_owned(),
            Element::Definition(id) => self.plan().ty(id).definition.full_name(),
        }
    }
}

/// Prints the schema's comment on a value of an enum, and its name with its number.
pub(super) fn enum_value_docs(value: &EnumValue, text: &mut Text) {
    let facts = format!("`{}`: {}.", value.name, value.value);
    text.docs(&value.docs, &facts);
}

fn index_fact(storage: Storage) -> &'static str {
    if storage.unique {
        ", unique"
    } else if storage.indexed {
        ", indexed"
    } else {
        ""
    }
}

/// The names of an enum's value, or of the flags in a value, or the number.
fn enum_value(found: &Enum, number: i128) -> String {
    let exact = found.values.iter().find(|value| value.value == number);
    if let Some(value) = exact {
        return value.name.clone();
    }
    let flags = found
        .values
        .iter()
        .filter(|value| value.value & number != 0);
    let names: Vec<&str> = flags.map(|value| value.name.as_str()).collect();
    match found.bit_flags {
        true => names.join(" | "),
        false => number.to_string(),
    }
}

/// Text as code in Markdown, between more backticks than it has itself.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    match longest {
        0 => format!("`{text}`"),
        _ => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {text} {fence}")
        }
    }
}
