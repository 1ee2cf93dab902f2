//! Carries out one change inside a transaction.

use std::ops::ControlFlow;

use dflat_model::{CommitSeq, Field, Table, ValueRef};

use super::{Change, Outcome, Transaction};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::{Object, equal, field_value};
use crate::storage::{
    IndexEntry, IndexState, Key, RowWrite, ScanPlan, Source, WriteError, WriteTransaction,
};

/// Fields of a key that need no allocation.
const KEY_PARTS: usize = 4;

impl Transaction {
    /// Carries out a change.
    ///
    /// # Errors
    /// - [`ErrorKind::AlreadyExists`] if the primary key or a unique value belongs to another
    ///   object, and [`ErrorKind::NotFound`] if the object to update is gone: nothing is changed,
    ///   and the transaction stays usable.
    /// - [`ErrorKind::UndeclaredType`] for a table not declared.
    /// - [`ErrorKind::Aborted`] after an abort or a loss.
    /// - Any other error loses the transaction: nothing of it is kept.
    pub fn submit(&self, table: &Table, change: &Change<'_>) -> Result<Outcome> {
        let operation = match change {
            Change::Create { .. } => "insert",
            Change::Update { .. } => "update",
            Change::Upsert { .. } => "upsert",
            Change::Delete { .. } => "delete",
        };
        self.declared(operation, table)?;
        self.usable(operation, table)?;
        let outcome = match change {
            Change::Create { payload } => self.insert(table, payload),
            Change::Update { base, payload } => self.update(table, base, payload),
            Change::Upsert { payload } => self.upsert(table, payload),
            Change::Delete { base } => self.delete(table, base),
        };
        outcome.inspect_err(|error| {
            if !matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) {
                self.lose(error);
            }
        })
    }

    fn insert(&self, table: &Table, payload: &[u8]) -> Result<Outcome> {
        let entries = index_entries(table, payload)?;
        let key = KeyParts::read(table, payload)?;
        let row = RowWrite {
            key: Some(key.as_slice()),
            payload,
            entries: &entries,
        };
        let row_id = self.write(table, |writer| {
            writer
                .insert(table, &row)
                .map_err(|error| refused("insert", table, payload, error))
        })?;
        let object = Object::from_verified(row_id, CommitSeq::default(), payload);
        self.changes
            .borrow_mut()
            .note(table, row_id, None, Some(object.clone()));
        Ok(Outcome::Inserted(object))
    }

    fn update(&self, table: &Table, base: &Object, payload: &[u8]) -> Result<Outcome> {
        let row_id = base.row_id();
        let latest = match self.changes.borrow().latest(table, row_id) {
            None => base.clone(),
            Some(Some(latest)) => latest.clone(),
            Some(None) => {
                let message = format!(
                    "cannot update {}: the object with row id {row_id} was deleted",
                    table.type_name
                );
                return Err(Error::new(ErrorKind::NotFound, message));
            }
        };
        if equal(&table.types, latest.payload(), payload) {
            return Ok(Outcome::Identity(latest));
        }
        let before = latest.payload();
        let old_key = KeyParts::read(table, before)?;
        let key = KeyParts::read(table, payload)?;
        let key_changed = old_key.as_slice() != key.as_slice();
        let mut entries = index_entries(table, payload)?;
        let old_entries = index_entries(table, before)?;
        let mut old = old_entries.iter();
        entries.retain(|entry| old.next().is_none_or(|old| old.value != entry.value));
        let row = RowWrite {
            key: key_changed.then_some(key.as_slice()),
            payload,
            entries: &entries,
        };
        self.write(table, |writer| {
            let written = writer.update(table, row_id, &row);
            written.map_err(|error| refused("update", table, payload, error))
        })?;
        let object = Object::from_verified(row_id, CommitSeq::default(), payload);
        self.changes
            .borrow_mut()
            .note(table, row_id, Some(latest), Some(object.clone()));
        Ok(Outcome::Updated(object))
    }

    fn upsert(&self, table: &Table, payload: &[u8]) -> Result<Outcome> {
        let key = KeyParts::read(table, payload)?;
        let key: Vec<_> = key.as_slice().iter().map(|part| part.to_value()).collect();
        match self.get(table, &key)? {
            Some(base) => self.update(table, &base, payload),
            None => self.insert(table, payload),
        }
    }

    fn delete(&self, table: &Table, base: &Object) -> Result<Outcome> {
        let row_id = base.row_id();
        let existed = self.write(table, |writer| {
            writer
                .delete(table, row_id)
                .map_err(|error| named("delete", table, error))
        })?;
        if existed {
            let latest = self
                .changes
                .borrow()
                .latest(table, row_id)
                .flatten()
                .cloned();
            let before = latest.unwrap_or_else(|| base.clone());
            self.changes
                .borrow_mut()
                .note(table, row_id, Some(before), None);
        }
        Ok(Outcome::Deleted(row_id))
    }

    /// Runs a write on the backend's transaction, which begins with the first.
    fn write<R>(
        &self,
        table: &Table,
        write: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
    ) -> Result<R> {
        let mut stage = self.stage.borrow_mut();
        let (writer, prepared) = stage
            .writer(self.backend())
            .map_err(|error| named("write", table, error))?;
        if !prepared.iter().any(|ready| ready.is_same(table)) {
            prepare(writer, table).map_err(|error| named("prepare", table, error))?;
            prepared.push(table.clone());
        }
        write(writer)
    }
}

/// Creates what is missing of a table's storage and fills its indexes, so that each write maintains
/// all.
fn prepare(writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
    writer.create(table)?;
    let states = writer.index_states(table)?;
    for (position, state) in states.iter().enumerate() {
        if *state != IndexState::Ready {
            fill_index(writer, table, position)?;
        }
    }
    Ok(())
}

fn fill_index(writer: &mut dyn WriteTransaction, table: &Table, position: usize) -> Result<()> {
    let Some(index) = table.indexes.get(position) else {
        return Ok(());
    };
    // Values are read first and written afterwards: a scan must not meet its own writes.
    let mut values = Vec::new();
    let mut failure = None;
    writer.scan(
        &ScanPlan {
            table,
            source: Source::Rows,
        },
        &mut |row| {
            match field_value(row.payload, &index.field) {
                Ok(value) => values.push((row.row_id, value.to_value())),
                Err(_) => failure = Some(fetch::corrupt(table, row.row_id)),
            }
            if failure.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    )?;
    if let Some(error) = failure {
        return Err(error);
    }
    for (row_id, value) in &values {
        let entry = IndexEntry {
            index: position,
            value: value.as_ref(),
        };
        writer
            .put_index_entry(table, *row_id, &entry)
            .map_err(|error| match error {
                WriteError::Failed(error) => error,
                WriteError::Conflict(_) => {
                    let message = format!(
                        "cannot build the unique index on {} of {}: {value} occurs more than once",
                        index.field, table.type_name
                    );
                    Error::new(ErrorKind::Backend, message)
                }
            })?;
    }
    Ok(())
}

/// The parts of a primary key, in line for the usual few.
struct KeyParts<'a> {
    few: [ValueRef<'a>; KEY_PARTS],
    many: Vec<ValueRef<'a>>,
    len: usize,
}

impl<'a> KeyParts<'a> {
    fn read(table: &'a Table, payload: &'a [u8]) -> Result<Self> {
        let fields = &table.primary_key;
        let mut parts = Self {
            few: [ValueRef::Null; KEY_PARTS],
            many: Vec::new(),
            len: fields.len(),
        };
        if fields.len() > KEY_PARTS {
            parts.many = fields
                .iter()
                .map(|f| read(table, payload, f))
                .collect::<Result<_>>()?;
        } else {
            for (part, field) in parts.few.iter_mut().zip(fields.iter()) {
                *part = read(table, payload, field)?;
            }
        }
        Ok(parts)
    }

    fn as_slice(&self) -> &[ValueRef<'a>] {
        if self.many.is_empty() {
            self.few.get(..self.len).unwrap_or_default()
        } else {
            &self.many
        }
    }
}

fn index_entries<'a>(table: &'a Table, payload: &'a [u8]) -> Result<Vec<IndexEntry<'a>>> {
    let indexes = table.indexes.iter().enumerate();
    indexes
        .map(|(index, descriptor)| {
            read(table, payload, &descriptor.field).map(|value| IndexEntry { index, value })
        })
        .collect()
}

fn read<'a>(table: &Table, payload: &'a [u8], field: &'a Field) -> Result<ValueRef<'a>> {
    field_value(payload, field).map_err(|_| {
        let message = format!(
            "cannot read {field} of {}: its bytes are damaged",
            table.type_name
        );
        Error::new(ErrorKind::Corrupt, message)
    })
}

fn named(operation: &str, table: &Table, error: Error) -> Error {
    error.context(format_args!("cannot {operation} {}", table.type_name))
}

/// The error of a write, with the operation, the type and the value that conflicts.
fn refused(operation: &str, table: &Table, payload: &[u8], error: WriteError) -> Error {
    let conflict = match error {
        WriteError::Failed(error) => return named(operation, table, error),
        WriteError::Conflict(conflict) => conflict,
    };
    let fields: Vec<&Field> = match conflict.key {
        Key::Primary => table.primary_key.iter().collect(),
        Key::Index(position) => table
            .indexes
            .get(position)
            .map(|i| &i.field)
            .into_iter()
            .collect(),
    };
    let values: Vec<String> = fields
        .iter()
        .map(|field| {
            let value = field_value(payload, field).unwrap_or(ValueRef::Null);
            format!("{field} = {value}")
        })
        .collect();
    let what = match conflict.key {
        Key::Primary => "primary key",
        Key::Index(_) => "unique value",
    };
    let message = format!(
        "cannot {operation} {}: another object has the {what} {}",
        table.type_name,
        values.join(", ")
    );
    Error::new(ErrorKind::AlreadyExists, message)
}
