//! A readable form of a schema.

use std::fmt::Write as _;

use dflat_model::AutoKey;
use dflat_schema::{
    Default, Definition, DefinitionId, DefinitionKind, Element, Field, FieldType, Schema, Storage,
    UnionTarget, describe,
};

pub(crate) fn dump(schema: &Schema) -> String {
    let mut out = String::new();
    for file in &schema.files {
        let requested = if file.requested {
            "requested"
        } else {
            "included"
        };
        writeln!(out, "file {} ({requested})", file.path).unwrap();
        for include in &file.includes {
            writeln!(out, "  include {}", schema.files[include.0 as usize].path).unwrap();
        }
        if let Some(identifier) = &file.file_identifier {
            writeln!(out, "  identifier {identifier:?}").unwrap();
        }
        if let Some(extension) = &file.file_extension {
            writeln!(out, "  extension {extension:?}").unwrap();
        }
        if let Some(root) = file.root {
            writeln!(out, "  root {}", schema.definition(root).full_name()).unwrap();
            dump_storage(&mut out, schema, root);
        }
    }
    for (id, definition) in (0..).map(DefinitionId).zip(&schema.definitions) {
        out.push('\n');
        dump_definition(&mut out, schema, definition);
        let named = schema.files.iter().any(|file| file.root == Some(id));
        if !named && matches!(&definition.kind, DefinitionKind::Table(table) if table.root) {
            dump_storage(&mut out, schema, id);
        }
    }
    out
}

fn dump_storage(out: &mut String, schema: &Schema, root: DefinitionId) {
    let table = describe(schema, root);
    writeln!(
        out,
        "  stored as {}, {} types",
        table.name,
        table.types.len()
    )
    .unwrap();
    for (position, field) in table.primary_key.iter().enumerate() {
        let (key, column) = (field.storage_key(), field.column_type().sql_name());
        writeln!(out, "  key __pk{position} {column}: {key} {field}").unwrap();
    }
    for index in table.indexes.iter() {
        let unique = if index.unique { " unique" } else { "" };
        if !index.is_plain() {
            writeln!(out, "  index {}{unique}: {index}", index.storage_key()).unwrap();
            continue;
        }
        let field = &index.fields[0];
        let (key, column) = (field.storage_key(), field.column_type().sql_name());
        let default = &field.default;
        writeln!(out, "  index {key} {column}{unique}: {field} = {default:?}").unwrap();
    }
}

fn dump_docs(out: &mut String, indent: &str, docs: &[String]) {
    for line in docs {
        writeln!(out, "{}", format!("{indent}/// {line}").trim_end()).unwrap();
    }
}

fn dump_definition(out: &mut String, schema: &Schema, definition: &Definition) {
    dump_docs(out, "", &definition.docs);
    let name = definition.full_name();
    match &definition.kind {
        DefinitionKind::Enum(found) => {
            let flags = if found.bit_flags { " (bit_flags)" } else { "" };
            writeln!(out, "enum {name}: {}{flags}", found.base.name()).unwrap();
            for value in &found.values {
                dump_docs(out, "  ", &value.docs);
                writeln!(out, "  {} = {}", value.name, value.value).unwrap();
            }
        }
        DefinitionKind::Union(found) => {
            writeln!(out, "union {name}").unwrap();
            for member in &found.members {
                dump_docs(out, "  ", &member.docs);
                let alias = if member.aliased { " (alias)" } else { "" };
                let target = match member.target {
                    UnionTarget::Definition(id) => schema.definition(id).full_name(),
                    UnionTarget::Text => "string".to_owned(),
                };
                writeln!(out, "  {} {}{alias}: {target}", member.code, member.name).unwrap();
            }
        }
        DefinitionKind::Struct(found) => {
            writeln!(
                out,
                "struct {name}, size {}, align {}{}",
                found.size,
                found.align,
                if found.uuid { ", uuid" } else { "" }
            )
            .unwrap();
            for field in &found.fields {
                dump_docs(out, "  ", &field.docs);
                let element = element(schema, field.element);
                let array = field
                    .array
                    .map_or_else(String::new, |length| format!(" x {length}"));
                let storage = attributes(field.storage, &[]);
                writeln!(
                    out,
                    "  {} {}: {element}{array}{storage}",
                    field.offset, field.name
                )
                .unwrap();
            }
        }
        DefinitionKind::Table(found) => {
            let root = if found.root { ", root" } else { "" };
            let version = found
                .version
                .as_ref()
                .map_or_else(String::new, |v| format!(", v {v:?}"));
            writeln!(out, "table {name}{root}{version}").unwrap();
            for field in &found.fields {
                dump_field(out, schema, field);
            }
        }
    }
}

fn dump_field(out: &mut String, schema: &Schema, field: &Field) {
    dump_docs(out, "  ", &field.docs);
    let ty = match field.ty {
        FieldType::Single(single) => element(schema, single),
        FieldType::Vector(each) => format!("[{}]", element(schema, each)),
    };
    let default = match &field.default {
        Default::Null => "null".to_owned(),
        Default::Integer(value) => value.to_string(),
        Default::Float(value) => format!("{value:?}"),
        Default::Text(value) => format!("{value:?}"),
        Default::EmptyVector => "[]".to_owned(),
    };
    let flags = [
        ("deprecated", field.deprecated),
        ("required", field.required),
        ("key", field.key),
    ];
    let storage = attributes(field.storage, &flags);
    let time = field
        .time
        .map_or_else(String::new, |unit| format!(", {} since 1970", unit.name()));
    writeln!(
        out,
        "  {} {}: {ty} = {default}{storage}{time}",
        field.voffset, field.name
    )
    .unwrap();
}

fn element(schema: &Schema, element: Element) -> String {
    match element {
        Element::Scalar(scalar) => scalar.name().to_owned(),
        Element::Text => "string".to_owned(),
        Element::Definition(id) => schema.definition(id).full_name(),
    }
}

fn attributes(storage: Storage, flags: &[(&str, bool)]) -> String {
    let own = [
        ("primary", storage.primary),
        ("indexed", storage.indexed),
        ("unique", storage.unique),
        ("no_indexes", storage.no_indexes),
        ("auto", storage.auto == Some(AutoKey::Increasing)),
        ("auto uuid_v7", storage.auto == Some(AutoKey::UuidV7)),
    ];
    let set = own
        .iter()
        .chain(flags)
        .filter(|(_, set)| *set)
        .map(|(name, _)| *name);
    let set: Vec<&str> = set.collect();
    if set.is_empty() {
        String::new()
    } else {
        format!(" ({})", set.join(", "))
    }
}
