//! The change log, as far as a connection wrote it.

use crate::connection::commits::CommitBase;
use crate::io::WrittenRecords;

/// No program makes so many records: an id from here on was written by another program.
const ID_MAX: u64 = 1 << 62;

/// The change log, as far as a connection wrote it.
#[derive(Default)]
pub(crate) struct WrittenChangeLog {
    pub(crate) incarnation: i64,
    pub(crate) ids: RecordIds,
    /// The number of commits after the last commit that this connection wrote a record of.
    pub(crate) covered: Option<u32>,
    /// The number of records that the open transaction has written.
    pub(crate) place: u32,
    /// Whether the open transaction writes no more records.
    pub(crate) is_given_up: bool,
    /// The bytes of these records.
    pub(crate) bytes: u64,
    /// The records of the transactions that were committed since they were taken.
    pub(crate) committed: WrittenRecords,
    /// The id of the file, as far as this connection's own commits know it.
    pub(crate) file: Option<u128>,
}

impl WrittenChangeLog {
    /// Notes that the transaction on a state was committed.
    pub(super) fn note_commit(&mut self, base: Option<CommitBase>) {
        let log = base.and_then(|base| base.count().of_log());
        if let (Some(log), true) = (log, self.place > 0) {
            self.covered = Some(log.commits.wrapping_add(1));
        }
        self.committed.count += u64::from(self.place);
        self.committed.bytes += self.bytes;
        (self.place, self.bytes, self.is_given_up) = (0, 0, false);
    }

    /// Whether the open transaction has records, and none was left out.
    pub(crate) fn has_all_records(&self) -> bool {
        self.place > 0 && !self.is_given_up
    }

    /// Notes that the transaction was rolled back.
    pub(super) fn note_rollback(&mut self) {
        self.file = None;
        if self.place > 0 {
            self.covered = None;
        }
        (self.place, self.bytes, self.is_given_up) = (0, 0, false);
    }
}

/// The ids of a writer's next records.
#[derive(Clone, Copy, Default)]
pub(crate) struct RecordIds {
    pub(crate) next: u64,
    /// The number in `sqlite_sequence`, or less.
    pub(crate) reserved: u64,
}

impl RecordIds {
    /// The ids of a new table.
    pub(crate) const FIRST: Self = Self {
        next: 1,
        reserved: 0,
    };

    /// The ids after the last record of the table, or else after the number in `sqlite_sequence`.
    /// `None` if they have come to their end.
    pub(crate) fn after(last: Option<i64>, reserved: u64) -> Option<Self> {
        // Another program may have given a record an id below 1.
        let last = last.map_or(0, i64::cast_unsigned);
        let last = if last > 0 { last } else { reserved };
        let ids = Self {
            next: last + 1,
            reserved,
        };
        (last < ID_MAX && reserved < ID_MAX).then_some(ids)
    }

    /// Notes that a record has the next id.
    pub(crate) fn note(&mut self) {
        self.next += 1;
    }
}
