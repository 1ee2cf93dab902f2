//! Writes descriptors as the text of a schema that compiles to the same descriptors.

mod condition;
mod definition;
mod indexes;
mod inner;
mod order;
mod path;
mod string;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use dflat_model::{IndexDescriptor, ROOT_TYPE, TableDescriptor, TypeDescriptor};

use crate::{DefinitionKind, MemoryLoader, Options, compile, describe};
use definition::DefinitionWriter;
use indexes::{Arrangement, Marks, Placement};

/// The name of the file in which the text is compiled to check it.
const FILE: &str = "written.fbs";

/// The text of a schema with these stored types, for people and for the compiler.
///
/// The text compiles to the same descriptors: this function compiles it and compares. Two parts may
/// differ. A descriptor from a file does not say how keys are assigned, so the text has no `auto`.
/// If no text gives the indexes of a type in their order, they are in another one, which has no
/// effect. Comments, attributes for other programs and deprecated fields are not in a descriptor;
/// numbers of deprecated fields are kept by fields named `unused_0` and so on.
///
/// # Errors
/// The reason, if no schema has these descriptors: two of them describe a type of one name
/// differently, or a name cannot be written in a schema.
pub fn schema_text(tables: &[&TableDescriptor]) -> Result<String, String> {
    let types = types(tables)?;
    let mut closest = None;
    let ways = Arrangement::ALL.into_iter();
    let ways = ways.flat_map(|arrangement| Placement::ALL.map(|place| (place, arrangement)));
    for (placement, arrangement) in ways {
        let Some(marks) = Marks::new(tables, placement, arrangement) else {
            continue;
        };
        let Some(text) = write(tables, &types, &marks) else {
            continue;
        };
        match agreement(tables, &text) {
            Agreement::Same => return Ok(text),
            Agreement::OtherOrder => closest = closest.or(Some(text)),
            Agreement::Differs => {}
        }
    }
    let reason = "no schema describes exactly these types: a name, a default or an index cannot be \
                  written in the schema language";
    closest.ok_or_else(|| reason.to_owned())
}

/// A type, and the list in which its references to other types are positions.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    ty: &'a TypeDescriptor,
    types: &'a [TypeDescriptor],
    /// The stored table of which it is the root.
    root: Option<&'a TableDescriptor>,
}

/// All types, each once: those without references first.
fn types<'a>(tables: &[&'a TableDescriptor]) -> Result<Vec<Placed<'a>>, String> {
    let mut found: Vec<Placed<'a>> = Vec::new();
    let mut positions: BTreeMap<&str, usize> = BTreeMap::new();
    for table in tables {
        for (position, ty) in table.types.iter().enumerate().rev() {
            let root = (position == usize::from(ROOT_TYPE.0)).then_some(*table);
            let types = &table.types;
            let placed = Placed { ty, types, root };
            let Some(known) = positions.get(ty.name()) else {
                positions.insert(ty.name(), found.len());
                found.push(placed);
                continue;
            };
            let before = &mut found[*known];
            let plain = |placed: Placed<'_>| {
                let placed = Placed {
                    root: None,
                    ..placed
                };
                DefinitionWriter::new(placed, &Marks::default()).text()
            };
            if plain(*before) != plain(placed) {
                let name = ty.name();
                return Err(format!("two stored types describe `{name}` differently"));
            }
            if let Some(root) = root {
                if let Some(first) = before.root {
                    let (one, other) = (&first.name, &root.name);
                    return Err(format!(
                        "`{one}` and `{other}` are versions of one type, `{}`",
                        ty.name()
                    ));
                }
                before.root = Some(root);
            }
        }
    }
    Ok(found)
}

/// `None` if an index cannot be written.
fn write(tables: &[&TableDescriptor], types: &[Placed<'_>], marks: &Marks<'_>) -> Option<String> {
    let mut text = String::new();
    let mut namespace = "";
    for placed in types {
        let before = placed
            .ty
            .name()
            .rsplit_once('.')
            .map_or("", |(name, _)| name);
        if before != namespace {
            namespace = before;
            // Writing to a string does not fail.
            let _ = match namespace {
                "" => writeln!(text, "namespace;\n"),
                name => writeln!(text, "namespace {name};\n"),
            };
        }
        let is_first = tables.first().map(|table| &*table.name);
        let stored = placed.root.filter(|root| Some(&*root.name) != is_first);
        let writer = DefinitionWriter::new(*placed, marks);
        let writer = match stored {
            Some(_) => writer.stored(),
            None => writer,
        };
        text.push_str(&writer.text()?);
        text.push('\n');
    }
    if let Some(first) = tables.first() {
        let _ = writeln!(text, "root_type {};", first.type_name);
    }
    Some(text)
}

/// Whether a text compiles to descriptors.
enum Agreement {
    Same,
    /// But for the order of indexes.
    OtherOrder,
    Differs,
}

fn agreement(tables: &[&TableDescriptor], text: &str) -> Agreement {
    let loader = MemoryLoader::new().with_file(FILE, text);
    let compiled = compile(&[FILE.to_owned()], &loader, &Options::default());
    let Some(schema) = compiled.schema else {
        return Agreement::Differs;
    };
    let roots = schema.definitions.iter().enumerate().filter(
        |(_, definition)| matches!(&definition.kind, DefinitionKind::Table(table) if table.root),
    );
    let ids = roots.filter_map(|(id, _)| u32::try_from(id).ok());
    let found: Vec<TableDescriptor> = ids
        .map(|id| describe(&schema, crate::DefinitionId(id)))
        .collect();
    let mut agreement = Agreement::Same;
    for table in tables {
        let Some(found) = found.iter().find(|found| found.name == table.name) else {
            return Agreement::Differs;
        };
        let unordered = TableDescriptor {
            auto_key: None,
            indexes: Vec::new().into(),
            ..(*table).clone()
        };
        let same_but_indexes = TableDescriptor {
            indexes: Vec::new().into(),
            ..found.clone()
        };
        if unordered != same_but_indexes || !same_indexes(&table.indexes, &found.indexes) {
            return Agreement::Differs;
        }
        if table.indexes != found.indexes {
            agreement = Agreement::OtherOrder;
        }
    }
    agreement
}

/// Whether two lists have the same indexes, in any order.
fn same_indexes(left: &[IndexDescriptor], right: &[IndexDescriptor]) -> bool {
    let keys = |list: &[IndexDescriptor]| -> HashSet<(String, bool)> {
        let keys = list.iter().map(|index| (index.storage_key(), index.unique));
        keys.collect()
    };
    left.len() == right.len()
        && keys(left) == keys(right)
        && left.iter().all(|index| right.contains(index))
}
