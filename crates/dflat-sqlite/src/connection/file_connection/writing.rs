//! The write transactions of a connection.

use dflat_engine::storage::Durability;

use super::{FileConnection, TableId};
use crate::connection::commits::CommitBase;
use crate::ffi::{Connection, SqliteError};
use crate::io::Space;
use crate::layout::control::ControlStatement;

/// Each commit after a deletion reads the number of unused pages. Of the other commits, one in this
/// many reads it, because updates may leave unused pages too.
const LOOK_EVERY: u64 = 64;

impl FileConnection {
    /// Sets the durability of later commits; called between transactions.
    pub(crate) fn set_durability(&mut self, durability: Durability) -> Result<(), SqliteError> {
        if self.durability == Some(durability) {
            return Ok(());
        }
        self.durability = None;
        let (synchronous, full) = match durability {
            Durability::Normal => ("NORMAL", "OFF"),
            Durability::Full => ("FULL", "ON"),
        };
        self.raw
            .execute(&format!("PRAGMA synchronous = {synchronous}"))?;
        self.raw.execute(&format!("PRAGMA fullfsync = {full}"))?;
        self.durability = Some(durability);
        Ok(())
    }

    /// Starts a write transaction. Until its end no other connection writes.
    pub(crate) fn begin_write(&mut self) -> Result<(), SqliteError> {
        self.control(ControlStatement::BeginImmediate)?;
        self.is_writing = true;
        self.created_now.clear();
        self.commit_base = None;
        if let Some(commits) = self.commits.clone() {
            if !std::mem::replace(&mut self.is_known, true)
                && let Some(file) = self.file_under_empty_log()
            {
                commits.note_empty_log(file);
            }
            self.commit_base = match self.count() {
                Some(count) => Some(commits.note_begin(count)),
                None => {
                    commits.note_doubt();
                    None
                }
            };
            self.raw.take_pages_written();
        }
        if !self.commit_base.is_some_and(CommitBase::follows_own) {
            // A foreign commit may have dropped tables.
            self.forget_created();
        }
        Ok(())
    }

    /// Runs a statement that commits by itself, so that it is not taken for a foreign commit.
    pub(crate) fn commit_alone(
        &mut self,
        run: impl FnOnce(&mut Connection) -> Result<(), SqliteError>,
    ) -> Result<(), SqliteError> {
        self.begin_write()?;
        let commit_base = self.commit_base;
        self.end_write()?;
        self.raw.take_pages_written();
        let commits = self.commits.clone();
        commits.iter().for_each(|commits| commits.note_alone());
        let run = run(&mut self.raw);
        if let (Ok(()), Some(commits), Some(commit_base)) = (&run, &commits, commit_base)
            && self.raw.take_pages_written() > 0
        {
            commits.note_commit(commit_base, self.log_count());
        }
        commits.iter().for_each(|commits| commits.note_end());
        run
    }

    /// Reads how many pages the file has, and how many of them are unused.
    pub(crate) fn look_at_space(&mut self) -> Result<Space, SqliteError> {
        let space = Space {
            pages: self.control_number(ControlStatement::Pages)?,
            free_pages: self.control_number(ControlStatement::FreePages)?,
        };
        if let Some(monitor) = &self.monitor {
            monitor.note_space(space);
        }
        Ok(space)
    }

    /// The unused space, if it was read since the last call.
    pub(crate) fn take_space(&mut self) -> Option<Space> {
        self.space.take()
    }

    /// Commits, or else rolls back.
    pub(crate) fn commit_write(&mut self) -> Result<(), SqliteError> {
        // Order: read inside the transaction, where this takes no lock and reads no page.
        if self.has_deleted || self.commits_count.is_multiple_of(LOOK_EVERY) {
            // An error is ignored: if it matters, the commit fails too.
            self.space = self.look_at_space().ok();
        }
        self.has_deleted = false;
        self.commits_count += 1;
        self.end_write()
    }

    /// As [`Self::commit_write`], without reading the unused space.
    pub(crate) fn end_write(&mut self) -> Result<(), SqliteError> {
        let committed = self.control(ControlStatement::Commit);
        if committed.is_ok() {
            self.change_log.note_commit(self.commit_base);
        }
        if committed.is_err() {
            self.rollback_write();
        } else if let (Some(commits), Some(commit_base)) = (&self.commits, self.commit_base.take())
            && self.raw.take_pages_written() > 0
        {
            commits.note_commit(commit_base, self.log_count());
            self.log_extent = self.log_extent();
        }
        self.is_writing = false;
        self.commits.iter().for_each(|commits| commits.note_end());
        committed
    }

    /// Rolls back, unless SQLite has done so. Returns whether the connection can be used again.
    pub(crate) fn rollback_write(&mut self) -> bool {
        // After an error, SQLite may have rolled back already.
        let is_open = !self.raw.is_autocommit();
        let changed = self.control_number(ControlStatement::SchemaVersion).ok();
        self.is_writing = false;
        self.change_log.note_rollback();
        self.commits.iter().for_each(|commits| commits.note_end());
        let has_ended = self.end();
        let restored = self.control_number(ControlStatement::SchemaVersion).ok();
        if is_open && has_ended && changed.is_some() && changed == restored {
            self.forget_checks();
        } else {
            self.forget_created();
        }
        has_ended
    }

    /// Notes that the open write transaction has created a table and its index tables, as far as
    /// they were missing.
    pub(crate) fn note_created(&mut self, TableId(position): TableId, unenforced: Vec<usize>) {
        let held = &mut self.tables[position];
        (held.created, held.lacks_foreign) = (true, false);
        held.unenforced = unenforced;
        self.created_now.push(TableId(position));
    }

    /// Forgets the effects of an undone transaction that left the definitions of all tables as they
    /// were. It may have emptied index tables whose content could not be trusted, and unmarked
    /// foreign rows.
    fn forget_checks(&mut self) {
        for TableId(position) in std::mem::take(&mut self.created_now) {
            self.tables[position].created = false;
        }
        for held in &mut self.tables {
            held.lacks_foreign = false;
        }
    }
}
