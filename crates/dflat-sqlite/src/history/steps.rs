//! The table of steps.

use std::ops::ControlFlow;

use dflat_engine::Error;
use dflat_engine::storage::{StepId, StepRow};
use dflat_model::RowId;

use crate::connection::file_connection::FileConnection;
use crate::ffi::{Param, SqliteError};
use crate::layout::control::{ControlStatement, STEPS_NAME};

impl FileConnection {
    /// Appends a step, as a part of the open write transaction. Creates the table if it is missing.
    pub(crate) fn append_step(&mut self, note: &[u8], record: &[u8]) -> Result<(), SqliteError> {
        match self.insert_step(note, record) {
            Err(_) if !self.raw.is_autocommit() => {
                self.control(ControlStatement::CreateSteps)?;
                self.insert_step(note, record)
            }
            appended => appended,
        }
    }

    fn insert_step(&mut self, note: &[u8], record: &[u8]) -> Result<(), SqliteError> {
        let statement = self.control_statement(ControlStatement::AppendStep)?;
        let params = [Param::Blob(note), Param::Blob(record)];
        self.raw.run(statement, params)
    }

    /// Replaces the record of a step, or deletes the step.
    pub(crate) fn replace_step(
        &mut self,
        id: StepId,
        record: Option<&[u8]>,
    ) -> Result<(), SqliteError> {
        let id = Param::id(RowId(id.0));
        match record {
            Some(record) => {
                let statement = self.control_statement(ControlStatement::ReplaceStep)?;
                self.raw.run(statement, [Param::Blob(record), id])
            }
            None => {
                let statement = self.control_statement(ControlStatement::DeleteStep)?;
                self.raw.run(statement, [id])
            }
        }
    }

    /// Visits the steps with smaller ids than `below`, from the latest one back.
    pub(crate) fn steps(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), SqliteError> {
        if !self.exists(ControlStatement::FindTable, STEPS_NAME)? {
            return Ok(());
        }
        let below = RowId(below.map_or(i64::MAX, |below| below.0));
        let statement = self.control_statement(ControlStatement::StepsBelow)?;
        self.raw.query(statement, [Param::id(below)], |columns| {
            Ok(visit(StepRow {
                id: StepId(columns.integer(0)),
                note: columns.blob(1)?.unwrap_or_default(),
                record: columns.blob(2)?.unwrap_or_default(),
            }))
        })
    }
}

pub(crate) fn steps_error(connection: &FileConnection, error: SqliteError) -> Error {
    let path = connection.path.display();
    error.into_read_error(format_args!("cannot read the history of {path}"))
}
