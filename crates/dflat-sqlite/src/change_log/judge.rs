//! Decides whether change records account for every commit between two states, and reads them.

use std::ops::ControlFlow;

use dflat_engine::storage::Records;

use crate::change_log::ids::id_param;
use crate::change_log::{Frame, number};
use crate::connection::commits::{LogState, short_digest};
use crate::connection::file_connection::FileConnection;
use crate::ffi::{LogCount, SqliteError};
use crate::layout::control::{CHANGE_LOG_NAME, ControlStatement};

/// The most rows that are looked at. A reader that is further behind reads again sooner.
const ROWS_MAX: u64 = 1 << 20;

/// The states between which records are to account for every commit.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) since: LogState,
    pub(crate) now: LogCount,
}

/// A state of the change log. Both numbers only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogMark {
    /// The number of changes of the file's schema.
    schema_version: u64,
    /// Every later record has a larger id. A program that deletes the last record leaves a gap.
    last_id: u64,
}

/// Gives the first count of the run of own commits to which the commit after a count belongs. Own
/// commits need no records.
pub(crate) type OwnRuns<'o> = &'o dyn Fn(u32) -> Option<u32>;

impl FileConnection {
    /// The mark of a state of the change log; `None` if another program made the table.
    ///
    /// # Errors
    /// Errors that may have ended the open transaction.
    pub(crate) fn log_mark(&mut self) -> Result<Option<LogMark>, SqliteError> {
        let schema_version = self.control_number(ControlStatement::SchemaVersion)?;
        let last_id = match self.has_change_log()? {
            true => self.control_number(ControlStatement::LastRecordId)?,
            false if self.exists(ControlStatement::FindTable, CHANGE_LOG_NAME)? => return Ok(None),
            false => 0,
        };
        Ok(Some(LogMark {
            schema_version,
            last_id,
        }))
    }

    /// Visits all records after a state of the change log up to another one, from the last one
    /// back. Returns whether every record that was ever written between the two is there and was
    /// visited, and no table was made or removed meanwhile.
    ///
    /// # Errors
    /// Errors that may have ended the open transaction.
    pub(crate) fn records_between(
        &mut self,
        (since, now): (LogMark, LogMark),
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, SqliteError> {
        let count = now.last_id.checked_sub(since.last_id);
        let (Some(count), true) = (count, since.schema_version == now.schema_version) else {
            return Ok(false);
        };
        // Records of the open transaction would be among them.
        if count > ROWS_MAX || self.change_log.place > 0 {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
        let mut visited = 0;
        let ids = [since.last_id + 1, now.last_id].map(id_param);
        let statement = self.control_statement(ControlStatement::RecordsBetween)?;
        self.raw.query(statement, ids, |columns| {
            visited += 1;
            Ok(visit(columns.blob(0)?.unwrap_or_default()))
        })?;
        Ok(visited == count)
    }

    /// Visits the records of a span from the last one back, if they account for all its commits;
    /// `None` if they don't. Called inside a transaction that sees the later state.
    ///
    /// # Errors
    /// Errors that may have ended the open transaction.
    pub(crate) fn records(
        &mut self,
        span: Span,
        own_runs: OwnRuns<'_>,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Option<Records>, SqliteError> {
        let mut judge = Judge::new(span, own_runs);
        // The rows of the open transaction come last.
        let mut skipped = self.change_log.place;
        if self.has_change_log()? {
            let statement = self.control_statement(ControlStatement::RecordsBackwards)?;
            self.raw.query(statement, [], |columns| {
                if skipped > 0 {
                    skipped -= 1;
                    return Ok(ControlFlow::Continue(()));
                }
                // The last column is whether the record is a blob.
                let is_blob = columns.integer(6) == 1;
                Ok(judge.judge(&Frame::of(columns), is_blob))
            })?;
        }
        if !judge.is_complete() {
            return Ok(None);
        }
        let (Some(first), Some(last)) = (judge.first, judge.last) else {
            return Ok(Some(Records::Complete));
        };
        let mut records = Records::Complete;
        let statement = self.control_statement(ControlStatement::RecordsBetween)?;
        self.raw
            .query(statement, [number(first), number(last)], |columns| {
                let record = columns.blob(0)?.unwrap_or_default();
                let goes_on = visit(record);
                if goes_on.is_break() {
                    records = Records::Broken;
                }
                Ok(goes_on)
            })?;
        Ok(Some(records))
    }
}

/// Judges the rows from the last one backwards.
struct Judge<'o> {
    span: Span,
    own_runs: OwnRuns<'o>,
    /// The count down to which every commit is accounted for.
    reached: u32,
    /// The row judged before, if its commit has more rows or the row before has to be of its
    /// incarnation.
    later: Option<Frame>,
    /// The ids of the first and the last row that are needed.
    first: Option<i64>,
    last: Option<i64>,
    /// Whether the digest of the earlier state was found.
    is_same_log: bool,
    rows: u64,
}

impl<'o> Judge<'o> {
    fn new(span: Span, own_runs: OwnRuns<'o>) -> Self {
        let mut judge = Self {
            span,
            own_runs,
            reached: span.now.commits,
            later: None,
            first: None,
            last: None,
            is_same_log: false,
            rows: 0,
        };
        if judge.is_at_start() {
            judge.is_same_log = span.since.digest == short_digest(span.now);
        }
        judge
    }

    fn is_at_start(&self) -> bool {
        self.reached == self.span.since.commits
    }

    /// Whether the rows and the own commits account for all commits.
    fn is_complete(&mut self) -> bool {
        // A commit is accounted for with its first row.
        let is_amid = self.later.is_some_and(|later| later.place > 0);
        if !is_amid {
            self.skip_own(None);
        }
        !is_amid && self.is_at_start() && self.is_same_log
    }

    /// Judges a row; breaks after the first row that is needed, and at a missing record.
    fn judge(&mut self, row: &Frame, is_blob: bool) -> ControlFlow<()> {
        self.rows += 1;
        if self.rows > ROWS_MAX || !is_blob {
            return ControlFlow::Break(());
        }
        let is_amid = self.later.is_some_and(|later| later.place > 0);
        if !is_amid && !self.is_at_start() {
            self.skip_own(u32::try_from(row.commits).ok());
        }
        if self.is_at_start() && !is_amid || !self.follows(row) {
            return ControlFlow::Break(());
        }
        self.later = Some(*row);
        self.first = Some(row.id);
        self.last.get_or_insert(row.id);
        if row.place > 0 {
            return ControlFlow::Continue(());
        }
        self.reached = self.reached.wrapping_sub(1);
        if self.is_at_start() {
            self.is_same_log = row.digest == i64::from(self.span.since.digest);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Goes back over own commits, down to the commit that has a row, if the next row has one.
    fn skip_own(&mut self, row: Option<u32>) {
        let before = |count: u32| count.wrapping_sub(1);
        while !self.is_at_start()
            && row != Some(before(self.reached))
            && (self.own_runs)(before(self.reached)).is_some()
        {
            self.reached = before(self.reached);
            // Own commits are of this log, whatever the rows of the change log say.
            (self.later, self.is_same_log) = (None, true);
        }
    }

    /// Whether a row is the one before the row judged before.
    fn follows(&self, row: &Frame) -> bool {
        let is_commit = row.commits == i64::from(self.reached.wrapping_sub(1));
        let is_placed = match self.later {
            Some(later) if later.place > 0 => row.place == later.place - 1,
            _ => row.place >= 0,
        };
        let is_chained = match (self.later, self.first) {
            (Some(later), _) => {
                row.incarnation == later.incarnation && later.id.checked_sub(1) == Some(row.id)
            }
            // The last row; or the row before own commits, which may have begun an incarnation.
            (None, None) if self.reached == self.span.now.commits => true,
            (None, _) => row.is_of_log(self.span.now),
        };
        is_commit && is_placed && is_chained
    }
}
