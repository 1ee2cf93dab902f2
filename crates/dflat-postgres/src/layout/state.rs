//! The committed state: how many commits there were, and whose.

use dflat_engine::storage::StateId;
use dflat_engine::{Error, ErrorKind, Result};
use tokio_postgres::Row;

use super::control::is_known_format;
use crate::lineage::Record;

/// The bits of a state's name that have the number of its last record: a thousand commits a second
/// fill them in 8,900 years.
const LAST_BITS: u32 = 48;

/// The row of the library's own table `dflat__control`, as a transaction sees it. Each commit
/// appends at least one record, so the number of the last record names the state, among the servers
/// of one [generation](crate::lineage::Lineage).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// The generation of the server.
    pub(crate) generation: u16,
    /// The number of the last record.
    pub(crate) last: i64,
    /// The connection that made the last commit.
    pub(crate) engine: i64,
    /// The number of the last record of another connection than that.
    pub(crate) before: i64,
    /// All records up to this number were deleted.
    pub(crate) pruned: i64,
    /// The bytes of the records that are left.
    pub(crate) log_bytes: i64,
    /// The server's number of the table that has the row; 0 if it is not known.
    pub(crate) table: u32,
}

impl State {
    /// The number of columns that have a state.
    pub(crate) const COLUMNS: usize = 7;

    /// The state of a server without the library's own tables.
    pub(crate) fn empty(generation: u16) -> Self {
        Self {
            generation,
            ..Self::default()
        }
    }

    /// The state in the row that the statement for it has read, from a column on.
    pub(crate) fn read(row: &Row, first: usize, generation: u16) -> Result<Self> {
        let number = |position: usize| row.try_get::<_, i64>(first + position);
        let read = || -> std::result::Result<_, tokio_postgres::Error> {
            let state = Self {
                generation,
                last: number(0)?,
                engine: number(1)?,
                before: number(2)?,
                pruned: number(3)?,
                log_bytes: number(4)?,
                table: row.try_get(first + 6)?,
            };
            Ok((state, row.try_get::<_, i32>(first + 5)?))
        };
        let (state, format) = read().map_err(|error| {
            let message = "cannot read the state of the database";
            Error::with_source(ErrorKind::Corrupt, message, error)
        })?;
        if !is_known_format(format) {
            let message = format!(
                "cannot use the database: its tables have the format {format}, which this version \
                 of the library does not know"
            );
            return Err(Error::new(ErrorKind::NewerSchema, message));
        }
        Ok(state)
    }

    /// The name of the state.
    pub(crate) fn id(&self) -> StateId {
        let last = u64::try_from(self.last).unwrap_or(0);
        StateId(u64::from(self.generation) << LAST_BITS | last)
    }

    /// The number of the last record of another state; `None` if that was the state of a server
    /// which need not have the commits of this one.
    pub(crate) fn last_of(&self, other: StateId) -> Option<i64> {
        let is_same = other.0 >> LAST_BITS == u64::from(self.generation);
        let last = i64::try_from(other.0 & ((1 << LAST_BITS) - 1)).ok();
        last.filter(|_| is_same && other != StateId::UNKNOWN)
    }

    /// The number of the last record of a connection that is not of this engine.
    pub(crate) fn last_of_others(&self, is_own: impl FnOnce(i64) -> bool) -> i64 {
        if is_own(self.engine) {
            self.before
        } else {
            self.last
        }
    }

    /// The last record.
    pub(crate) const fn record(&self) -> Record {
        Record {
            generation: self.generation,
            id: self.last,
            engine: self.engine,
            table: self.table,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_another_generation_has_no_number_here() {
        let state = |generation: u16, last: i64| State {
            last,
            ..State::empty(generation)
        };
        let here = state(3, 7);
        for last in [0, 1, 7, 8, (1 << LAST_BITS) - 1] {
            assert_eq!(here.last_of(state(3, last).id()), Some(last));
            assert_eq!(here.last_of(state(2, last).id()), None);
            assert_eq!(here.last_of(state(4, last).id()), None);
        }
        assert_eq!(state(u16::MAX, 7).last_of(StateId::UNKNOWN), None);
        assert_eq!(state(0, 7).id(), StateId(7));
    }
}
