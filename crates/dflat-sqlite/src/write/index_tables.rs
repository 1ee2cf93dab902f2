//! Creates tables and their index tables, and removes those index tables that the writes of this
//! library would not maintain.

use std::ops::ControlFlow;

use dflat_engine::storage::{IndexEntry, IndexRepair, WriteError};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, TableDescriptor, ValueRef};

use crate::connection::file_connection::{FileConnection, TableId};
use crate::ffi::{Param, SqliteError};
use crate::foreign::triggers::{self, Trigger};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::{
    FILLED, IndexNames, Names, PlainIndexNames, create_index, create_main, drop_index, drop_table,
    drop_trigger, index_prefixes, is_other_index, stored,
};
use crate::layout::statement_text::TableStatement;

impl FileConnection {
    /// Creates the table and its index tables, as far as they are missing.
    pub(crate) fn create(&mut self, table: &Table) -> Result<(), SqliteError> {
        let TableId(position) = self.enter(table);
        if self.tables[position].created {
            return Ok(());
        }
        self.raw.execute(&create_main(table))?;
        if !table.indexes.is_empty() {
            self.drop_doubtful_indexes(table)?;
        }
        let mut unenforced = Vec::new();
        for index in 0..table.indexes.len() {
            if !self.create_index(table, index)? {
                unenforced.push(index);
            }
        }
        self.drop_other_indexes(table)?;
        // A table that another descriptor of the same name knew to exist may have been dropped.
        for entry in &mut self.tables {
            entry.created &= entry.table.name != table.name;
        }
        self.note_created(TableId(position), unenforced);
        Ok(())
    }

    /// Drops the index tables that can't be trusted, and all of them if there are too many foreign
    /// rows. Then creates the triggers that the main table lacks.
    fn drop_doubtful_indexes(&mut self, table: &Table) -> Result<(), SqliteError> {
        self.control(ControlStatement::CreateForeign)?;
        let overrun = self.is_overrun(table)?;
        let triggers = self.trigger_state(table)?;
        let whole = triggers.main && !overrun;
        let kept: Vec<bool> = triggers.indexes.iter().map(|i| *i && whole).collect();
        for (index, kept) in table.indexes.iter().zip(kept) {
            if !kept {
                let names = PlainIndexNames::new(table, index);
                self.raw.execute(&drop_table(&names.table))?;
            }
        }
        if whole {
            return Ok(());
        }
        // No index entry is left, so the notes of foreign rows are no longer needed.
        let forget = self.control_statement(ControlStatement::ForgetAllForeign)?;
        let name = Param::Value(ValueRef::Text(&table.name));
        self.raw.run(forget, [name])?;
        self.create_triggers(&triggers::of_main(table))
    }

    /// Drops and creates triggers.
    fn create_triggers(&mut self, triggers: &[Trigger]) -> Result<(), SqliteError> {
        for trigger in triggers {
            self.raw.execute(&drop_trigger(&trigger.name))?;
            self.raw.execute(&trigger.sql)?;
        }
        Ok(())
    }

    /// Whether a unique index must be searched before a value is put into it, because SQLite does
    /// not keep it unique.
    pub(crate) fn is_unenforced(&self, entry: TableId, index: usize) -> bool {
        self.tables[entry.0].unenforced.contains(&index)
    }

    /// Deletes the entries of foreign rows, then puts the given entries, then records how far
    /// indexes with a condition are filled.
    pub(crate) fn repair_indexes(&mut self, table: &Table, repair: &IndexRepair<'_>) -> Result<()> {
        let fail =
            |error: SqliteError| error.into_error(format_args!("cannot index {}", table.name));
        for row in repair.rows.iter().filter(|row| row.is_foreign) {
            self.forget_foreign(table, row.row_id).map_err(fail)?;
        }
        // Order: after all stale entries are deleted, so that a value that moved between rows is
        // free.
        for row in repair.rows {
            for index_entry in &row.entries {
                self.put_entry_admitting(table, row.row_id, index_entry)?;
            }
        }
        for (index, up_to) in repair.filled {
            self.note_filled(table, *index, *up_to).map_err(fail)?;
        }
        Ok(())
    }

    /// Puts an entry into an index. If a unique index already has the value, SQLite keeps the index
    /// unique no longer, and both entries are in it.
    fn put_entry_admitting(
        &mut self,
        table: &Table,
        row_id: RowId,
        index_entry: &IndexEntry<'_>,
    ) -> Result<()> {
        let entries = std::slice::from_ref(index_entry);
        let entry = self.enter(table);
        let mut put = self.put_entries(table, entry, row_id, entries);
        if matches!(put, Err(WriteError::Conflict(_))) {
            self.admit_duplicates(table, index_entry.index)
                .map_err(|error| error.into_error(format_args!("cannot index {}", table.name)))?;
            put = self.put_entries(table, entry, row_id, entries);
        }
        put.map_err(|error| match error {
            WriteError::Failed(error) => error,
            WriteError::Conflict(_) => {
                let message = format!("cannot index {}: a value exists twice", table.name);
                Error::new(ErrorKind::Backend, message)
            }
        })
    }

    /// Replaces an index by one that SQLite does not keep unique.
    fn admit_duplicates(&mut self, table: &Table, index: usize) -> Result<(), SqliteError> {
        let TableId(position) = self.enter(table);
        let entry = &mut self.tables[position];
        let Some(names) = entry.names.indexes.get(index) else {
            return Ok(());
        };
        let drop = drop_index(names);
        self.raw.execute(&drop)?;
        if let Some([_, create]) = create_index(table, index, false) {
            self.raw.execute(&create)?;
        }
        if table.indexes[index].unique && !self.is_unenforced(TableId(position), index) {
            self.tables[position].unenforced.push(index);
        }
        Ok(())
    }

    /// Drops the index tables of indexes that the descriptor does not have, because an update would
    /// leave the old value in them.
    fn drop_other_indexes(&mut self, table: &TableDescriptor) -> Result<(), SqliteError> {
        let statement = self.control_statement(ControlStatement::FindTables)?;
        let mut found = Vec::new();
        for prefix in index_prefixes(table) {
            let pattern = Param::Value(ValueRef::Text(&prefix));
            self.raw.query(statement, [pattern, pattern], |row| {
                let text = |column| row.blob(column).map(|bytes| bytes.map(<[u8]>::to_vec));
                found.extend(text(0)?.zip(text(1)?));
                Ok(ControlFlow::Continue(()))
            })?;
        }
        for (name, sql) in found {
            let (Ok(name), Ok(sql)) = (String::from_utf8(name), String::from_utf8(sql)) else {
                continue;
            };
            if is_other_index(table, &name, &sql) {
                self.raw.execute(&drop_table(&name))?;
            }
        }
        Ok(())
    }

    /// Creates an index table and its index, as far as they are missing, and empties the index
    /// table if its content can't be trusted. Returns false if the index must be unique but SQLite
    /// does not keep it so.
    fn create_index(&mut self, table: &Table, position: usize) -> Result<bool, SqliteError> {
        let unique = table.indexes[position].unique;
        let Some([index_table, index]) = create_index(table, position, unique) else {
            return Ok(true);
        };
        let names = Names::new(table);
        let plain = PlainIndexNames::new(table, &table.indexes[position]);
        if !self.exists(ControlStatement::FindTable, &plain.table)? {
            self.raw.execute(&index_table)?;
            // An index of that name may be left on a table that was renamed.
            self.raw.execute(&drop_index(&names.indexes[position]))?;
            self.create_triggers(&triggers::of_index(table, position))?;
            self.empty(&names, position)?;
        } else if !self.is_filling_known(&names.indexes[position])? {
            self.empty(&names, position)?;
        }
        match self.raw.execute(&index) {
            Err(error) if error.is_duplicate() => {
                // Another program dropped the index and inserted equal values. The index table
                // holds derived data only, so it is emptied and filled again. Filling it handles
                // the equal values.
                self.empty(&names, position)?;
                self.raw.execute(&index)?;
            }
            outcome => outcome?,
        }
        Ok(!unique || self.is_kept_unique(&plain.index, &stored(&index))?)
    }

    /// Empties an index table, so that it is filled again. Everything in it can be derived.
    fn empty(&mut self, names: &Names, position: usize) -> Result<(), SqliteError> {
        let index = &names.indexes[position];
        let empty = format!("DELETE FROM {}", index.table);
        self.raw.execute(&empty)?;
        let Some(name) = &index.filled else {
            return Ok(());
        };
        // If the main table has no row, the index is complete.
        self.raw.execute(FILLED)?;
        self.raw.execute(&format!(
            "INSERT OR REPLACE INTO dflat__filled \
             SELECT {name}, CASE WHEN EXISTS (SELECT 1 FROM {}) THEN 0 END",
            names.main
        ))
    }

    /// Whether it is known how far an index is filled. If its last entry does not show it, there
    /// must be a record.
    fn is_filling_known(&mut self, index: &IndexNames) -> Result<bool, SqliteError> {
        let Some(name) = &index.filled else {
            return Ok(true);
        };
        if !self.exists(ControlStatement::FindTable, "dflat__filled")? {
            return Ok(false);
        }
        let sql = format!("SELECT 1 FROM dflat__filled WHERE name = {name}");
        let mut is_known = false;
        self.raw.execute_with(&sql, |_| {
            is_known = true;
            Ok(())
        })?;
        Ok(is_known)
    }

    /// Records how far an index with a condition is filled.
    fn note_filled(
        &mut self,
        table: &Table,
        index: usize,
        up_to: Option<RowId>,
    ) -> Result<(), SqliteError> {
        let entry = self.enter(table);
        let up_to = up_to.map_or(ValueRef::Null, |row_id| ValueRef::Int(row_id.0));
        self.run(
            entry,
            TableStatement::NoteFilled(index),
            [Param::Value(up_to)],
        )
    }

    /// Whether SQLite keeps the index of this name unique: whether the index has this definition.
    fn is_kept_unique(&mut self, name: &str, definition: &str) -> Result<bool, SqliteError> {
        let statement = self.control_statement(ControlStatement::FindIndex)?;
        let mut is_kept = false;
        let name = Param::Value(ValueRef::Text(name));
        self.raw.query(statement, [name], |row| {
            is_kept = row.blob(0)? == Some(definition.as_bytes());
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_kept)
    }

    /// Whether a row other than this one has the same values in an index.
    pub(crate) fn other_has(
        &mut self,
        entry: TableId,
        index: usize,
        values: &[ValueRef<'_>],
        row_id: RowId,
    ) -> Result<bool, SqliteError> {
        let statement = self.statement(entry, TableStatement::FindOther(index))?;
        let mut found = false;
        let params = values.iter().copied().map(Param::Value);
        let params = params.chain([Param::id(row_id)]);
        self.raw.query(statement, params, |_| {
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }
}
