//! Determines which indexes can be trusted, and for which rows they can't because the rows are
//! foreign.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{IndexState, Indexes};
use dflat_model::{RowId, Table, ValueRef};

use crate::connection::file_connection::{FileConnection, TableId};
use crate::connection::held_table::TriggerState;
use crate::ffi::{Param, SqliteError};
use crate::foreign::triggers::{self, NOTES_MAX, Trigger};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::{PlainIndexNames, stored_index};
use crate::layout::statement_text::TableStatement;

impl FileConnection {
    /// The states of a table's indexes: how far each can be trusted.
    pub(crate) fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        let mut found = Indexes::default();
        if table.indexes.is_empty() {
            return Ok(found);
        }
        let entry = self.enter(table);
        if let Some(known) = self.tables[entry.0]
            .indexes
            .as_ref()
            .filter(|_| self.has_kept_read())
        {
            return Ok(known.clone());
        }
        let fail = |error: SqliteError| {
            error.into_read_error(format_args!("cannot read the indexes of {}", table.name))
        };
        self.in_transaction(table, true, |connection| {
            if !connection.table_exists(table, entry).map_err(fail)? {
                // Without rows, every index is complete.
                found = Indexes::ready(table);
                return Ok(());
            }
            let trusted = connection.trusted_indexes(table, entry).map_err(fail)?;
            found.foreign = match trusted.contains(&true) {
                true => connection.foreign_rows(table, entry).map_err(fail)?,
                false => Vec::new(),
            };
            let too_many = found.foreign.len() > NOTES_MAX;
            found.is_noted = trusted.contains(&true) && !too_many;
            for (position, trusted) in trusted.into_iter().enumerate() {
                found.states.push(match trusted && !too_many {
                    true => connection.index_state(
                        table,
                        entry,
                        (position, !found.foreign.is_empty()),
                    )?,
                    false => IndexState::Missing,
                });
            }
            if too_many {
                found.foreign.clear();
            }
            Ok(())
        })?;
        if self.has_kept_read() {
            self.tables[entry.0].indexes = Some(found.clone());
        }
        Ok(found)
    }

    fn table_exists(&mut self, table: &Table, entry: TableId) -> Result<bool, SqliteError> {
        Ok(self.tables[entry.0].created || self.trigger_state(table)?.exists)
    }

    /// Whether each index can be trusted: the main table and the index table have all of their
    /// triggers, and the index table has the definition of this library.
    fn trusted_indexes(&mut self, table: &Table, entry: TableId) -> Result<Vec<bool>, SqliteError> {
        if self.tables[entry.0].created {
            return Ok(vec![true; table.indexes.len()]);
        }
        let triggers = self.trigger_state(table)?;
        let trusted = triggers.indexes.iter().map(|index| *index && triggers.main);
        Ok(trusted.collect())
    }

    /// The main table and the index tables that have all of their triggers, read anew if the schema
    /// of the file has changed.
    pub(crate) fn trigger_state(&mut self, table: &Table) -> Result<&TriggerState, SqliteError> {
        let schema_version = self.control_number(ControlStatement::SchemaVersion)?;
        let TableId(position) = self.enter(table);
        let known = self.tables[position].triggers.as_ref();
        if known.is_none_or(|triggers| triggers.schema_version != schema_version) {
            let prefix = triggers::prefix(table);
            let statement = self.control_statement(ControlStatement::FindTriggers)?;
            let pattern = Param::Value(ValueRef::Text(&prefix));
            let mut there: Vec<Trigger> = Vec::new();
            self.raw.query(statement, [pattern, pattern], |row| {
                let text = |column| -> Result<String, SqliteError> {
                    let bytes = row.blob(column)?.unwrap_or_default();
                    Ok(String::from_utf8_lossy(bytes).into_owned())
                };
                there.push(Trigger {
                    name: text(0)?,
                    table: text(1)?,
                    sql: text(2)?,
                });
                Ok(ControlFlow::Continue(()))
            })?;
            let has = |wanted: &[Trigger]| wanted.iter().all(|trigger| there.contains(trigger));
            let is_of_kind = |index: usize, unique: bool| {
                let trigger = triggers::of_unique(table, index).unwrap_or_default();
                there.iter().any(|there| there.name == trigger) == unique
            };
            let mut indexes = Vec::with_capacity(table.indexes.len());
            for (index, descriptor) in table.indexes.iter().enumerate() {
                let is_of_kind = is_of_kind(index, descriptor.unique);
                let is_ours = is_of_kind && has(&triggers::of_index(table, index));
                let name = PlainIndexNames::new(table, descriptor).table;
                indexes.push(is_ours && self.is_defined(&name, &stored_index(table, index))?);
            }
            // No trigger notes the rows that a REPLACE deletes because of another program's unique
            // index.
            let main = has(&triggers::of_main(table))
                && !self.exists(ControlStatement::FindUnique, &table.name)?;
            let triggers = TriggerState {
                schema_version,
                exists: self.exists(ControlStatement::FindTable, &table.name)?,
                has_foreign: self.exists(ControlStatement::FindTable, "dflat__foreign")?,
                main,
                indexes,
            };
            self.tables[position].triggers = Some(triggers);
        }
        let triggers = self.tables[position].triggers.as_ref();
        triggers.ok_or_else(|| SqliteError::misuse("the state of the triggers is missing"))
    }

    /// Whether the table of a name has the first of these definitions, and everything on it has one
    /// of these definitions.
    pub(crate) fn is_defined(
        &mut self,
        name: &str,
        definitions: &[String],
    ) -> Result<bool, SqliteError> {
        let statement = self.control_statement(ControlStatement::FindDefinitions)?;
        let (mut is_there, mut others) = (false, false);
        let name = Param::Value(ValueRef::Text(name));
        self.raw.query(statement, [name], |row| {
            let found = row.blob(0)?.unwrap_or_default();
            is_there |= definitions.first().is_some_and(|d| d.as_bytes() == found);
            others |= !definitions.iter().any(|d| d.as_bytes() == found);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(is_there && !others)
    }

    /// The foreign rows, by ascending id. If there are more than can be read without the indexes,
    /// one more than that number.
    pub(crate) fn foreign_rows(
        &mut self,
        table: &Table,
        entry: TableId,
    ) -> Result<Vec<RowId>, SqliteError> {
        if self.tables[entry.0].created && self.tables[entry.0].lacks_foreign {
            return Ok(Vec::new());
        }
        if !self.trigger_state(table)?.has_foreign {
            return Ok(Vec::new());
        }
        let statement = self.control_statement(ControlStatement::FindForeign)?;
        let mut rows = Vec::new();
        let name = Param::Value(ValueRef::Text(&table.name));
        self.raw.query(statement, [name], |row| {
            rows.push(RowId(row.integer(0)));
            Ok(if rows.len() > NOTES_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        let entry = &mut self.tables[entry.0];
        entry.lacks_foreign = entry.created && rows.is_empty();
        Ok(rows)
    }

    /// Whether there are more foreign rows than can be read without the indexes.
    pub(crate) fn is_overrun(&mut self, table: &Table) -> Result<bool, SqliteError> {
        let entry = self.enter(table);
        Ok(self.foreign_rows(table, entry)?.len() > NOTES_MAX)
    }

    /// Deletes the index entries of a row and the note that the row is foreign.
    pub(crate) fn forget_foreign(
        &mut self,
        table: &Table,
        row_id: RowId,
    ) -> Result<(), SqliteError> {
        let entry = self.enter(table);
        for position in 0..table.indexes.len() {
            self.run(
                entry,
                TableStatement::DeleteEntry(position),
                [Param::id(row_id)],
            )?;
        }
        let statement = self.control_statement(ControlStatement::ForgetForeign)?;
        let name = Param::Value(ValueRef::Text(&table.name));
        self.raw.run(statement, [name, Param::id(row_id)])
    }
}
