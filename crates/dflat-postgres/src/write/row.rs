//! Writes and deletes rows.

use dflat_engine::storage::{Key, RowWrite, WriteError};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table};
use tokio_postgres::types::ToSql;

use super::statement::{EntryWrite, Kind, Param, RowStatement};
use super::transaction::{PostgresTransaction, conflict};
use crate::failure::{damaged, failed, shut_down};
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

    /// Updates a row: at once if the update may conflict, otherwise together with later writes.
    pub(super) fn update_row(
        &mut self,
        table: &Table,
        row_id: RowId,
        row: &RowWrite<'_>,
    ) -> Result<(), WriteError> {
        self.load(table)?;
        if let Some(stored) = self.tables.get(table.name.as_ref())
            && stored.is_created()
            && self.pending.update(table, stored, row_id, row)
        {
            self.has_written = true;
            return Ok(self.send_if_full()?);
        }
        let kind = match row.key {
            Some(_) => Kind::UpdateKey,
            None => Kind::Update,
        };
        self.write_row(kind, table, row_id, row)
    }

    /// Deletes a row and its entries, together with later writes.
    pub(super) fn delete_row(&mut self, table: &Table, row_id: RowId) -> Result<bool> {
        self.load(table)?;
        let stored = self.tables.get(table.name.as_ref());
        let Some(stored) = stored.filter(|stored| stored.is_created()) else {
            return Ok(false);
        };
        self.has_written = true;
        if !self.pending.delete(stored, row_id) {
            // The row is inserted first.
            let stored = stored.clone();
            self.send_pending()?;
            self.pending.delete(&stored, row_id);
        }
        self.send_if_full()?;
        Ok(true)
    }

    /// Inserts a row whose key no other row has: at once if a unique value may conflict, otherwise
    /// together with later writes.
    pub(super) fn insert_absent_row(
        &mut self,
        table: &Table,
        row: &RowWrite<'_>,
    ) -> Result<RowId, WriteError> {
        let row_id = RowId(self.stored(table)?.last_row_id + 1);
        let stored = self.tables.get(table.name.as_ref());
        let is_pending =
            stored.is_some_and(|stored| self.pending.insert(table, stored, row_id, row));
        if is_pending {
            self.has_written = true;
            self.send_if_full()?;
        } else {
            self.write_row(Kind::Insert, table, row_id, row)?;
        }
        self.stored(table)?.last_row_id = row_id.0;
        Ok(row_id)
    }

    fn send_if_full(&mut self) -> Result<()> {
        match self.pending.is_full() {
            true => self.send_pending(),
            false => Ok(()),
        }
    }

    /// Sends the writes that wait, without waiting for their answers.
    pub(super) fn send_pending(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let postings = self.pending.take();
        let connection = self.connection.as_mut().ok_or_else(shut_down)?;
        let mut postings = postings.into_iter();
        let posted = postings.try_for_each(|(text, params)| connection.post(&text, params));
        let posted = posted.or_else(|error| {
            // An earlier statement may have failed, after which the server refuses all.
            connection.settle().and(Err(error))
        });
        posted.map_err(|error| {
            self.is_lost = true;
            failed("write objects", error)
        })
    }

    /// Waits for the answers to the writes that were sent.
    pub(super) fn settle(&mut self) -> Result<()> {
        let connection = self.connection.as_mut().ok_or_else(shut_down)?;
        connection.settle().map_err(|error| {
            self.is_lost = true;
            failed("write objects", error)
        })
    }
}
