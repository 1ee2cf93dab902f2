//! Types from schemas.

use std::fs;
use std::path::{Path, PathBuf};

use dflat_build::FileLoader;
use dflat_model::Table;
use dflat_schema::{DefinitionId, DefinitionKind, Options, Severity, Style, compile, describe};
use dflat_sqlite::ObjectTable;

use super::file_type::{FileType, Origin};
use crate::failure::Failure;

/// The number of schemas beside a file that are tried.
const BESIDE_MAX: usize = 100;

/// The types of given schemas.
pub(super) struct Schemas(Vec<FileType>);

impl Schemas {
    /// Compiles schemas. Prints their errors.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut types = Vec::new();
        for path in paths {
            types.extend(stored_types(path).map_err(Failure::usage)?);
        }
        Ok(Self(types))
    }

    /// The type of a table of the file.
    pub(super) fn find(&self, table: &ObjectTable) -> Option<FileType> {
        self.0.iter().find(|known| fits(known, table)).cloned()
    }

    pub(super) fn into_types(self) -> impl Iterator<Item = FileType> {
        self.0.into_iter()
    }
}

/// Whether a type has the name and the key of a table.
fn fits(known: &FileType, table: &ObjectTable) -> bool {
    let keys = &known.table.primary_key;
    known.table.name == table.name
        && keys.len() == table.key.len()
        && keys
            .iter()
            .zip(&table.key)
            .all(|(key, column)| Some(key.column_type()) == *column)
}

/// The types of tables from the schemas beside a file, in order of the schemas' names. Schemas with
/// errors are passed over.
pub(super) fn beside(path: &Path, tables: &[ObjectTable]) -> Vec<(String, FileType)> {
    let parent = path.parent().unwrap_or_else(|| Path::new(""));
    let folder = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| parent.join(entry.file_name()));
    let mut schemas: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "fbs"))
        .collect();
    schemas.sort();
    schemas.truncate(BESIDE_MAX);
    let mut found: Vec<(String, FileType)> = Vec::new();
    for schema in schemas {
        if found.len() == tables.len() {
            break;
        }
        for known in stored_types(&schema).unwrap_or_default() {
            let name = &known.table.name;
            let is_new = found.iter().all(|(before, _)| before != name);
            if is_new && tables.iter().any(|table| fits(&known, table)) {
                found.push((name.to_string(), known));
            }
        }
    }
    found
}

/// The stored types of a schema, or the diagnostics of its errors.
fn stored_types(path: &Path) -> Result<Vec<FileType>, String> {
    let name = path.to_str().ok_or("the path of a schema is not UTF-8")?;
    let loader = FileLoader::new("", Vec::new());
    let compiled = compile(&[name.to_owned()], &loader, &Options::default());
    let Some(schema) = compiled.schema else {
        let errors = compiled.diagnostics.iter();
        let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
        let rendered: String = errors
            .map(|error| error.render(&compiled.sources, Style::Plain))
            .collect();
        return Err(format!("{name} has errors\n{}", rendered.trim_end()));
    };
    let ids = (0..).map(DefinitionId);
    let roots = ids.zip(&schema.definitions).filter(
        |(_, definition)| matches!(&definition.kind, DefinitionKind::Table(table) if table.root),
    );
    let types = roots.map(|(id, _)| FileType {
        table: Table::new(describe(&schema, id)),
        origin: Origin::Schema(path.to_owned()),
    });
    Ok(types.collect())
}
