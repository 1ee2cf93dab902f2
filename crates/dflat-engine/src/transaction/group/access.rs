//! The parts of the open commit group that the writing transaction uses to write.

use super::super::newest::NewestSchemas;
use super::super::row::{IndexCoverage, Prepared};
use super::super::write_set::WriteSet;
use super::member::WritingMember;
use super::open::OpenGroup;
use super::used_row_ids::UsedRowIds;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{ObjectArenas, Origin};
use crate::storage::WriteTransaction;

/// The parts of the open commit group that the writing transaction uses to write.
pub(in super::super) struct WriteAccess<'o> {
    pub(in super::super) writer: &'o mut dyn WriteTransaction,
    pub(in super::super) prepared: &'o mut Vec<Prepared>,
    /// How far the indexes of the written table are built.
    pub(in super::super) coverage: IndexCoverage,
    pub(in super::super) changes: &'o mut WriteSet,
    /// Whether storage may have been created, or a schema stored, for the transaction.
    pub(in super::super) has_created: &'o mut bool,
    /// Whether more is written than the changes, which cannot be written again.
    pub(in super::super) has_more: &'o mut bool,
    pub(in super::super) used_row_ids: &'o UsedRowIds,
    pub(in super::super) schemas: &'o mut NewestSchemas,
    pub(in super::super) arenas: &'o mut ObjectArenas,
    /// The origin of objects that are not committed yet.
    pub(in super::super) origin: Origin,
}

impl OpenGroup {
    /// The changes of the writing transaction so far.
    #[inline]
    pub(in super::super) fn changes(&self) -> Result<&WriteSet> {
        match &self.writing {
            Some(writing) => writing.lost.clone().map_or(Ok(&writing.changes), Err),
            None => Err(no_transaction()),
        }
    }

    /// The parts of the open commit group that the writing transaction uses to write.
    #[inline]
    pub(in super::super) fn write_access(&mut self) -> Result<WriteAccess<'_>> {
        match (&mut self.writing, &mut self.writer) {
            (Some(WritingMember { lost: Some(e), .. }), _) => Err(e.clone()),
            (Some(writing), Some(writer)) => Ok(WriteAccess {
                writer: writer.as_mut(),
                prepared: &mut self.prepared,
                coverage: IndexCoverage::default(),
                changes: &mut writing.changes,
                has_created: &mut writing.has_created,
                has_more: &mut writing.has_more,
                used_row_ids: &self.used_row_ids,
                schemas: &mut self.schemas,
                arenas: &mut self.arenas,
                origin: self.origin,
            }),
            _ => Err(no_transaction()),
        }
    }
}

fn no_transaction() -> Error {
    Error::new(ErrorKind::Backend, "cannot write: no transaction is open")
}
