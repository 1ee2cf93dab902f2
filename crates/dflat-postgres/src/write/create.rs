//! Creates the tables of types and of indexes.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_model::Table;

use super::transaction::PostgresTransaction;
use crate::failure::damaged;
use crate::layout::{Schema, StoredIndex, StoredTable, create_index, create_main};

impl PostgresTransaction {
    /// Creates a table and its indexes if they are missing, and removes those indexes that the
    /// descriptor does not have.
    pub(super) fn create_table(&mut self, table: &Table) -> Result<()> {
        let stored = match self.find(table)? {
            Some(stored) => stored.clone(),
            None => self.create_main(table)?,
        };
        let (kept, removed): (Vec<_>, Vec<_>) = stored.indexes.iter().cloned().partition(|index| {
            let mut declared = table.indexes.iter();
            declared.any(|declared| index.serves(declared))
        });
        let missing = table.indexes.iter().filter(|index| {
            let mut kept = kept.iter();
            !kept.any(|kept| kept.serves(index))
        });
        let missing: Vec<_> = missing.collect();
        if removed.is_empty() && missing.is_empty() {
            return Ok(());
        }
        for index in &removed {
            self.remove_index(table, index)?;
        }
        let mut indexes = kept;
        let has_rows = !missing.is_empty() && self.has_rows(table, &stored)?;
        for index in missing {
            let name = self.new_index_name(table, &index.storage_key())?;
            let schema = self.database.schema();
            let created = StoredIndex::new(schema, name, index, has_rows);
            self.create_index(table, &created)?;
            indexes.push(created);
        }
        self.stored(table)?.indexes = indexes;
        Ok(())
    }

    fn create_main(&mut self, table: &Table) -> Result<StoredTable> {
        let database = Arc::clone(&self.database);
        let name = Schema::main(&table.name);
        self.has_written = true;
        self.run(
            format_args!("create the table of {}", table.type_name),
            |connection| {
                connection.batch(&create_main(database.schema(), &name))?;
                let params: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
                    [&table.name.as_ref(), &name];
                connection.query(&database.control().add_table, &params)
            },
        )?;
        let tables = self.tables.entry(table.name.to_string());
        let stored = tables.or_insert_with(StoredTable::new);
        stored.relation = database.schema().relation(&name);
        Ok(stored.clone())
    }

    fn has_rows(&mut self, table: &Table, stored: &StoredTable) -> Result<bool> {
        let query = format!("SELECT EXISTS (SELECT FROM {})", stored.relation);
        self.run(format_args!("read {}", table.type_name), |connection| {
            let rows = connection.query(&query, &[])?;
            rows.first().map_or(Ok(false), |row| row.try_get(0))
        })
    }

    fn new_index_name(&mut self, table: &Table, key: &str) -> Result<String> {
        let statement = self.database.control().number.clone();
        self.has_written = true;
        let number = self.run(
            format_args!("create an index of {}", table.type_name),
            |connection| {
                let rows = connection.query(&statement, &[])?;
                rows.first().map(|row| row.try_get::<_, i64>(0)).transpose()
            },
        )?;
        let number = number.ok_or_else(|| damaged("the number of a new index"))?;
        Ok(Schema::index(&table.name, key, number))
    }

    fn create_index(&mut self, table: &Table, index: &StoredIndex) -> Result<()> {
        let database = Arc::clone(&self.database);
        self.run(
            format_args!("create an index of {}", table.type_name),
            |connection| {
                connection.batch(&create_index(database.schema(), &index.name))?;
                connection.query(
                    &database.control().add_index,
                    &[
                        &index.name,
                        &table.name.as_ref(),
                        &index.key(),
                        &index.definition(),
                        &index.is_unique,
                        &index.is_partial,
                        &index.built_to,
                    ],
                )
            },
        )?;
        Ok(())
    }

    fn remove_index(&mut self, table: &Table, index: &StoredIndex) -> Result<()> {
        let database = Arc::clone(&self.database);
        self.has_written = true;
        self.run(
            format_args!("remove an index of {}", table.type_name),
            |connection| {
                connection.batch(&format!("DROP TABLE {}", index.relation))?;
                connection.query(&database.control().remove_index, &[&index.name])
            },
        )?;
        // A reader that knows the index finds no table, and looks again.
        self.database.forget();
        Ok(())
    }
}
