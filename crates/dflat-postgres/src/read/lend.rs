//! Lends rows of the server to the visitor of a scan, in the order of whole keys.

use std::ops::ControlFlow;

use dflat_engine::storage::{Entry, Row as LentRow};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{ColumnType, Field, RowId, ValueRef, key};
use tokio_postgres::Row;

use crate::failure::damaged;
use crate::layout::{KEY_MAX, Range};

/// The visitor of a scan.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(LentRow<'_>) -> ControlFlow<()>;

/// A row of the server, with its columns.
struct Columns<'r> {
    row_id: RowId,
    payload: &'r [u8],
    key: Option<&'r [u8]>,
}

impl<'r> Columns<'r> {
    fn of(row: &'r Row) -> Result<Self> {
        let read = || -> std::result::Result<Self, tokio_postgres::Error> {
            Ok(Self {
                row_id: RowId(row.try_get(0)?),
                payload: row.try_get::<_, Option<&[u8]>>(1)?.unwrap_or_default(),
                key: row.try_get(2)?,
            })
        };
        read().map_err(|error| {
            let message = "cannot read a row: its columns have other types";
            Error::with_source(ErrorKind::Corrupt, message, error)
        })
    }
}

/// Lends rows one after the other.
pub(super) struct Lender<'a, 'v> {
    visit: Visit<'v>,
    /// The range, if only whole keys show whether a row is in it.
    range: Option<&'a Range>,
    is_descending: bool,
    /// The fields whose values are lent.
    fields: Option<&'a [Field]>,
    columns: Vec<ColumnType>,
    /// Rows whose keys are equal as far as the index has them, with their whole keys.
    alike: Vec<(Vec<u8>, Row)>,
    /// Whether a row was lent.
    pub(super) has_lent: bool,
}

impl<'a, 'v> Lender<'a, 'v> {
    pub(super) fn new(visit: Visit<'v>, fields: Option<&'a [Field]>) -> Self {
        let columns = fields.unwrap_or_default().iter().map(Field::column_type);
        Self {
            visit,
            range: None,
            is_descending: false,
            columns: columns.collect(),
            fields,
            alike: Vec::new(),
            has_lent: false,
        }
    }

    /// The lender of the rows of a range.
    pub(super) fn of_range(mut self, range: &'a Range, is_descending: bool) -> Self {
        self.range = range.is_cut().then_some(range);
        self.is_descending = is_descending;
        self
    }

    /// Lends the next rows.
    pub(super) fn take(&mut self, rows: Vec<Row>) -> Result<ControlFlow<()>> {
        for row in rows {
            if self.take_one(row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Lends the next row.
    pub(super) fn take_one(&mut self, row: Row) -> Result<ControlFlow<()>> {
        let columns = Columns::of(&row)?;
        let is_long = columns.key.is_some_and(|key| key.len() >= KEY_MAX);
        let is_alike = is_long
            && self.alike.first().is_some_and(|(first, _)| {
                columns.key.and_then(|key| key.get(..KEY_MAX)) == first.get(..KEY_MAX)
            });
        if !is_alike && self.finish()?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if !is_long {
            return self.lend(&columns);
        }
        let key = columns.key.unwrap_or_default().to_vec();
        if self.range.is_none_or(|range| range.has(&key)) {
            self.alike.push((key, row));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Lends the rows that were kept to be ordered.
    pub(super) fn finish(&mut self) -> Result<ControlFlow<()>> {
        let mut alike = std::mem::take(&mut self.alike);
        // The order is stable: rows of one key stay in the order of row ids.
        if self.is_descending {
            alike.sort_by(|a, b| b.0.cmp(&a.0));
        } else {
            alike.sort_by(|a, b| a.0.cmp(&b.0));
        }
        for (_, row) in alike {
            if self.lend(&Columns::of(&row)?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn lend(&mut self, columns: &Columns<'_>) -> Result<ControlFlow<()>> {
        self.has_lent = true;
        let (row_id, payload) = (columns.row_id, columns.payload);
        let Some(fields) = self.fields else {
            return Ok((self.visit)(LentRow {
                row_id,
                payload,
                entry: None,
            }));
        };
        let key = columns.key.unwrap_or_default();
        let values = key::decode(key, &self.columns)
            .map_err(|_| damaged("an index: the bytes of an entry are not those of its fields"))?;
        let values: Vec<ValueRef<'_>> = values.iter().map(|value| value.as_ref()).collect();
        Ok((self.visit)(LentRow {
            row_id,
            payload,
            entry: Some(Entry {
                fields,
                values: &values,
            }),
        }))
    }
}
