//! The change log: a table with a record of each commit, so that another process can learn what was
//! changed without reading everything again.
//!
//! `append` writes the records of a commit immediately before the commit, and `judge` decides
//! whether the records of the table account for every commit between two states. `prune` deletes
//! records. `ids` gives records their ids, and `file_id` keeps the id of the file.
//!
//! The rows of one incarnation have consecutive ids, and account for consecutive commits: a writer
//! that cannot be sure that its base state is the state after the last record begins a new
//! incarnation. It is sure if it wrote that record itself and nobody has committed since; or if the
//! last record has the count before its own, and was counted by the same log.

mod append;
mod file_id;
mod ids;
mod judge;
mod prune;

pub(crate) use judge::{LogMark, Span};
pub(crate) use prune::{AgeLimit, ToPrune};

use dflat_model::ValueRef;

use crate::ffi::{Columns, LogCount, Param};

/// How often a log may have begun anew since a record, so that it still counts as the same log.
/// Another log begins with a random salt, which is as near in one of a million cases.
const RESETS_MAX: u32 = 1 << 12;

/// The columns of a row without its record.
#[derive(Clone, Copy, Debug)]
struct Frame {
    id: i64,
    incarnation: i64,
    commits: i64,
    digest: i64,
    salt: i64,
    place: i64,
}

impl Frame {
    /// The columns as the statements of this room select them.
    fn of(columns: Columns<'_>) -> Self {
        let [id, incarnation, commits, digest, salt, place] =
            [0, 1, 2, 3, 4, 5].map(|column| columns.integer(column));
        Self {
            id,
            incarnation,
            commits,
            digest,
            salt,
            place,
        }
    }

    /// Whether the log of a state counted the commit of this record, and not an earlier log.
    fn is_of_log(&self, state: LogCount) -> bool {
        // The first commit of a log has no salt yet, so any log may have counted it.
        match u32::try_from(self.salt) {
            Ok(salt) if salt != 0 => state.salt.wrapping_sub(salt) < RESETS_MAX,
            _ => false,
        }
    }
}

fn number<'p>(number: impl Into<i64>) -> Param<'p> {
    Param::Value(ValueRef::Int(number.into()))
}
