//! The types that a file knows.

use dflat_model::{DecodeError, TableDescriptor};
use dflat_sqlite::{FilePages, ObjectTable};

use crate::{Error, ErrorKind, Result, Table, Workspace};

/// A table of a file, as the file describes its type.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoredTable {
    /// The name of the table in the file, such as `post`.
    pub name: String,
    /// The type, or why its description cannot be used.
    pub table: Result<Table>,
    /// Whether the changes of its objects are kept in the history.
    pub is_versioned: bool,
}

impl Workspace {
    /// The type that the file describes for a table, by the name of the table in the file. `None`
    /// if the file does not describe it, or in memory. See [`stored_tables`](Self::stored_tables).
    ///
    /// # Errors
    /// - [`NewerSchema`](ErrorKind::NewerSchema) for a description of a later release, and
    ///   [`Corrupt`](ErrorKind::Corrupt) for one that cannot be used otherwise.
    /// - [`ShutDown`](ErrorKind::ShutDown) after shutdown; otherwise the errors of reading the
    ///   file.
    pub fn stored_table(&self, name: &str) -> Result<Option<Table>> {
        self.engine()
            .refuse_work(format_args!("read the descriptor of {name}"))?;
        let stored = match self.sqlite() {
            Some(sqlite) => sqlite.stored_descriptor(name)?,
            None => None,
        };
        stored
            .map(|bytes| described_table(name, &bytes))
            .transpose()
    }

    /// The tables that the file describes, in order of name, for programs without a schema.
    ///
    /// The newest program of this library that wrote to a table has described its type. A table
    /// that only other programs wrote to has no description. How keys are assigned is not
    /// described, so [`auto_key`](TableDescriptor::auto_key) is `None`. In memory there are none.
    ///
    /// Each description is checked as untrusted bytes: its size and nesting are limited, and its
    /// types fit together. If a description cannot be used, its entry has the error
    /// [`NewerSchema`](ErrorKind::NewerSchema) for a version of a later release, and
    /// [`Corrupt`](ErrorKind::Corrupt) otherwise. Descriptions of more than 1 MiB are left out.
    ///
    /// # Errors
    /// The errors of reading, and [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a
    /// callback.
    pub fn stored_tables(&self) -> Result<Vec<StoredTable>> {
        self.on_sqlite("list the tables", |sqlite| {
            let stored = sqlite.stored_descriptors()?.into_iter();
            let tables = stored.map(|(name, bytes)| StoredTable {
                table: described_table(&name, &bytes),
                is_versioned: TableDescriptor::is_versioned(&bytes),
                name,
            });
            Ok(tables.collect())
        })
    }

    /// The tables of the file that have the columns of objects, in order of name, also those
    /// that other programs wrote and those that the file does not describe. In memory there are
    /// none.
    ///
    /// # Errors
    /// The errors of reading, and [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a
    /// callback.
    pub fn object_tables(&self) -> Result<Vec<ObjectTable>> {
        self.on_sqlite("list the tables", |sqlite| sqlite.object_tables())
    }

    /// The pages of the file. All numbers are 0 in memory, and if there is no file.
    ///
    /// # Errors
    /// As [`object_tables`](Self::object_tables).
    pub fn pages(&self) -> Result<FilePages> {
        self.on_sqlite("count the pages", |sqlite| sqlite.pages())
    }
}

/// The type that a stored descriptor describes, for the table of a name. The bytes are untrusted:
/// their size and nesting are limited, and the types must fit together.
///
/// # Errors
/// [`NewerSchema`](ErrorKind::NewerSchema) for a description of a later release, and
/// [`Corrupt`](ErrorKind::Corrupt) for one that cannot be used otherwise.
pub fn described_table(name: &str, bytes: &[u8]) -> Result<Table> {
    let refuse = |kind, why: &str| {
        let message = format!("cannot read the description of the table {name}: {why}");
        Err(Error::new(kind, message))
    };
    match TableDescriptor::from_bytes(bytes) {
        Ok(descriptor) if descriptor.name == name => Ok(Table::new(descriptor)),
        Ok(_) => refuse(ErrorKind::Corrupt, "it describes another table"),
        Err(error @ DecodeError::Version(_)) => refuse(ErrorKind::NewerSchema, &error.to_string()),
        Err(error) => refuse(ErrorKind::Corrupt, &error.to_string()),
    }
}
