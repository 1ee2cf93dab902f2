//! The receivers of the records of a transaction.

use dflat_model::Table;

use super::super::newest::NewestSchemas;
use super::super::recording::{Note, Recording};
use crate::error::Result;
use crate::history::KeepHistory;
use crate::storage::WriteTransaction;

/// The receiver of a record.
#[derive(Clone, Copy)]
pub(super) enum Target<'h> {
    /// The change log.
    Log,
    /// The history. Of a table that is not versioned its records have the name alone.
    History(&'h dyn KeepHistory, &'h NewestSchemas),
}

impl Target<'_> {
    pub(super) fn takes_rows(self, table: &Table) -> bool {
        match self {
            Self::Log => true,
            Self::History(_, schemas) => schemas.is_versioned(table),
        }
    }

    /// Whether the states before changes are left out.
    pub(super) fn keys_only(self, recording: &Recording) -> bool {
        matches!(self, Self::Log) && recording.keys_only
    }

    pub(super) fn append(
        self,
        writer: &mut dyn WriteTransaction,
        note: &Note,
        record: &[u8],
    ) -> Result<()> {
        match self {
            Self::Log => writer.append_record(record),
            Self::History(history, _) => history.append(writer, note.history.as_deref(), record),
        }
    }
}
