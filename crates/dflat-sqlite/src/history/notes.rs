//! The notes of rows that other programs have changed.

use std::ops::ControlFlow;

use dflat_engine::storage::NotedRow;
use dflat_model::{RowId, Table, ValueRef};

use super::triggers;
use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::{drop_table, drop_trigger, drop_view, notes_name, quoted_if_needed};
use crate::layout::statement_text::TableStatement;

impl FileConnection {
    /// Creates the table of a table's notes and its triggers, unless they have been there since the
    /// last call. Returns whether they have.
    pub(crate) fn keep_notes(&mut self, table: &Table) -> Result<bool, SqliteError> {
        let found = self.find_noting(table)?;
        let state = found.state(table);
        match state {
            NotingState::Whole => return Ok(true),
            NotingState::Unsealed => {}
            NotingState::Altered => {
                for (name, is_view) in &found.made {
                    self.raw.execute(&match is_view {
                        true => drop_view(name),
                        false => drop_trigger(name),
                    })?;
                }
                self.raw.execute(&triggers::create_notes(table))?;
                for (_, sql) in triggers::of(table) {
                    self.raw.execute(&sql)?;
                }
            }
        }
        // Order: after all others.
        self.raw.execute(&triggers::create_seal(table))?;
        Ok(state == NotingState::Unsealed)
    }

    /// Whether the triggers have noted all rows that other programs have changed since
    /// [`keep_notes`](Self::keep_notes).
    pub(crate) fn has_all_notes(&mut self, table: &Table) -> Result<bool, SqliteError> {
        let schema_version = self.control_number(ControlStatement::SchemaVersion)?;
        if let Some((version, has_all)) = self.noting.get(table.name.as_ref())
            && *version == schema_version
        {
            return Ok(*has_all);
        }
        let has_all = self.find_noting(table)?.state(table) != NotingState::Altered;
        let known = (schema_version, has_all);
        self.noting.insert(table.name.to_string(), known);
        Ok(has_all)
    }

    fn find_noting(&mut self, table: &Table) -> Result<Noting, SqliteError> {
        let (prefix, seal, notes) = (
            triggers::prefix(table),
            triggers::seal_name(table),
            notes_name(table),
        );
        let statement = self.control_statement(ControlStatement::FindNoting)?;
        let [prefix, name] = [&prefix, &notes].map(|text| Param::Value(ValueRef::Text(text)));
        let mut found = Noting::default();
        self.raw.query(statement, [prefix, prefix, name], |row| {
            let text = |column| -> Result<String, SqliteError> {
                let bytes = row.blob(column)?.unwrap_or_default();
                Ok(String::from_utf8_lossy(bytes).into_owned())
            };
            let (name, of, sql) = (text(0)?, text(1)?, text(2)?);
            found.is_sealed = name == seal;
            if name == notes {
                found.has_notes = true;
                return Ok(ControlFlow::Continue(()));
            }
            found.has_seal |= name == seal;
            let is_view = name == of;
            found.made.push((name, is_view));
            // If the table was renamed, so were the triggers.
            if of == table.name {
                found.triggers.push(sql);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
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
        for (name, is_view) in self.find_noting(table)?.made {
            self.raw.execute(&match is_view {
                true => drop_view(&name),
                false => drop_trigger(&name),
            })?;
        }
        self.raw.execute(&drop_table(&name))
    }
}

/// The table of the notes, the triggers and the view, as far as they are there.
#[derive(Default)]
struct Noting {
    /// The names of the triggers and the view, and whether each is the view.
    made: Vec<(String, bool)>,
    /// The definitions of the triggers on the table.
    triggers: Vec<String>,
    has_notes: bool,
    has_seal: bool,
    /// Whether the view was made last.
    is_sealed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NotingState {
    /// All are there, and none was made again.
    Whole,
    /// All are there but the view, which earlier builds did not make.
    Unsealed,
    /// One is missing, is another one, or was made again.
    Altered,
}

impl Noting {
    fn state(&self, table: &Table) -> NotingState {
        let wanted = triggers::of(table);
        let has = |sql: &String| self.triggers.contains(sql);
        let is_there = self.has_notes
            && self.triggers.len() == wanted.len()
            && wanted.iter().all(|(_, sql)| has(sql));
        match (is_there, self.has_seal) {
            (true, true) if self.is_sealed => NotingState::Whole,
            (true, false) => NotingState::Unsealed,
            _ => NotingState::Altered,
        }
    }
}
