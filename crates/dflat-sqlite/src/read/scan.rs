//! Scans and index states.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::slice;

use dflat_engine::Result;
use dflat_engine::fetch::KeyParts;
use dflat_engine::storage::{self, IndexState, KeyScan, Row, ScanPlan, Source};
use dflat_model::{Field, RowId, Table, ValueRef};

use crate::connection::file_connection::{FileConnection, TableId};
use crate::ffi::{Columns, Param, SqliteError};
use crate::layout::control::ControlStatement;
use crate::layout::ddl::PlainIndexNames;
use crate::layout::key_range::{ScanContent, Segment, primary_key, segments};
use crate::layout::statement_text::TableStatement;

type Visit<'v> = dyn FnMut(Row<'_>) -> ControlFlow<()> + 'v;

/// How a reading statement ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanEnd {
    /// After its last row.
    Complete,
    /// Because the visitor broke.
    Broken,
    /// At once, because the main table does not exist.
    NoTable,
}

/// The fields of the index whose values a statement returns; none if the statement returns
/// payloads.
fn fields_read(table: &Table, operation: TableStatement) -> &[Field] {
    match operation {
        TableStatement::ScanKey(shape) if shape.content == ScanContent::Values => {
            key_fields(table, shape.index)
        }
        _ => &[],
    }
}

/// The fields of the index at a position, or of the primary key.
fn key_fields(table: &Table, index: Option<usize>) -> &[Field] {
    match index {
        None => &table.primary_key,
        Some(position) => table
            .indexes
            .get(position)
            .map_or(&[], |index| &index.fields),
    }
}

/// The values of an index in the columns after the first.
fn values_of<'r>(columns: Columns<'r>, fields: &[Field]) -> Result<KeyParts<'r>, SqliteError> {
    let values = (1..).zip(fields).map(|(at, _)| columns.value(at));
    values.collect()
}

impl FileConnection {
    /// Calls `visit` with each row of the plan, until it breaks.
    ///
    /// Outside a transaction, a plan of several statements runs in a transaction of its own, so
    /// that all statements see one state.
    pub(crate) fn scan(&mut self, plan: &ScanPlan<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let (table, payload) = (plan.table, plan.payload);
        match &plan.source {
            Source::Rows => {
                let entry = self.enter(table);
                self.read(table, entry, TableStatement::ScanRows(payload), None, visit)?;
                Ok(())
            }
            Source::RowsAfter(row_id) => {
                let entry = self.enter(table);
                let param = Some(Param::id(*row_id));
                self.read(
                    table,
                    entry,
                    TableStatement::ScanRowsAfter(payload),
                    param,
                    visit,
                )?;
                Ok(())
            }
            Source::RowIds(row_ids) => {
                self.in_transaction(table, row_ids.len() > 1, |connection| {
                    connection.scan_row_ids(table, row_ids, visit)
                })
            }
            Source::PrimaryKey(key) => {
                if let Some(shape) = primary_key(table, key, ScanContent::payload(payload))? {
                    let entry = self.enter(table);
                    let params = key.iter().copied().map(Param::Value);
                    self.read(table, entry, TableStatement::ScanKey(shape), params, visit)?;
                }
                Ok(())
            }
            Source::Key(scan) | Source::Entries(scan) => {
                let content = match plan.source {
                    Source::Entries(_) => ScanContent::Values,
                    _ => ScanContent::payload(payload),
                };
                let segments = segments(table, scan, content)?;
                self.in_transaction(table, segments[1].is_some(), |connection| {
                    connection.scan_segments(table, scan, segments.into_iter().flatten(), visit)
                })
            }
        }
    }

    /// Counts the rows of a range by their first values, as [`Snapshot::tally`].
    ///
    /// [`Snapshot::tally`]: dflat_engine::storage::Snapshot::tally
    pub(crate) fn tally(
        &mut self,
        table: &Table,
        (scan, parts): (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        let content = match parts {
            0 => ScanContent::Count,
            // The values are those of the file: a condition may have a value of another type.
            parts if parts <= scan.prefix.len() + 1 => ScanContent::Groups,
            _ => return Ok(false),
        };
        let segments = segments(table, scan, content)?;
        let (visited, mut is_stopped, mut is_enough) = (Cell::new(false), false, false);
        let outcome = self.in_transaction(table, segments[1].is_some(), |connection| {
            let entry = connection.enter(table);
            for segment in segments.into_iter().flatten() {
                let operation = TableStatement::ScanKey(segment.shape);
                let fields = key_fields(table, segment.shape.index);
                let fields = fields.get(..parts).unwrap_or_default();
                let params = segment.params(scan.prefix);
                let attempt = |connection: &mut Self| {
                    let statement = connection.statement(entry, operation)?;
                    let mut ask = || {
                        let flow = proceed();
                        is_stopped |= flow.is_break();
                        flow
                    };
                    let count_group = |columns: Columns<'_>| {
                        visited.set(true);
                        let count = usize::try_from(columns.integer(0)).unwrap_or(0);
                        let flow = visit(&values_of(columns, fields)?, count);
                        is_enough |= flow.is_break();
                        Ok(flow)
                    };
                    let raw = &mut connection.raw;
                    raw.query_while(statement, params.clone(), &mut ask, count_group)
                };
                if !connection.attempted(table, &visited, attempt)? || is_enough {
                    break;
                }
            }
            Ok(())
        });
        match outcome {
            Err(_) if is_stopped => Ok(true),
            outcome => outcome.map(|()| true),
        }
    }

    pub(crate) fn in_transaction(
        &mut self,
        table: &Table,
        needed: bool,
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !needed || !self.raw.is_autocommit() {
            return work(self);
        }
        let fail =
            |error: SqliteError| error.into_read_error(format_args!("cannot read {}", table.name));
        self.control(ControlStatement::Begin).map_err(fail)?;
        let outcome = work(self);
        let ended = self.control(ControlStatement::Commit).map_err(fail);
        if ended.is_err() {
            self.end();
        }
        outcome.and(ended)
    }

    fn scan_row_ids(
        &mut self,
        table: &Table,
        row_ids: &[RowId],
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let entry = self.enter(table);
        for row_id in row_ids {
            let param = Some(Param::id(*row_id));
            if self.read(table, entry, TableStatement::FindRow, param, visit)? != ScanEnd::Complete
            {
                break;
            }
        }
        Ok(())
    }

    fn scan_segments<'a>(
        &mut self,
        table: &Table,
        scan: &KeyScan<'a>,
        segments: impl Iterator<Item = Segment<'a>>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let entry = self.enter(table);
        for segment in segments {
            let operation = TableStatement::ScanKey(segment.shape);
            let params = segment.params(scan.prefix);
            if self.read(table, entry, operation, params, visit)? != ScanEnd::Complete {
                break;
            }
        }
        Ok(())
    }

    /// Runs one statement that returns row ids with payloads or index values.
    fn read<'p, I>(
        &mut self,
        table: &Table,
        entry: TableId,
        operation: TableStatement,
        params: I,
        visit: &mut Visit<'_>,
    ) -> Result<ScanEnd>
    where
        I: IntoIterator<Item = Param<'p>>,
        I::IntoIter: Clone,
    {
        let params = params.into_iter();
        let fields = fields_read(table, operation);
        let end = Cell::new(ScanEnd::Complete);
        let visited = Cell::new(false);
        let attempt = |connection: &mut Self| {
            let statement = connection.statement(entry, operation)?;
            connection.raw.query(statement, params.clone(), |columns| {
                visited.set(true);
                let row_id = RowId(columns.integer(0));
                let flow = match fields {
                    // A payload that is NULL or not a blob is as unreadable as an empty one.
                    [] => visit(Row {
                        row_id,
                        payload: columns.blob(1)?.unwrap_or_default(),
                        entry: None,
                    }),
                    // Most indexes have one field, for which no list is made: a sum of 100,000
                    // entries takes 6.4 ms, and 8.1 ms with a list.
                    [field] => {
                        let value = columns.value(1)?;
                        let entry = storage::Entry {
                            fields: slice::from_ref(field),
                            values: slice::from_ref(&value),
                        };
                        visit(entry.row(row_id))
                    }
                    fields => {
                        let values = &values_of(columns, fields)?;
                        visit(storage::Entry { fields, values }.row(row_id))
                    }
                };
                if flow.is_break() {
                    end.set(ScanEnd::Broken);
                }
                Ok(flow)
            })
        };
        match self.attempted(table, &visited, attempt)? {
            true => Ok(end.get()),
            false => Ok(ScanEnd::NoTable),
        }
    }

    /// Runs a statement of a table; false if the table does not exist.
    #[inline]
    fn attempted(
        &mut self,
        table: &Table,
        visited: &Cell<bool>,
        mut attempt: impl FnMut(&mut Self) -> Result<(), SqliteError>,
    ) -> Result<bool> {
        let mut outcome = attempt(self);
        if matches!(&outcome, Err(error) if error.may_be_missing_name()) && !visited.get() {
            if !self.main_exists(table)? {
                return Ok(false);
            }
            // Outside a transaction, the table may have been created since the first attempt.
            outcome = attempt(self);
        }
        outcome
            .map_err(|error| error.into_read_error(format_args!("cannot read {}", table.name)))?;
        self.note_read();
        Ok(true)
    }

    fn main_exists(&mut self, table: &Table) -> Result<bool> {
        self.exists(ControlStatement::FindTable, &table.name)
            .map_err(|error| error.into_read_error(format_args!("cannot read {}", table.name)))
    }

    /// The state of an index that can be trusted. If the flag is true, foreign rows are left out.
    pub(crate) fn index_state(
        &mut self,
        table: &Table,
        entry: TableId,
        (position, without_foreign): (usize, bool),
    ) -> Result<IndexState> {
        let fail = |error: SqliteError| {
            error.into_read_error(format_args!("cannot read the indexes of {}", table.name))
        };
        let (mut is_known, mut equal, mut filled_up_to) = (false, false, RowId(0));
        let operation = TableStatement::IndexState(position, without_foreign);
        let outcome = self.statement(entry, operation).and_then(|id| {
            self.raw.query(id, [], |columns| {
                is_known = true;
                equal = columns.integer(0) != 0;
                filled_up_to = RowId(columns.integer(1));
                Ok(ControlFlow::Continue(()))
            })
        });
        match outcome {
            // No note says how far the index is filled.
            Ok(()) if !is_known => Ok(IndexState::Missing),
            Ok(()) if equal => Ok(IndexState::Ready),
            Ok(()) => Ok(IndexState::Incomplete(filled_up_to)),
            Err(error) if error.may_be_missing_name() => {
                if !self
                    .exists(ControlStatement::FindTable, &table.name)
                    .map_err(fail)?
                {
                    // Without rows, every index is complete.
                    return Ok(IndexState::Ready);
                }
                let index = &table.indexes[position];
                let names = PlainIndexNames::new(table, index);
                let is_noted = index.condition.is_none()
                    || self
                        .exists(ControlStatement::FindTable, "dflat__filled")
                        .map_err(fail)?;
                let whole = is_noted
                    && self
                        .exists(ControlStatement::FindTable, &names.table)
                        .map_err(fail)?
                    && self
                        .exists(ControlStatement::FindIndex, &names.index)
                        .map_err(fail)?;
                if whole {
                    Err(fail(error))
                } else {
                    Ok(IndexState::Missing)
                }
            }
            Err(error) => Err(fail(error)),
        }
    }
}
