//! Appends steps to the file.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dflat_engine::Result;
use dflat_engine::history::KeepHistory;
use dflat_engine::storage::WriteTransaction;
use dflat_model::Table;

use super::strangers::take_notes;
use super::take::take_unnoted;
use crate::steps::end;

/// Keeps the history of an engine in the storage of the engine.
#[derive(Debug, Default)]
pub struct Keeper {
    /// Whether a table is to be versioned, if the program said so.
    wanted: Mutex<BTreeMap<String, (Table, bool)>>,
    /// The tables of the file.
    tables: Mutex<Vec<Table>>,
}

impl Keeper {
    fn wishes(&self) -> MutexGuard<'_, BTreeMap<String, (Table, bool)>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeepHistory for Keeper {
    fn is_wanted(&self, table: &str) -> Option<bool> {
        self.wishes().get(table).map(|(_, versioned)| *versioned)
    }

    fn want(&self, table: &Table, versioned: bool) {
        let wish = (table.clone(), versioned);
        self.wishes().insert(table.name.to_string(), wish);
    }

    fn follow_file(&self, table: &Table) {
        self.wishes().remove(&*table.name);
    }

    fn wanted(&self) -> Vec<Table> {
        let wishes = self.wishes();
        let wanted = wishes.values().filter(|(_, versioned)| *versioned);
        wanted.map(|(table, _)| table.clone()).collect()
    }

    fn same(&self, table: Table) -> Table {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        match tables.iter().find(|known| ***known == *table) {
            Some(known) => known.clone(),
            None => {
                tables.retain(|known| known.name != table.name);
                tables.push(table.clone());
                table
            }
        }
    }

    fn prepare(
        &self,
        writer: &mut dyn WriteTransaction,
        table: &Table,
        was_versioned: bool,
    ) -> Result<()> {
        writer.create(table)?;
        // Before the first write of a versioned type, there are no notes to miss.
        match writer.keep_notes(table)? || !was_versioned {
            true => take_notes(writer, table),
            false => take_unnoted(writer, table),
        }
    }

    fn end(&self, writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
        end(writer, &table.name)
    }

    fn append(
        &self,
        writer: &mut dyn WriteTransaction,
        note: Option<&[u8]>,
        record: &[u8],
    ) -> Result<()> {
        writer.append_step(note.unwrap_or_default(), record)
    }
}
