//! Writes change records.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::ControlFlow;

use crate::change_log::{Frame, number};
use crate::connection::commits::{CommitBase, CommitCount, short_digest};
use crate::connection::file_connection::{FileConnection, RecordIds};
use crate::ffi::{LogCount, Param, SqliteError};
use crate::layout::control::{CHANGE_LOG_TRIGGERS, ControlStatement};

impl FileConnection {
    /// Appends a record to the change log, as a part of the open write transaction.
    ///
    /// If the change log can't take it, the transaction commits without records, and other
    /// processes read again.
    ///
    /// # Errors
    /// Errors that have ended the transaction, or after which it must not be committed.
    pub(crate) fn append_record(&mut self, record: &[u8]) -> Result<(), SqliteError> {
        let log = self.commit_base().map(CommitBase::count);
        // Without a log, the state that the record stands on can't be named.
        let Some(base) = log.and_then(CommitCount::of_log) else {
            return Ok(());
        };
        if self.change_log.is_given_up {
            return Ok(());
        }
        let appended = match self.change_log.place {
            0 => self.append_first(base, record),
            _ => self.insert_record(base, record),
        };
        match appended {
            Err(error) if self.raw.is_autocommit() => Err(error),
            Err(_) => self.append_anew(base, record),
            Ok(()) => Ok(()),
        }
    }

    /// Appends the first record of a commit.
    fn append_first(&mut self, base: LogCount, record: &[u8]) -> Result<(), SqliteError> {
        let is_own = self.commit_base().is_some_and(CommitBase::follows_own);
        if !is_own || self.change_log.covered != Some(base.commits) {
            self.change_log.covered = None;
            self.change_log.incarnation = match self.continued(base)? {
                Some(incarnation) => incarnation,
                None => random_incarnation(),
            };
        }
        self.insert_record(base, record)
    }

    /// The incarnation that a record on this state continues. Creates the table if it is missing.
    fn continued(&mut self, base: LogCount) -> Result<Option<i64>, SqliteError> {
        if !self.has_change_log()? {
            return self.create_anew();
        }
        let mut last = None;
        let statement = self.control_statement(ControlStatement::RecordsBackwards)?;
        self.raw.query(statement, [], |columns| {
            last = Some(Frame::of(columns));
            Ok(ControlFlow::Break(()))
        })?;
        // Order: checked before an insertion, because one without a free id ends the transaction.
        let reserved = self.control_number(ControlStatement::ReservedRecordId)?;
        let Some(ids) = RecordIds::after(last.map(|last| last.id), reserved) else {
            return self.create_anew();
        };
        self.change_log.ids = ids;
        Ok(last
            .filter(|last| is_before(last, base))
            .map(|last| last.incarnation))
    }

    /// Makes the table anew, whose next record continues no incarnation.
    fn create_anew(&mut self) -> Result<Option<i64>, SqliteError> {
        self.control(ControlStatement::DropChangeLog)?;
        self.control(ControlStatement::CreateChangeLog)?;
        for trigger in CHANGE_LOG_TRIGGERS {
            self.raw.execute(trigger)?;
        }
        self.change_log.ids = RecordIds::FIRST;
        Ok(None)
    }

    fn insert_record(&mut self, base: LogCount, record: &[u8]) -> Result<(), SqliteError> {
        let id = self.next_record_id()?;
        let statement = self.control_statement(ControlStatement::AppendRecord)?;
        let params = [
            id,
            number(self.change_log.incarnation),
            number(base.commits),
            number(short_digest(base)),
            number(base.salt),
            number(self.change_log.place),
            Param::Blob(record),
        ];
        self.raw.run(statement, params)?;
        self.change_log.ids.note();
        self.change_log.place += 1;
        self.change_log.bytes += record.len() as u64;
        Ok(())
    }

    /// Makes the table anew, after an error that has not ended the transaction: the table is
    /// damaged, or its ids have come to their end.
    fn append_anew(&mut self, base: LogCount, record: &[u8]) -> Result<(), SqliteError> {
        let is_first = self.change_log.place == 0;
        (self.change_log.place, self.change_log.bytes) = (0, 0);
        self.change_log.covered = None;
        self.change_log.incarnation = random_incarnation();
        if !is_first {
            // The records before this one must not pass for all records of the commit.
            self.change_log.is_given_up = true;
            return self.control(ControlStatement::DropChangeLog);
        }
        let appended = self
            .create_anew()
            .and_then(|_| self.insert_record(base, record));
        match appended {
            Err(error) if self.raw.is_autocommit() => Err(error),
            Err(_) => {
                self.change_log.is_given_up = true;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Whether a record is of the commit before the state `base`.
fn is_before(last: &Frame, base: LogCount) -> bool {
    let commits = u32::try_from(last.commits).ok();
    let follows = commits.is_some_and(|commits| commits.wrapping_add(1) == base.commits);
    follows && last.is_of_log(base)
}

/// A new number of 47 bits, which SQLite stores in six bytes.
fn random_incarnation() -> i64 {
    let random = RandomState::new().build_hasher().finish();
    i64::try_from(random >> 17).unwrap_or(1).max(1)
}
