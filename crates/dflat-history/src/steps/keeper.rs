//! Appends steps to the file.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use dflat_engine::Result;
use dflat_engine::history::KeepHistory;
use dflat_engine::storage::WriteTransaction;
use dflat_model::Table;

use super::strangers::take_notes;

/// Keeps the history of an engine in the storage of the engine.
#[derive(Debug, Default)]
pub struct Keeper {
    /// Whether a table is to be versioned, if the program said so.
    wanted: Mutex<HashMap<String, bool>>,
    /// The tables of the file.
    tables: Mutex<Vec<Table>>,
}

impl KeepHistory for Keeper {
    fn is_wanted(&self, table: &str) -> Option<bool> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.get(table).copied()
    }

    fn want(&self, table: &str, versioned: bool) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.insert(table.to_owned(), versioned);
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

    fn prepare(&self, writer: &mut dyn WriteTransaction, table: &Table) -> Result<()> {
        writer.create(table)?;
        writer.keep_notes(table)?;
        take_notes(writer, table)
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
