//! The schema of the newest code that has written to a table, and how updates by older code keep
//! the data that the older code does not know.

use dflat_model::{DESCRIPTOR_VERSION, DecodeError, Field, Table, TableDescriptor};

use super::row::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Knowledge, Unmergeable, merge, verify};
use crate::storage::WriteTransaction;

/// Number of tables that are remembered from one transaction of the backend to the next.
/// Descriptors that are made at run time, repeatedly for one table, must not fill the memory.
const TABLES_MAX: usize = 256;

/// The newest schema of each table written to, if that schema is newer than the caller's.
#[derive(Default)]
pub(super) struct NewestSchemas {
    known: Vec<LearnedSchema>,
}

struct LearnedSchema {
    table: Table,
    knowledge: Knowledge,
    newest: Option<Table>,
}

impl NewestSchemas {
    /// The schema of newer code that has written to a table, if there is any. Reads the stored
    /// schema once, and stores the caller's schema if that is newer.
    ///
    /// # Errors
    /// [`ErrorKind::NewerSchema`] if the stored schema has a form that this build does not read:
    /// its indexes would not be maintained.
    pub(super) fn learn(
        &mut self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
    ) -> Result<Option<Table>> {
        if let Some(known) = self.find(table) {
            return Ok(known.newest.clone());
        }
        let bytes = writer.stored_schema(table)?;
        let stored = bytes.as_deref().map(TableDescriptor::from_bytes);
        let newest = match stored {
            // Not the schema of the newest code: it would send writes to another table.
            Some(Ok(stored)) if !is_stored_alike(&stored, table) => {
                self.store(writer, table)?;
                None
            }
            Some(Ok(newest)) if table.covers(&newest) => {
                if !newest.covers(table) {
                    self.store(writer, table)?;
                }
                None
            }
            Some(Ok(newest)) => newest.covers(table).then(|| Table::new(newest)),
            Some(Err(DecodeError::Version(version))) if version > DESCRIPTOR_VERSION => {
                let message = "a newer version of Dflat has written to it, whose indexes this one \
                               does not know; update the program";
                return Err(Error::new(ErrorKind::NewerSchema, message));
            }
            Some(Err(_)) | None => {
                self.store(writer, table)?;
                None
            }
        };
        self.known.push(LearnedSchema {
            table: table.clone(),
            knowledge: Knowledge::of(&table.types),
            newest: newest.clone(),
        });
        Ok(newest)
    }

    /// Whether the schema of a table is known without a read.
    pub(super) fn knows(&self, table: &Table) -> bool {
        self.find(table).is_some()
    }

    fn find(&self, table: &Table) -> Option<&LearnedSchema> {
        self.known.iter().find(|known| known.table.is_same(table))
    }

    fn store(&mut self, writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
        // Older code of this process reads the stored schema again.
        self.known.retain(|known| known.table.name != table.name);
        writer.store_schema(table, &table.to_bytes())
    }

    /// Forgets all schemas if there are too many. Called only while no table is prepared, because
    /// writes to a prepared table rely on its schema.
    pub(super) fn trim(&mut self) {
        if self.known.len() > TABLES_MAX {
            self.known.clear();
        }
    }

    /// Forgets all schemas, because they may have changed or may not have been committed.
    pub(super) fn forget(&mut self) {
        self.known.clear();
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

/// Whether objects of both descriptors are stored in one table, under the same keys. Names of
/// fields do not count.
fn is_stored_alike(one: &TableDescriptor, other: &TableDescriptor) -> bool {
    let same = |(one, other): (&Field, &Field)| {
        one.steps == other.steps && one.kind == other.kind && one.default == other.default
    };
    one.name == other.name
        && one.primary_key.len() == other.primary_key.len()
        && one
            .primary_key
            .iter()
            .zip(other.primary_key.iter())
            .all(same)
}
