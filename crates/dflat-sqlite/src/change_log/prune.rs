//! Deletes change records.

use crate::connection::file_connection::FileConnection;
use crate::ffi::SqliteError;
use crate::layout::control::ControlStatement;

impl FileConnection {
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
