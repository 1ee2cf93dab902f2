//! The notes of rows that other programs have changed.

use std::ops::ControlFlow;

use dflat_engine::storage::NotedRow;
use dflat_model::{RowId, Table, ValueRef};

use super::triggers;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::{drop_table, drop_trigger, notes_name, quoted_if_needed};
use crate::layout::statement_text::TableStatement;

impl FileConnection {
    /// Creates the table of a table's notes and its triggers, as far as they are missing.
    pub(crate) fn keep_notes(&mut self, table: &Table) -> Result<(), SqliteError> {
        let wanted = triggers::of(table);
        let there = self.note_triggers(table)?;
        if there.len() == wanted.len() && wanted.iter().all(|trigger| there.contains(trigger)) {
            return Ok(());
        }
        self.raw.execute(&triggers::create_notes(table))?;
        for (name, _) in &there {
            self.raw.execute(&drop_trigger(name))?;
        }
        for (_, sql) in &wanted {
            self.raw.execute(sql)?;
        }
        Ok(())
    }

    /// The names and definitions of the triggers that are there, on the table of this name.
    fn note_triggers(&mut self, table: &Table) -> Result<Vec<(String, String)>, SqliteError> {
        let prefix = triggers::prefix(table);
        let statement = self.control_statement(ControlStatement::FindTriggers)?;
        let pattern = Param::Value(ValueRef::Text(&prefix));
        let mut there = Vec::new();
        self.raw.query(statement, [pattern, pattern], |row| {
            let text = |column| -> Result<String, SqliteError> {
                let bytes = row.blob(column)?.unwrap_or_default();
                Ok(String::from_utf8_lossy(bytes).into_owned())
            };
            let sql = match text(1)? == table.name {
                true => text(2)?,
                // The table was renamed, and the triggers with it.
                false => String::new(),
            };
            there.push((text(0)?, sql));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(there)
    }

    /// Visits the notes of a table by ascending row id.
    pub(crate) fn noted(
        &mut self,
        table: &Table,
        visit: &mut dyn FnMut(NotedRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), SqliteError> {
        let name = notes_name(table);
        if !self.exists(ControlStatement::FindTable, &name)? {
            return Ok(());
        }
        let entry = self.enter(table);
        let statement = self.statement(entry, TableStatement::Noted)?;
        self.raw.query(statement, [], |row| {
            Ok(visit(NotedRow {
                row_id: RowId(row.integer(0)),
                before: row.blob(1)?,
            }))
        })
    }

    /// Deletes the notes of a table; with `ends`, also the table of the notes and its triggers.
    pub(crate) fn forget_notes(&mut self, table: &Table, ends: bool) -> Result<(), SqliteError> {
        let name = notes_name(table);
        if !ends {
            let notes = quoted_if_needed(&name);
            return self.raw.execute(&format!("DELETE FROM {notes}"));
        }
        for (trigger, _) in self.note_triggers(table)? {
            self.raw.execute(&drop_trigger(&trigger))?;
        }
        self.raw.execute(&drop_table(&name))
    }
}
