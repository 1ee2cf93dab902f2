//! The file and the type of a command line that is not complete.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory};
use dflat_model::Table;

use crate::arguments::{Arguments, FileArguments};
use crate::file::OpenFile;

/// The words of a command line so far.
#[derive(Debug, Default)]
pub(super) struct Place {
    path: Option<PathBuf>,
    schemas: Vec<PathBuf>,
    on: Option<PathBuf>,
    type_name: Option<String>,
    /// The values of keys, with the one that is completed.
    pub(super) keys: Vec<String>,
    /// Whether the keys are those of the dictionary.
    pub(super) is_dictionary: bool,
    /// The namespace of the dictionary.
    pub(super) space: String,
}

impl Place {
    pub(super) fn of(words: &[OsString]) -> Self {
        let command = Arguments::command().ignore_errors(true);
        let Ok(matches) = command.try_get_matches_from(words) else {
            return Self::default();
        };
        let mut place = Self::default();
        let mut found = &matches;
        while let Some((name, inner)) = found.subcommand() {
            place.is_dictionary |= name == "dict";
            found = inner;
        }
        place.path = one(found, "path");
        place.schemas = all(found, "schemas");
        place.on = one(found, "on");
        place.type_name = one(found, "type_name").or_else(|| all(found, "types").pop());
        place.keys = all(found, "keys");
        if place.keys.is_empty() {
            place.keys = all(found, "rest");
        }
        place.space = one(found, "space").unwrap_or_default();
        place
    }

    /// The file, if it can be read. Nothing is said about it.
    pub(super) fn file(&self) -> Option<OpenFile> {
        let arguments = FileArguments {
            path: self.path.clone()?,
            schemas: self.schemas.clone(),
            on: self.on.clone(),
        };
        OpenFile::read_quietly(&arguments).ok()
    }

    /// The type of the command line.
    pub(super) fn table(&self, file: &OpenFile) -> Option<Table> {
        let known = file.types.get(self.type_name.as_deref()?).ok()?;
        Some(known.table.clone())
    }
}

fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Option<T> {
    matches.try_get_one::<T>(name).ok().flatten().cloned()
}

fn all<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
    let found = matches.try_get_many::<T>(name).ok().flatten();
    found.into_iter().flatten().cloned().collect()
}
