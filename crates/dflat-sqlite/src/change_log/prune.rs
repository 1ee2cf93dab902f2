//! Deletes change records.

use std::ops::ControlFlow;

use dflat_model::record::{ChangeRecord, empty_record};

use crate::change_log::number;
use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;
use crate::layout::control::ControlStatement;

/// The change records to delete.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ToPrune {
    /// The first ones.
    First,
    /// Those of the first ones that are too old.
    Old(AgeLimit),
}

/// The age from which change records are too old. The times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgeLimit {
    /// Records from before this time are too old.
    pub(crate) before: u64,
    /// The present time.
    pub(crate) now: u64,
}

/// How old the first change records are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FirstRecords {
    /// The id up to which all of them are too old.
    pub(crate) old: Option<i64>,
    /// When the record after these was written.
    pub(crate) next: Option<u64>,
}

impl FileConnection {
    /// The bytes of all change records; 0 if there are none. Reads the whole change log.
    pub(crate) fn change_log_bytes(&mut self) -> Result<u64, SqliteError> {
        if !self.has_change_log()? {
            return Ok(0);
        }
        self.control_number(ControlStatement::ChangeLogBytes)
    }

    /// How old the first change records are, at most 1,024.
    pub(crate) fn first_records(&mut self, limit: AgeLimit) -> Result<FirstRecords, SqliteError> {
        let mut first = FirstRecords::default();
        if !self.has_change_log()? {
            return Ok(first);
        }
        let statement = self.control_statement(ControlStatement::FirstRecords)?;
        self.raw.query(statement, [], |columns| {
            let record = columns.blob(1)?.unwrap_or_default();
            let time = ChangeRecord::decode(record).map_or(0, |record| record.head.time);
            // A record of upkeep and a damaged one have no time. They are as old as the record
            // after them, and so is a record that was written before the clock was set back.
            if time == 0 || time > limit.now {
                return Ok(ControlFlow::Continue(()));
            }
            if time >= limit.before {
                first.next = Some(time);
                return Ok(ControlFlow::Break(()));
            }
            first.old = Some(columns.integer(0));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(first)
    }

    /// Deletes change records, at most 1,024, in a write transaction of its own. If the file is
    /// followed, the commit has a change record without changes. Returns whether there was a record
    /// to delete.
    pub(crate) fn prune_change_log(
        &mut self,
        records: ToPrune,
        is_followed: bool,
    ) -> Result<bool, SqliteError> {
        self.begin_write()?;
        let mut has_deleted = false;
        if self.has_change_log()? {
            match records {
                ToPrune::First => self.control(ControlStatement::DeleteFirstRecords)?,
                ToPrune::Old(limit) => {
                    // Order: inside the transaction, before which the table may be made anew.
                    let old = self.first_records(limit)?.old.unwrap_or(0);
                    let statement = self.control_statement(ControlStatement::DeleteRecordsUpTo)?;
                    self.raw.run(statement, [number(old)])?;
                }
            }
            has_deleted = self.raw.changes_count() > 0;
        }
        if is_followed && has_deleted {
            self.append_record(&empty_record())?;
        }
        self.end_write()?;
        Ok(has_deleted)
    }

    /// Deletes all change records, read or unread, as a part of the open write transaction. Their
    /// ids are not used again.
    pub(crate) fn empty_change_log(&mut self) -> Result<(), SqliteError> {
        // The next record must not continue an incarnation without records.
        self.change_log.covered = None;
        if self.has_change_log()? {
            return self.control(ControlStatement::EmptyChangeLog);
        }
        // A table of another definition is made anew by the next record; a view has no rows.
        let _ = self.control(ControlStatement::DropChangeLog);
        Ok(())
    }
}
