//! Deletes change records.

use dflat_model::record::empty_record;

use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;
use crate::layout::control::ControlStatement;

impl FileConnection {
    /// The bytes of all change records; 0 if there are none. Reads the whole change log.
    pub(crate) fn change_log_bytes(&mut self) -> Result<u64, SqliteError> {
        if !self.has_change_log()? {
            return Ok(0);
        }
        self.control_number(ControlStatement::ChangeLogBytes)
    }

    /// Deletes the first change records, at most 1,024, in a write transaction of its own. If the
    /// file is followed, the commit has a change record without changes. Returns whether there was
    /// a record to delete.
    pub(crate) fn prune_change_log(&mut self, is_followed: bool) -> Result<bool, SqliteError> {
        self.begin_write()?;
        let mut has_deleted = false;
        if self.has_change_log()? {
            self.control(ControlStatement::DeleteFirstRecords)?;
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
