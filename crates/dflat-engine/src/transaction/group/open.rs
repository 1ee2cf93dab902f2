//! The open group: its members, who writes, and what became of the groups before.

use std::time::Instant;

use dflat_model::{RowId, Table};

use super::super::newest::NewestSchemas;
use super::super::replay::{overtaken, replay};
use super::super::row::{IndexCoverage, Prepared};
use super::super::tables::Tables;
use super::super::write_set::{Mark, WriteSet};
use super::recent::RecentChanges;
use crate::change_set::{Completion, RowRange};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Object, ObjectArenas, Origin};
use crate::storage::{Durability, StateId, WriteTransaction};
use crate::sync::{Arc, Mutex, PoisonError};

/// From how many changed rows on a transaction goes on alone: to undo these and write them again
/// costs less than a commit that all wait for.
const ROWS_TOGETHER: usize = 64;

/// From how many listed rows on a transaction that is alone in its commit keeps ranges of the rows
/// that it has inserted: 256 of 100 bytes take some 40 KiB.
const LISTED_MAX: usize = 256;

/// The open group.
#[derive(Default)]
pub(in super::super) struct Open {
    pub(super) writer: Option<Box<dyn WriteTransaction>>,
    /// What the commit of `writer` will survive.
    pub(super) durability: Durability,
    /// Tables that `writer` has prepared for writing.
    pub(super) prepared: Vec<Prepared>,
    pub(super) members: Vec<Member>,
    /// How many rows they have changed.
    pub(super) rows: usize,
    /// The tables that members have changed.
    dirty: Vec<Table>,
    /// The member that writes.
    pub(super) writing: Option<WritingMember>,
    /// Transactions that wait for the write access.
    pub(super) waiting: usize,
    /// Counts the backend's transactions, so that a reader notices when one has ended.
    generation: u64,
    group_outcome: GroupOutcome,
    /// When the first member finished, and the latest.
    pub(super) first: Option<Instant>,
    pub(super) latest: Option<Instant>,
    used_row_ids: UsedRowIds,
    pub(super) recent: RecentChanges,
    pub(super) schemas: NewestSchemas,
    /// Make the objects that are written.
    arenas: ObjectArenas,
    /// The origin of what is written: this engine, and no commit.
    origin: Origin,
    /// Something was passed on to be delivered, and nobody was asked to see to it.
    pub(super) undelivered: bool,
    /// The group is watched, so that its members need not wait for long.
    pub(super) watched: bool,
}

/// The largest row ids, by table, of objects that were inserted and never committed. A handler may
/// have let such objects out, so that no other object may get their identity.
#[derive(Default)]
pub(in super::super) struct UsedRowIds(Vec<(String, RowId)>);

impl UsedRowIds {
    /// Notes the objects that these changes inserted.
    fn note_used(&mut self, changes: &WriteSet) {
        for (table, row_id) in changes.largest_inserted() {
            match self.0.iter_mut().find(|(name, _)| *name == table.name) {
                Some((_, largest)) => *largest = row_id.max(*largest),
                None => self.0.push((table.name.to_string(), row_id)),
            }
        }
    }

    /// The row id to use instead of one that another object had.
    pub(in super::super) fn instead_of(&self, table: &Table, row_id: RowId) -> Option<RowId> {
        let (_, largest) = self.0.iter().find(|(name, _)| *name == table.name)?;
        (*largest >= row_id).then_some(RowId(largest.0 + 1))
    }
}

/// What was not committed of a group: what was read of it never happened. Who reads from an open
/// group keeps its outcome.
#[derive(Clone, Default)]
pub(in super::super) struct GroupOutcome {
    failed: Arc<Mutex<Vec<(String, Error)>>>,
}

impl GroupOutcome {
    /// Notes that changes to these tables were not committed.
    pub(super) fn fail<'t>(&self, tables: impl Iterator<Item = &'t Table>, error: &Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.extend(tables.map(|table| (table.name.to_string(), error.clone())));
    }

    /// Whether both are of the same group.
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.failed, &other.failed)
    }

    /// Why changes to one of these tables were not committed.
    pub(super) fn failure(&self, tables: &[Table]) -> Option<Error> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failed
            .iter()
            .find(|(name, _)| tables.iter().any(|table| table.name == *name));
        found.map(|(_, error)| error.clone())
    }
}

/// A finished transaction that waits for its commit.
pub(super) struct Member {
    /// What it may have read, and what it has changed.
    pub(super) tables: Tables,
    pub(super) changes: WriteSet,
    /// The state on which all that it has read stands, with what this engine has committed since.
    pub(super) basis: Option<StateId>,
    pub(super) durability: Durability,
    /// Its own error, told when what it may have seen is committed.
    pub(super) failed: Option<Error>,
    pub(super) completion: Completion,
}

/// What the member that writes has done so far.
pub(super) struct WritingMember {
    pub(super) tables: Tables,
    pub(super) changes: WriteSet,
    /// As that of a [`Member`]; `None` until it has read or written.
    pub(super) basis: Option<StateId>,
    pub(super) durability: Durability,
    /// How many tables were prepared before it.
    pub(super) prepared: usize,
    /// What it wrote was undone, and is to be written again before it goes on. No transaction of
    /// the backend is open then.
    pub(super) must_be_replayed: bool,
    /// What it wrote is lost, for this reason.
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
            prepared: 0,
            must_be_replayed: false,
            lost: None,
        }
    }

    /// Takes up a transaction of the backend, unless somebody else has committed since this
    /// member's first read.
    pub(super) fn stand_on(&mut self, writer: &dyn WriteTransaction) -> Result<()> {
        let basis = *self.basis.get_or_insert_with(|| writer.base().id);
        check_basis(writer, Some(basis), &self.tables)
    }
}

/// Refuses a transaction of the backend if somebody else has committed since a state.
pub(super) fn check_basis(
    writer: &dyn WriteTransaction,
    basis: Option<StateId>,
    tables: &[Table],
) -> Result<()> {
    match basis {
        Some(basis) if writer.is_overtaken(basis) => Err(overtaken(tables)),
        _ => Ok(()),
    }
}

/// What a transaction has become too large for.
pub(in super::super) enum Outgrown {
    /// To keep finished members waiting.
    Group,
    /// To list all that it inserts.
    List,
}

/// Where a transaction's reads come from.
pub(in super::super) enum BaseState {
    /// What is committed: no member has changed its tables.
    Committed,
    /// The open group of this generation, which may fail, and which stands on this state.
    Group(u64, GroupOutcome, StateId),
}

impl Open {
    /// A group of an engine, without members.
    pub(super) fn new(engine: u64) -> Self {
        let origin = Origin {
            engine,
            ..Origin::default()
        };
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Takes the group out, to be committed or written again.
    pub(super) fn end(&mut self) -> (Option<Box<dyn WriteTransaction>>, Vec<Member>, GroupOutcome) {
        self.dirty.clear();
        self.arenas.clear();
        self.rows = 0;
        self.prepared.clear();
        self.schemas.trim();
        self.generation += 1;
        (self.first, self.latest) = (None, None);
        let members = std::mem::take(&mut self.members);
        (
            self.writer.take(),
            members,
            std::mem::take(&mut self.group_outcome),
        )
    }

    pub(super) fn join(&mut self, member: Member) {
        for table in member.changes.tables() {
            if !self.dirty.iter().any(|dirty| dirty.is_stored_as(table)) {
                self.dirty.push(table.clone());
            }
        }
        self.rows += member.changes.len();
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.latest = Some(now);
        self.members.push(member);
    }

    /// Notes that these changes will never be committed.
    pub(super) fn note_used(&mut self, changes: &WriteSet) {
        self.used_row_ids.note_used(changes);
    }

    pub(super) fn group_outcome(&self) -> GroupOutcome {
        self.group_outcome.clone()
    }

    /// Why changes to one of these tables were not committed that a transaction has seen.
    pub(super) fn failure(&self, seen: Option<&GroupOutcome>, tables: &[Table]) -> Option<Error> {
        // Most see those of the open group, which has not failed.
        let ended = seen.filter(|seen| !seen.is_same(&self.group_outcome));
        ended.and_then(|seen| seen.failure(tables))
    }

    /// Notes what a transaction has seen from here on.
    pub(super) fn follow(&self, tables: &[Table], seen: &mut Option<GroupOutcome>) {
        if self.writer.is_some()
            && self.is_dirty(tables)
            && !seen
                .as_ref()
                .is_some_and(|seen| seen.is_same(&self.group_outcome))
        {
            *seen = Some(self.group_outcome());
        }
    }

    /// Whether a member has changed one of these tables.
    pub(super) fn is_dirty(&self, tables: &[Table]) -> bool {
        tables
            .iter()
            .any(|table| self.dirty.iter().any(|dirty| dirty.is_stored_as(table)))
    }

    /// Where a transaction over these tables has to read.
    pub(in super::super) fn base_state(&self, tables: &[Table]) -> BaseState {
        match &self.writer {
            Some(writer) if self.is_dirty(tables) => BaseState::Group(
                self.generation,
                self.group_outcome.clone(),
                writer.base().id,
            ),
            _ => BaseState::Committed,
        }
    }

    /// Counts the backend's transactions.
    pub(in super::super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether an object that was read outside of the group is still what is stored, as far as the
    /// group's transaction, if one of this generation is open, can tell.
    pub(in super::super) fn is_current(
        &self,
        generation: u64,
        table: &Table,
        object: &Object,
    ) -> bool {
        // While the backend's transaction is open, nobody else writes.
        let open = self.generation == generation && self.writer.is_some();
        let (row_id, seq) = (object.row_id(), object.origin().seq);
        open && self.recent.is_unchanged(table, row_id, seq)
    }

    /// The backend's transaction of a generation, if it is still open.
    pub(in super::super) fn reader(
        &mut self,
        generation: u64,
    ) -> Option<&mut dyn WriteTransaction> {
        let current = self.generation == generation;
        self.writer
            .as_mut()
            .filter(|_| current)
            .map(|writer| writer.as_mut() as _)
    }

    /// What the commit of the writing transaction is to survive.
    pub(super) fn asked(&self) -> Durability {
        self.writing
            .as_ref()
            .map_or(self.durability, |writing| writing.durability)
    }

    /// Whether what is open would survive less than a transaction asks for.
    pub(super) fn is_weaker(&self, asked: Durability) -> bool {
        self.writer.is_some() && self.durability < asked
    }

    /// Whether what the writing transaction wrote has to be written again before it goes on.
    pub(super) fn must_be_replayed(&self) -> bool {
        let writing = self.writing.as_ref();
        writing.is_some_and(|writing| writing.must_be_replayed && writing.lost.is_none())
    }

    /// Writes again what the writing transaction had written, in the backend's next transaction.
    pub(super) fn replay_writing(&mut self, begun: Result<Box<dyn WriteTransaction>>) {
        let Some(writing) = &mut self.writing else {
            return;
        };
        writing.must_be_replayed = false;
        let written = begun.and_then(|mut writer| {
            self.prepared.clear();
            writing.stand_on(writer.as_ref())?;
            // A failure drops the writer, and so what it has written by then.
            replay(writer.as_mut(), &mut self.prepared, &writing.changes).map(|()| writer)
        });
        match written {
            Ok(writer) => {
                self.writer = Some(writer);
                self.durability = writing.durability;
                self.generation += 1;
            }
            Err(error) => {
                self.prepared.clear();
                writing.lost = Some(error);
            }
        }
    }

    /// What the writing transaction has just become too large for, if anything.
    #[inline]
    pub(in super::super) fn outgrown(&self) -> Option<Outgrown> {
        let listed = self.writing.as_ref()?.changes.listed();
        if listed == ROWS_TOGETHER && !self.members.is_empty() {
            return Some(Outgrown::Group);
        }
        (listed > 0 && listed % LISTED_MAX == 0).then_some(Outgrown::List)
    }

    /// Keeps only ranges of the rows that the writing transaction has inserted, if it is alone in
    /// its commit, but for tables whose list is `kept`.
    pub(in super::super) fn extend_ranges(&mut self, kept: impl Fn(&Table) -> bool) {
        // With others, its changes may have to be undone or to be written again.
        let alone = self.members.is_empty() && self.dirty.is_empty();
        let writing = self
            .writing
            .as_mut()
            .filter(|writing| alone && writing.lost.is_none());
        if let Some(writing) = writing {
            writing.changes.extend_ranges(kept);
        }
    }

    /// Whether the changes of the writing transaction are all listed, or can be: marks count listed
    /// rows.
    pub(super) fn can_list_ranges(&self) -> bool {
        let changes = self.writing.as_ref().map(|writing| &writing.changes);
        changes.is_none_or(|changes| !changes.is_marked() || !changes.has_ranges())
    }

    /// Lists all changes of the writing transaction, so that they can be written again.
    pub(super) fn list_ranges(&mut self) -> Result<()> {
        let (Some(writing), Some(writer)) = (&mut self.writing, &mut self.writer) else {
            return Ok(());
        };
        let origin = self.origin;
        let read = |table: &Table, range: RowRange| range.read(writer.as_mut(), table, origin);
        writing.changes.list_ranges(read)
    }

    /// Undoes what the writing transaction has written in the backend's transaction, if that can be
    /// done without ending it.
    pub(super) fn unwrite(&mut self) -> bool {
        let (Some(writing), Some(writer)) = (&self.writing, &mut self.writer) else {
            return true;
        };
        // Storage that was made for it has to go, too; before the first member all goes with the
        // backend's transaction.
        let is_reversible = self.prepared.len() == writing.prepared
            && !self.dirty.is_empty()
            && !writing.changes.has_ranges();
        is_reversible
            && writer.is_whole()
            && replay(
                writer.as_mut(),
                &mut self.prepared,
                &writing.changes.inverse(),
            )
            .is_ok()
    }

    /// What the writing transaction has changed so far.
    #[inline]
    pub(in super::super) fn changes(&self) -> Result<&WriteSet> {
        match &self.writing {
            Some(writing) => writing.lost.clone().map_or(Ok(&writing.changes), Err),
            None => Err(no_transaction()),
        }
    }

    /// Marks what the writing transaction has changed so far.
    pub(in super::super) fn mark(&mut self) -> Option<Mark> {
        self.writing.as_mut().map(|writing| writing.changes.mark())
    }

    /// Keeps what the writing transaction has changed since the latest mark.
    pub(in super::super) fn release_mark(&mut self) {
        if let Some(writing) = &mut self.writing {
            writing.changes.release();
        }
    }

    /// Undoes what the writing transaction has changed since a mark.
    pub(in super::super) fn undo_to(&mut self, mark: &Mark) -> Result<()> {
        let Some(writing) = &mut self.writing else {
            return Ok(());
        };
        let undone = writing.changes.undo(mark);
        self.used_row_ids.note_used(&undone);
        match &mut self.writer {
            // Else it is not written now, and will not be written again.
            Some(writer) if !writing.must_be_replayed && writing.lost.is_none() => {
                replay(writer.as_mut(), &mut self.prepared, &undone.inverse())
            }
            _ => Ok(()),
        }
    }

    /// What the writing transaction writes with.
    #[inline]
    pub(in super::super) fn write_access(&mut self) -> Result<WriteAccess<'_>> {
        match (&mut self.writing, &mut self.writer) {
            (Some(WritingMember { lost: Some(e), .. }), _) => Err(e.clone()),
            (Some(writing), Some(writer)) => Ok(WriteAccess {
                writer: writer.as_mut(),
                prepared: &mut self.prepared,
                coverage: IndexCoverage::default(),
                changes: &mut writing.changes,
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

/// What the writing transaction writes with.
pub(in super::super) struct WriteAccess<'o> {
    pub(in super::super) writer: &'o mut dyn WriteTransaction,
    pub(in super::super) prepared: &'o mut Vec<Prepared>,
    /// How far the indexes of the table are built that is written to.
    pub(in super::super) coverage: IndexCoverage,
    pub(in super::super) changes: &'o mut WriteSet,
    pub(in super::super) used_row_ids: &'o UsedRowIds,
    pub(in super::super) schemas: &'o mut NewestSchemas,
    pub(in super::super) arenas: &'o mut ObjectArenas,
    /// That of what is not committed yet.
    pub(in super::super) origin: Origin,
}
