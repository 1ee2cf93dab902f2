//! The schema of the newest code that has written to a table, and how updates by older code keep
//! the data that the older code does not know.

use dflat_model::{DecodeError, Field, Table, TableDescriptor, VERSIONED_DESCRIPTOR};

use super::row::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::history::KeepHistory;
use crate::object::{Knowledge, Unmergeable, merge, verify};
use crate::storage::WriteTransaction;
use crate::sync::Arc;

/// Number of tables that are remembered from one transaction of the backend to the next.
/// Descriptors that are made at run time, repeatedly for one table, must not fill the memory.
const TABLES_MAX: usize = 256;

/// The newest schema of each table written to, if that schema is newer than the caller's.
#[derive(Default)]
pub(super) struct NewestSchemas {
    known: Vec<LearnedSchema>,
    /// The names of the tables whose changes are kept, as far as they are known.
    versioned: Vec<String>,
    history: Option<Arc<dyn KeepHistory>>,
    /// Whether the changes to come concern indexes alone, so that a history does not matter.
    is_of_indexes: bool,
    is_outdated: bool,
}

/// The outcome of reading the stored schema of a table.
pub(super) struct Learned {
    /// The schema of newer code that has written to the table.
    pub(super) newest: Option<Table>,
    /// Whether the stored schema, or the history of the table, was changed.
    pub(super) has_written: bool,
}

struct LearnedSchema {
    table: Table,
    knowledge: Knowledge,
    newest: Option<Table>,
}

impl NewestSchemas {
    /// No schemas, in an engine that keeps this history.
    pub(super) fn new(history: Option<Arc<dyn KeepHistory>>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    /// No schemas, for changes of indexes alone. They need no history, and change none.
    pub(super) fn of_indexes() -> Self {
        Self {
            is_of_indexes: true,
            ..Self::default()
        }
    }

    /// The schema of newer code that has written to a table, if there is any. Reads the stored
    /// schema once, and stores the caller's schema if that is newer.
    ///
    /// # Errors
    /// - [`ErrorKind::NewerSchema`] if the stored schema has a form that this build does not read:
    ///   its indexes would not be maintained; and if the table is versioned, and the engine keeps
    ///   no history.
    /// - [`ErrorKind::InvalidArgument`] if the stored schema has another primary key, or other
    ///   types of fields: the objects would be damaged.
    pub(super) fn learn(
        &mut self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
    ) -> Result<Learned> {
        if let Some(known) = self.find(table) {
            return Ok(Learned {
                newest: known.newest.clone(),
                has_written: false,
            });
        }
        let bytes = writer.stored_schema(table)?;
        let stored = bytes.as_deref().map(TableDescriptor::from_bytes);
        let newest = match &stored {
            Some(Ok(stored)) if stored.name == table.name => {
                check_alike(stored, table)?;
                match table.covers(stored) {
                    true => None,
                    false => stored.covers(table).then(|| Table::new(stored.clone())),
                }
            }
            // Not the schema of this table: it would send writes to another one.
            Some(Ok(_)) => None,
            Some(Err(DecodeError::Version(version))) if *version > VERSIONED_DESCRIPTOR => {
                let message = "a newer version of Dflat has written to it, whose indexes this one \
                               does not know; update the program";
                return Err(Error::new(ErrorKind::NewerSchema, message));
            }
            Some(Err(_)) | None => None,
        };
        let was_versioned = bytes.as_deref().is_some_and(TableDescriptor::is_versioned);
        let is_versioned = self.is_versioned_from_now(table, was_versioned)?;
        if let Some(history) = self
            .history
            .as_ref()
            .filter(|_| was_versioned && !is_versioned)
        {
            history.end(writer, table)?;
        }
        // The schema to store, unless the stored one stays as it is.
        let kept = stored.as_ref().and_then(|stored| stored.as_ref().ok());
        let kept = kept.filter(|kept| kept.name == table.name);
        let kept = kept.filter(|kept| kept.covers(table) || !table.covers(kept));
        let stays = kept.is_some() && is_versioned == was_versioned;
        if !stays {
            self.store(writer, table, (kept.unwrap_or(table), is_versioned))?;
        }
        let prepared = newest.as_ref().unwrap_or(table);
        self.note_versioned(writer, prepared, (was_versioned, is_versioned))?;
        self.known.push(LearnedSchema {
            table: table.clone(),
            knowledge: Knowledge::of(&table.types),
            newest: newest.clone(),
        });
        Ok(Learned {
            newest,
            has_written: !stays || is_versioned,
        })
    }

    /// Whether the changes of a table are kept from its next write on.
    fn is_versioned_from_now(&self, table: &Table, was_versioned: bool) -> Result<bool> {
        match &self.history {
            Some(history) => Ok(history.is_wanted(&table.name).unwrap_or(was_versioned)),
            None if self.is_of_indexes => Ok(was_versioned),
            None if was_versioned => {
                let message = "all changes of it are kept in a history, and this program keeps \
                               none; build it with the feature `history` of dflat";
                Err(Error::new(ErrorKind::NewerSchema, message))
            }
            None => Ok(false),
        }
    }

    fn note_versioned(
        &mut self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
        (was_versioned, is_versioned): (bool, bool),
    ) -> Result<()> {
        self.versioned.retain(|name| *name != table.name);
        if let Some(history) = self.history.as_ref().filter(|_| is_versioned) {
            self.versioned.push(table.name.to_string());
            history.prepare(writer, table, was_versioned)?;
        }
        Ok(())
    }

    /// The history, if a table is known to be versioned.
    pub(super) fn history(&self) -> Option<&dyn KeepHistory> {
        let history = self.history.as_deref();
        history.filter(|_| !self.versioned.is_empty())
    }

    /// Whether the changes of a table that was prepared are kept.
    pub(super) fn is_versioned(&self, table: &Table) -> bool {
        self.versioned.iter().any(|name| *name == table.name)
    }

    fn find(&self, table: &Table) -> Option<&LearnedSchema> {
        self.known.iter().find(|known| known.table.is_same(table))
    }

    fn store(
        &mut self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
        (schema, is_versioned): (&TableDescriptor, bool),
    ) -> Result<()> {
        // Older code of this process reads the stored schema again.
        self.known.retain(|known| known.table.name != table.name);
        let bytes = match is_versioned {
            true => schema.to_versioned_bytes(),
            false => schema.to_bytes(),
        };
        writer.store_schema(table, &bytes)
    }

    /// Forgets all schemas if there are too many, or the wishes for histories have changed. Called
    /// only while no table is prepared, because writes to a prepared table rely on its schema.
    pub(super) fn trim(&mut self) {
        if self.known.len() > TABLES_MAX || std::mem::take(&mut self.is_outdated) {
            // The names of versioned tables stay: the records of the commit are not written yet.
            self.known.clear();
        }
    }

    /// Forgets all schemas once no table is prepared.
    pub(super) fn outdate(&mut self) {
        self.is_outdated = true;
    }

    /// Forgets all schemas, because they may have changed or may not have been committed.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.versioned.clear();
    }

    /// The bytes to write instead of `payload`, so that no data of newer code is lost; `None` if
    /// `before` has no such data.
    ///
    /// # Errors
    /// [`ErrorKind::NewerSchema`] if data of newer code can't be kept.
    pub(super) fn keep_unknown(
        &self,
        table: &Table,
        before: &[u8],
        payload: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let Some(known) = self.find(table) else {
            let message = format!("cannot update {}: it was not prepared", table.type_name);
            return Err(Error::new(ErrorKind::Backend, message));
        };
        let knowledge = &known.knowledge;
        if knowledge.covers(&table.types, before).unwrap_or(false) {
            return Ok(None);
        }
        let newest = known.newest.as_ref().filter(|newest| {
            let knowledge = Knowledge::of(&newest.types);
            verify(&newest.types, before).is_ok()
                && knowledge.covers(&newest.types, before) == Ok(true)
        });
        let merged = newest.map(|newest| {
            let caller = (table.types.as_ref(), knowledge);
            merge(caller, &newest.types, before, payload)
        });
        let why = match merged {
            Some(Ok(merged)) => return Ok(Some(merged)),
            Some(Err(Unmergeable::Ambiguous)) => {
                "members of a vector that hold more than this schema knows were changed together \
                 with their number; change one, then the other"
            }
            Some(Err(Unmergeable::Malformed)) => "its bytes and the stored schema do not fit",
            None => {
                "newer code wrote values that this schema does not know, and the file has no \
                 schema that does"
            }
        };
        let key = shown(&table.primary_key, before);
        let message = format!(
            "cannot update {}: the object with the primary key {key} would lose data: {why}",
            table.type_name
        );
        Err(Error::new(ErrorKind::NewerSchema, message))
    }
}

/// Fails if a program has written objects to a table that this schema would read otherwise.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if the stored schema has another primary key, or other types of
/// fields.
fn check_alike(stored: &TableDescriptor, table: &Table) -> Result<()> {
    let differ = match (has_same_key(stored, table), table.agrees(stored)) {
        (true, true) => return Ok(()),
        (false, _) => "another primary key",
        (true, false) => "other types of fields",
    };
    let message = format!(
        "the objects in the table {} have {differ} than this program's schema of {}; give the \
         changed type a new version, such as `(v: \"2\")`",
        table.name, table.type_name
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Whether objects of both descriptors are stored under the same keys. Names of fields do not
/// count.
fn has_same_key(one: &TableDescriptor, other: &TableDescriptor) -> bool {
    let same = |(one, other): (&Field, &Field)| {
        one.steps == other.steps && one.kind == other.kind && one.default == other.default
    };
    one.primary_key.len() == other.primary_key.len()
        && one
            .primary_key
            .iter()
            .zip(other.primary_key.iter())
            .all(same)
}
