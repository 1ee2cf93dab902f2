//! The committed state: how many commits there were, and whose.

use dflat_engine::storage::StateId;
use dflat_engine::{Error, ErrorKind, Result};
use tokio_postgres::Row;

use super::control::is_known_format;

/// The row of the library's own table `dflat__control`, as a transaction sees it. Each commit
/// appends at least one record, so the number of the last record names the state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// The number of the last record.
    pub(crate) last: i64,
    /// The engine that made the last commit.
    engine: i64,
    /// The number of the last record of another engine than that.
    before: i64,
    /// All records up to this number were deleted.
    pub(crate) pruned: i64,
    /// The bytes of the records that are left.
    pub(crate) log_bytes: i64,
}

impl State {
    /// The state in the row that the statement for it has read, from a column on.
    pub(crate) fn read(row: &Row, first: usize) -> Result<Self> {
        let number = |position: usize| row.try_get::<_, i64>(first + position);
        let read = || -> std::result::Result<_, tokio_postgres::Error> {
            let state = Self {
                last: number(0)?,
                engine: number(1)?,
                before: number(2)?,
                pruned: number(3)?,
                log_bytes: number(4)?,
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
        StateId(u64::try_from(self.last).unwrap_or(0))
    }

    /// The number of the last record of another engine than this one.
    pub(crate) const fn last_of_others(&self, engine: i64) -> i64 {
        if self.engine == engine {
            self.before
        } else {
            self.last
        }
    }
}
