//! The ids of change records.
//!
//! SQLite keeps the largest id that an `AUTOINCREMENT` table ever had in `sqlite_sequence`, and
//! gives a new row a larger one. If that number were raised with each record, each commit would
//! write another page. So a writer raises the number for many records at once, and gives each
//! record the id after that of the record before. If an id is larger than the number, SQLite raises
//! the number.

use std::ops::ControlFlow;

use crate::change_log::number;
use crate::connection::file_connection::{FileConnection, RecordIds};
use crate::ffi::{Param, SqliteError};
use crate::layout::control::{CHANGE_LOG, CHANGE_LOG_TRIGGERS, ControlStatement};

/// The number of ids by which the number in `sqlite_sequence` is raised at once.
const RESERVED: u64 = 1024;

impl FileConnection {
    /// Whether the file has the table as this library makes it, with its triggers. Another program
    /// may have made a view or a virtual table of its name, whose rows need not end.
    pub(super) fn has_change_log(&mut self) -> Result<bool, SqliteError> {
        let statement = self.control_statement(ControlStatement::FindChangeLog)?;
        let [deleted, moved] = CHANGE_LOG_TRIGGERS;
        let definitions = [CHANGE_LOG, deleted, moved];
        let texts = definitions.map(|text| Param::Value(dflat_model::ValueRef::Text(text)));
        let mut found = 0;
        self.raw.query(statement, texts, |columns| {
            found = columns.integer(0);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(usize::try_from(found) == Ok(definitions.len()))
    }

    /// The id of the next record, as a part of the open write transaction.
    pub(super) fn next_record_id(&mut self) -> Result<Param<'static>, SqliteError> {
        let RecordIds { next, reserved } = self.change_log.ids;
        if next > reserved {
            let reserved = next + (RESERVED - 1);
            let statement = self.control_statement(ControlStatement::RaiseRecordIds)?;
            self.raw.run(statement, [id_param(reserved)])?;
            if self.raw.changes_count() == 0 {
                let statement = self.control_statement(ControlStatement::BeginRecordIds)?;
                self.raw.run(statement, [id_param(reserved)])?;
            }
            self.change_log.ids.reserved = reserved;
        }
        Ok(id_param(next))
    }
}

/// An id as a parameter of a statement.
pub(super) fn id_param(id: u64) -> Param<'static> {
    number(i64::try_from(id).unwrap_or(i64::MAX))
}
