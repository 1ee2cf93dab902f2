//! The types of a file, wherever their descriptions come from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dflat_condition::suggestion;
use dflat_engine::dictionary;
use dflat_model::{Table, TableDescriptor};
use dflat_pack::Pack;
use dflat_workspace::{Workspace, described_table};

use super::file_type::{FileType, Origin};
use super::schemas::{Schemas, beside};
use super::unknown::bare;
use crate::arguments::FileArguments;
use crate::failure::Failure;

/// The types of a file, in order of their names. The dictionary is left out.
pub(crate) struct Types(Vec<FileType>);

impl Types {
    /// Finds the types: by the descriptors of the file, by those of the pack on which it stands, by
    /// the given schemas, or by the schemas beside the file, which `say` is told.
    pub(super) fn find(
        workspace: &Workspace,
        arguments: &FileArguments,
        pack: Option<&Pack>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, Failure> {
        let mut found: BTreeMap<String, FileType> = BTreeMap::new();
        for stored in workspace.stored_tables()? {
            let known = described(&stored.name, stored.table, Origin::File);
            found.insert(stored.name, known);
        }
        for described in pack.map_or_else(Vec::new, |pack| Self::of_pack(pack).0) {
            let name = described.table.name.to_string();
            if found.get(&name).is_none_or(FileType::is_bare) {
                found.insert(name, described);
            }
        }
        let given = Schemas::read(&arguments.schemas)?;
        let mut missing = Vec::new();
        for object_table in workspace.object_tables()? {
            let name = &object_table.name;
            let is_described = found.get(name).is_some_and(|known| !known.is_bare());
            if is_described {
                continue;
            }
            match given.find(&object_table) {
                Some(described) => drop(found.insert(name.clone(), described)),
                None => missing.push(object_table),
            }
        }
        missing.retain(|table| table.name != dictionary::TABLE.name);
        if !missing.is_empty() {
            found.extend(noted(beside(&arguments.path, &missing), say));
        }
        for table in missing {
            let key = &table.key;
            let known = found.entry(table.name.clone());
            known
                .and_modify(|known| {
                    if known.is_bare() {
                        known.table = bare(&table.name, key);
                    }
                })
                .or_insert_with(|| FileType {
                    table: bare(&table.name, key),
                    origin: Origin::Nothing,
                });
        }
        Ok(Self::with_schemas(found, given))
    }

    /// Adds the types of schemas that the file does not have.
    fn with_schemas(mut found: BTreeMap<String, FileType>, given: Schemas) -> Self {
        for described in given.into_types() {
            let name = described.table.name.to_string();
            match found.get_mut(&name) {
                Some(known) => assign_keys(known, &described.table),
                None => drop(found.insert(name, described)),
            }
        }
        found.retain(|name, _| *name != dictionary::TABLE.name);
        Self(found.into_values().collect())
    }

    /// The types of a server, by its descriptors, and those of the given schemas.
    pub(super) fn of_server(
        stored: Vec<(String, Vec<u8>)>,
        arguments: &FileArguments,
    ) -> Result<Self, Failure> {
        let known = stored.into_iter().map(|(name, bytes)| {
            let table = described_table(&name, &bytes);
            let known = described(&name, table, Origin::Server);
            (name, known)
        });
        let given = Schemas::read(&arguments.schemas)?;
        Ok(Self::with_schemas(known.collect(), given))
    }

    /// The types of schemas alone.
    pub(crate) fn of_schemas(schemas: &[PathBuf]) -> Result<Self, Failure> {
        Ok(Self(Schemas::read(schemas)?.into_types().collect()))
    }

    /// The types of a pack, by its descriptors.
    pub(super) fn of_pack(pack: &Pack) -> Self {
        let described = |table: &Table| FileType {
            table: table.clone(),
            origin: Origin::Pack,
        };
        Self(pack.tables().map(described).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FileType> {
        self.0.iter()
    }

    /// The type of a name: its full name, the last part of its name, or the name of its table, each
    /// without regard to case if there is no exact one.
    pub(crate) fn get(&self, name: &str) -> Result<&FileType, Failure> {
        let tests: [fn(&FileType, &str) -> bool; 4] = [
            |known, name| known.table.type_name == name || known.table.name == name,
            |known, name| short(known) == name,
            |known, name| known.table.type_name.eq_ignore_ascii_case(name),
            |known, name| short(known).eq_ignore_ascii_case(name),
        ];
        for test in tests {
            let mut fitting = self.0.iter().filter(|known| test(known, name));
            match (fitting.next(), fitting.next()) {
                (Some(found), None) => return Ok(found),
                (Some(one), Some(other)) => {
                    let (one, other) = (&one.table.name, &other.table.name);
                    let message = format!("`{name}` is the type of the tables {one} and {other}");
                    let help = "help: give the name of a table".to_owned();
                    return Err(Failure::usage([message, help].join("\n")));
                }
                (None, _) => {}
            }
        }
        let names: Vec<&str> = self.0.iter().map(short).collect();
        let help = suggestion(name, "the types are", &names);
        let help = help.map_or_else(
            || "\nhelp: the file describes no types; pass their schema with --schema".to_owned(),
            |help| format!("\nhelp: {help}"),
        );
        Err(Failure::usage(format!(
            "the file has no type `{name}`{help}"
        )))
    }

    /// As [`get`](Self::get), for a command that writes.
    pub(crate) fn to_write(&self, name: &str) -> Result<&FileType, Failure> {
        let known = self.get(name)?;
        if known.is_bare() {
            let name = &known.table.name;
            return Err(Failure::usage(format!(
                "nothing describes the type of the table {name}\nhelp: pass its schema with --schema"
            )));
        }
        Ok(known)
    }

    /// The types of these names, each once, or all types if there is no name.
    pub(crate) fn chosen(&self, names: &[String]) -> Result<Vec<&FileType>, Failure> {
        match names {
            [] => Ok(self.0.iter().collect()),
            names => {
                let mut chosen: Vec<&FileType> = Vec::new();
                for name in names {
                    let known = self.get(name)?;
                    let is_there = |other: &&FileType| other.table.name == known.table.name;
                    if !chosen.iter().any(is_there) {
                        chosen.push(known);
                    }
                }
                Ok(chosen)
            }
        }
    }
}

/// A type as its stored description has it.
fn described(name: &str, table: dflat_workspace::Result<Table>, origin: Origin) -> FileType {
    match table {
        Ok(table) => FileType { table, origin },
        Err(error) => FileType {
            table: bare(name, &[]),
            origin: Origin::Unusable(error.to_string()),
        },
    }
}

/// Lets the library assign keys as a schema says, because files do not say that.
fn assign_keys(known: &mut FileType, schema: &Table) {
    if known.table.auto_key != schema.auto_key && known.table.primary_key == schema.primary_key {
        known.table = Table::new(TableDescriptor {
            auto_key: schema.auto_key,
            ..(*known.table).clone()
        });
    }
}

/// Says which schemas beside the file are used.
fn noted(found: Vec<(String, FileType)>, say: &mut dyn FnMut(&str)) -> Vec<(String, FileType)> {
    let mut used: Vec<String> = Vec::new();
    for (_, known) in &found {
        if let Origin::Schema(schema) = &known.origin {
            let schema = schema.display().to_string();
            if !used.contains(&schema) {
                used.push(schema);
            }
        }
    }
    if !used.is_empty() {
        say(&format!("types are read from {}", used.join(", ")));
    }
    found
}

/// The last part of a type's name.
fn short(known: &FileType) -> &str {
    let name = &known.table.type_name;
    name.rsplit('.').next().unwrap_or(name)
}
