//! The members of a commit group.

use std::ops::ControlFlow;

use dflat_model::Table;
use dflat_model::record::ChangeRecord;

use super::super::recording::Note;
use super::super::replay::overtaken;
use super::super::tables::Tables;
use super::super::write_set::WriteSet;
use crate::change_set::Completion;
use crate::error::{Error, Result};
use crate::storage::{Durability, Records, StateId, WriteTransaction};

/// A finished transaction that waits for its commit.
pub(super) struct Member {
    /// The tables that the transaction declared and may have read.
    pub(super) tables: Tables,
    pub(super) changes: WriteSet,
    pub(super) note: Note,
    /// The committed state of its first read. All its reads show this state and later commits of
    /// this engine.
    pub(super) basis: Option<StateId>,
    pub(super) durability: Durability,
    /// Whether it can't be written again, because not all of its writes are in `changes`.
    pub(super) is_once: bool,
    /// Its own error, reported once the changes that it may have seen are committed.
    pub(super) failed: Option<Error>,
    pub(super) completion: Completion,
}

/// The member that has the write access, with its changes so far.
pub(super) struct WritingMember {
    pub(super) tables: Tables,
    pub(super) changes: WriteSet,
    /// As the basis of a [`Member`]; `None` until this member has read or written.
    pub(super) basis: Option<StateId>,
    pub(super) durability: Durability,
    /// Whether it may have created storage or stored a schema, in the backend's open transaction.
    pub(super) has_created: bool,
    /// Its writes were undone, and must be written again before it goes on. While this is true, no
    /// transaction of the backend is open.
    pub(super) must_be_replayed: bool,
    /// Whether it has written more than its changes, which cannot be written again.
    pub(super) has_more: bool,
    /// The error because of which its writes are lost.
    pub(super) lost: Option<Error>,
}

impl WritingMember {
    /// A member that has written nothing.
    pub(super) fn new(tables: &Tables, basis: Option<StateId>, durability: Durability) -> Self {
        Self {
            tables: tables.clone(),
            changes: WriteSet::default(),
            basis,
            durability,
            has_created: false,
            must_be_replayed: false,
            has_more: false,
            lost: None,
        }
    }

    /// Uses a transaction of the backend for this member, unless another program has committed
    /// since the member's first read.
    pub(super) fn set_base(&mut self, writer: &mut dyn WriteTransaction) -> Result<()> {
        let basis = *self.basis.get_or_insert_with(|| writer.base().id);
        check_basis(writer, Some(basis), &self.tables)
    }
}

/// Fails if another program has committed between the state `basis` and the base state of a
/// transaction of the backend, except for upkeep.
pub(super) fn check_basis(
    writer: &mut dyn WriteTransaction,
    basis: Option<StateId>,
    tables: &[Table],
) -> Result<()> {
    match basis {
        Some(basis) if writer.is_overtaken(basis) && !is_upkeep_alone(writer, basis) => {
            Err(overtaken(tables))
        }
        _ => Ok(()),
    }
}

/// Whether all commits since the state `basis` have change records without changes to objects.
fn is_upkeep_alone(writer: &mut dyn WriteTransaction, basis: StateId) -> bool {
    let read = writer.records(basis, &mut |record| match ChangeRecord::decode(record) {
        Ok(record) if record.changes_nothing() => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    // An error is reported by the next read.
    matches!(read, Ok(Records::Complete))
}
