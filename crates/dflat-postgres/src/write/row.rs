//! Writes and deletes rows.

use dflat_engine::storage::{Key, RowWrite, WriteError};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};
use tokio_postgres::types::ToSql;

use super::statement::{EntryWrite, Kind, Param, RowStatement, delete};
use super::transaction::{PostgresTransaction, conflict};
use crate::failure::damaged;
use crate::layout::StoredKey;

impl Param {
    /// The parameter as the connection takes it.
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Number(number) => number,
            Self::Bytes(bytes) => bytes,
            Self::MaybeBytes(bytes) => bytes,
        }
    }
}

impl PostgresTransaction {
    /// Writes a row and its entries, unless another row has the key or a unique value.
    pub(super) fn write_row(
        &mut self,
        kind: Kind,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        let key = row.key.map(StoredKey::new);
        if key.is_none() && kind != Kind::Update {
            let message = format!("cannot write {}: the row has no key", table.type_name);
            return Err(Error::new(ErrorKind::Backend, message).into());
        }
        let stored = self.stored(table)?.clone();
        let entries = EntryWrite::of(table, &stored, row.entries, kind);
        let statement =
            RowStatement::write(kind, &stored, row_id, (key.as_ref(), row.payload), &entries);
        let params: Vec<&(dyn ToSql + Sync)> = statement.params.iter().map(Param::as_sql).collect();
        self.has_written = true;
        let operation = format_args!("write {}", table.type_name);
        let flags = self.run(operation, |connection| {
            let rows = connection.query(&statement.text, &params)?;
            let row = rows.first();
            let columns = row.map_or(0, tokio_postgres::Row::len);
            let flags = (0..columns).map(|position| match row {
                Some(row) => row.try_get::<_, bool>(position),
                None => Ok(false),
            });
            flags.collect::<std::result::Result<Vec<bool>, _>>()
        })?;
        let mut flags = flags.into_iter();
        let (Some(exists), Some(has_key)) = (flags.next(), flags.next()) else {
            return Err(
                damaged(format_args!("the answer to a write of {}", table.type_name)).into(),
            );
        };
        match kind {
            Kind::Insert => {}
            Kind::Restore if exists => return Err(conflict(Key::Primary)),
            Kind::Restore => {}
            Kind::Update | Kind::UpdateKey if exists => {}
            Kind::Update | Kind::UpdateKey => {
                let message = format!("cannot update row {row_id}: it does not exist");
                return Err(Error::new(ErrorKind::NotFound, message).into());
            }
        }
        if has_key {
            return Err(conflict(Key::Primary));
        }
        let mut checked = entries.iter().filter(|entry| entry.is_checked()).zip(flags);
        match checked.find(|(_, has_value)| *has_value) {
            Some((entry, _)) => Err(conflict(Key::Index(entry.position))),
            None => Ok(()),
        }
    }

    /// Deletes a row and its entries.
    pub(super) fn delete_row(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        let Some(stored) = self.find(table)? else {
            return Ok(false);
        };
        let indexes: Vec<&str> = stored.indexes.iter().map(|i| i.relation.as_str()).collect();
        let statement = delete(&stored.relation, &indexes);
        self.has_written = true;
        self.run(format_args!("delete {}", table.type_name), |connection| {
            let rows = connection.query(&statement, &[&row_id.0])?;
            rows.first().map_or(Ok(false), |row| row.try_get(0))
        })
    }
}
