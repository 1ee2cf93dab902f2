//! The open commit group: its finished members, the member that writes, and the outcomes of earlier
//! groups.

use std::time::Instant;

use dflat_model::Table;

use super::super::newest::NewestSchemas;
use super::super::recording::Recording;
use super::super::replay::replay;
use super::super::row::Prepared;
use super::super::tables::Tables;
use super::super::write_set::{Mark, WriteSet};
use super::member::{Member, WritingMember};
use super::outcome::GroupOutcome;
use super::recent::RecentChanges;
use super::record::Recorder;
use super::used_row_ids::UsedRowIds;
use crate::change_set::RowRange;
use crate::error::{Error, ErrorKind, Result};
use crate::history::KeepHistory;
use crate::object::{Object, ObjectArenas, Origin};
use crate::storage::{Durability, StateId, WriteTransaction};
use crate::sync::Arc;

/// Once a transaction has changed this many rows, the finished members are committed without it,
/// and it goes on alone. Undoing its rows and writing them again costs less than a large commit for
/// which all members wait.
const ROWS_TOGETHER: usize = 64;

/// Once a transaction that is alone in its commit lists this many rows, it keeps ranges of the rows
/// that it has inserted instead of a list. 256 rows of 100 bytes take some 40 KiB.
const LISTED_MAX: usize = 256;

/// The open commit group.
#[derive(Default)]
pub(in super::super) struct OpenGroup {
    pub(super) writer: Option<Box<dyn WriteTransaction>>,
    /// The durability of the commit of `writer`.
    pub(super) durability: Durability,
    /// Tables that `writer` has prepared for writing.
    pub(super) prepared: Vec<Prepared>,
    pub(super) members: Vec<Member>,
    /// Number of rows that the members have changed.
    pub(super) rows: usize,
    /// The tables that members have changed.
    dirty: Vec<Table>,
    /// The member that has the write access.
    pub(super) writing: Option<WritingMember>,
    /// Transactions that wait for the write access.
    pub(super) waiting: usize,
    /// Counts the backend's transactions, so that a reader notices when one has ended.
    generation: u64,
    group_outcome: GroupOutcome,
    /// The times when the first and the latest member finished.
    pub(super) first: Option<Instant>,
    pub(super) latest: Option<Instant>,
    pub(super) used_row_ids: UsedRowIds,
    pub(super) recent: RecentChanges,
    pub(super) schemas: NewestSchemas,
    /// Writes the change records.
    pub(super) recorder: Recorder,
    /// The arenas in which the written objects are created.
    pub(super) arenas: ObjectArenas,
    /// The origin of the objects that are written: this engine, and no commit.
    pub(super) origin: Origin,
    /// Whether ended transactions went to the outlet, and no thread was asked to deliver them yet.
    pub(super) undelivered: bool,
    /// Whether the watchdog watches the group, so that its members do not wait for long.
    pub(super) watched: bool,
}

/// The limit that a transaction has outgrown.
pub(in super::super) enum SizeLimit {
    /// The transaction is too large to keep finished members waiting.
    Group,
    /// The transaction is too large for a list of all rows that it inserts.
    List,
}

/// The state that a transaction reads.
pub(in super::super) enum ReadBase {
    /// The committed state: no member has changed the transaction's tables.
    Committed,
    /// The open commit group of this generation, with its outcome, because it may fail, and the
    /// committed state that it is based on.
    Group(u64, GroupOutcome, StateId),
}

impl OpenGroup {
    /// An open commit group of an engine, without members.
    pub(super) fn new(
        engine: u64,
        recording: Recording,
        history: Option<Arc<dyn KeepHistory>>,
    ) -> Self {
        let origin = Origin {
            engine,
            ..Origin::default()
        };
        Self {
            origin,
            recorder: Recorder::new(engine, recording),
            schemas: NewestSchemas::new(history),
            ..Self::default()
        }
    }

    /// Ends the open commit group and returns its parts, to be committed or written again.
    pub(super) fn end(&mut self) -> (Option<Box<dyn WriteTransaction>>, Vec<Member>, GroupOutcome) {
        self.dirty.clear();
        self.arenas.clear();
        self.rows = 0;
        self.recorder.note_mended(&mut self.prepared);
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

    /// Gives the write access to a transaction, which no other one has.
    pub(super) fn write_next(
        &mut self,
        tables: &Tables,
        basis: Option<StateId>,
        durability: Durability,
    ) {
        let mut writing = WritingMember::new(tables, basis, durability);
        if let Some(writer) = &mut self.writer {
            writing.lost = writing.set_base(writer.as_mut()).err();
        }
        writing.must_be_replayed = self.writer.is_none();
        self.writing = Some(writing);
    }

    /// The error with which changes to one of these tables were not committed, if a transaction has
    /// `seen` the commit group of these changes.
    pub(super) fn failure(&self, seen: Option<&GroupOutcome>, tables: &[Table]) -> Option<Error> {
        // Most transactions have seen the open commit group, which has not failed.
        let ended = seen.filter(|seen| !seen.is_same(&self.group_outcome));
        ended.and_then(|seen| seen.failure(tables))
    }

    /// Notes that a transaction sees the open commit group from now on, if a member has changed one
    /// of these tables.
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

    /// The state that a transaction over these tables has to read.
    pub(in super::super) fn read_base(&self, tables: &[Table]) -> ReadBase {
        match &self.writer {
            Some(writer) if self.is_dirty(tables) => ReadBase::Group(
                self.generation,
                self.group_outcome.clone(),
                writer.base().id,
            ),
            _ => ReadBase::Committed,
        }
    }

    /// Counts the backend's transactions.
    pub(in super::super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether an object that was read outside of the group is certain to be stored unchanged.
    /// Always false if no transaction of the backend of this generation is open.
    pub(in super::super) fn is_current(
        &self,
        generation: u64,
        table: &Table,
        object: &Object,
    ) -> bool {
        // While the backend's transaction is open, no other program writes.
        let open = self.generation == generation && self.writer.is_some();
        open && self.is_unchanged(table, object)
    }

    /// Whether an object that was read outside of the group is certain to be stored unchanged,
    /// unless another program has written since the backend's latest transaction began.
    pub(in super::super) fn is_unchanged(&self, table: &Table, object: &Object) -> bool {
        let (row_id, seq) = (object.row_id(), object.origin().seq);
        self.recent.is_unchanged(table, row_id, seq)
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

    /// The durability that the writing transaction asks for, or that of the open commit group if no
    /// transaction has the write access.
    pub(super) fn asked(&self) -> Durability {
        self.writing
            .as_ref()
            .map_or(self.durability, |writing| writing.durability)
    }

    /// Whether the commit of the open commit group would survive less than a transaction asks for.
    pub(super) fn is_weaker(&self, asked: Durability) -> bool {
        self.writer.is_some() && self.durability < asked
    }

    /// Whether the writes of the writing transaction must be written again before it goes on.
    pub(super) fn must_be_replayed(&self) -> bool {
        let writing = self.writing.as_ref();
        writing.is_some_and(|writing| writing.must_be_replayed && writing.lost.is_none())
    }

    /// Writes the changes of the writing transaction again, in the backend's next transaction.
    pub(super) fn replay_writing(&mut self, begun: Result<Box<dyn WriteTransaction>>) {
        let Some(writing) = &mut self.writing else {
            return;
        };
        writing.must_be_replayed = false;
        let written = begun.and_then(|mut writer| {
            self.prepared.clear();
            if writing.has_more {
                let message = "cannot write a transaction again: it has written to the history";
                return Err(Error::new(ErrorKind::Backend, message));
            }
            writing.set_base(writer.as_mut())?;
            // A failure drops the writer, which undoes everything written with it.
            let known = (&mut self.prepared, &mut self.schemas);
            replay(writer.as_mut(), known, &writing.changes).map(|()| writer)
        });
        match written {
            Ok(writer) => {
                self.writer = Some(writer);
                self.durability = writing.durability;
                self.generation += 1;
            }
            Err(error) => {
                self.prepared.clear();
                self.schemas.forget();
                writing.lost = Some(error);
            }
        }
    }

    /// The limit that the writing transaction has just outgrown, if any.
    #[inline]
    pub(in super::super) fn exceeded_limit(&self) -> Option<SizeLimit> {
        let listed = self.writing.as_ref()?.changes.listed();
        if listed == ROWS_TOGETHER && !self.members.is_empty() {
            return Some(SizeLimit::Group);
        }
        (listed > 0 && listed % LISTED_MAX == 0).then_some(SizeLimit::List)
    }

    /// Whether the writing transaction would be too large, with this many rows more, to keep
    /// finished members waiting.
    pub(super) fn would_exceed_group(&self, rows: usize) -> bool {
        let listed = self
            .writing
            .as_ref()
            .map(|writing| writing.changes.listed());
        !self.members.is_empty() && listed.unwrap_or(0) + rows >= ROWS_TOGETHER
    }

    /// Whether the writing transaction is too large for a list of all rows that it inserts.
    pub(super) fn lists_many(&self) -> bool {
        let writing = self.writing.as_ref();
        writing.is_some_and(|writing| writing.changes.listed() >= LISTED_MAX)
    }

    /// If the writing transaction is alone in its commit, keeps only ranges of the rows that it has
    /// inserted, except for tables whose list is `kept`.
    pub(in super::super) fn extend_ranges(&mut self, kept: impl Fn(&Table) -> bool) {
        // With other members in the commit, its changes may have to be undone or written again.
        let alone = self.members.is_empty() && self.dirty.is_empty();
        let writing = self
            .writing
            .as_mut()
            .filter(|writing| alone && writing.lost.is_none());
        if let Some(writing) = writing {
            writing.changes.extend_ranges(kept);
        }
    }

    /// Whether all changes of the writing transaction are listed, or can be. While a mark is set,
    /// ranges can't be listed, because marks count listed rows.
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

    /// Undoes the writes of the writing transaction in the backend's transaction, if that is
    /// possible without ending the backend's transaction. Returns whether the writes are undone.
    pub(super) fn unwrite(&mut self) -> bool {
        let (Some(writing), Some(writer)) = (&self.writing, &mut self.writer) else {
            return true;
        };
        // Storage that was created for this member is undone only with the backend's transaction.
        // Before the first member, everything is undone with the backend's transaction.
        let is_reversible =
            !writing.has_created && !self.dirty.is_empty() && !writing.changes.has_ranges();
        is_reversible
            && writer.is_whole()
            && replay(
                writer.as_mut(),
                (&mut self.prepared, &mut self.schemas),
                &writing.changes.inverse(),
            )
            .is_ok()
    }

    /// Sets a mark on the changes of the writing transaction so far.
    pub(in super::super) fn mark(&mut self) -> Option<Mark> {
        self.writing.as_mut().map(|writing| writing.changes.mark())
    }

    /// Removes the latest mark, and keeps the changes that were made since.
    pub(in super::super) fn release_mark(&mut self) {
        if let Some(writing) = &mut self.writing {
            writing.changes.release();
        }
    }

    /// Undoes the changes of the writing transaction since a mark.
    pub(in super::super) fn undo_to(&mut self, mark: &Mark) -> Result<()> {
        let Some(writing) = &mut self.writing else {
            return Ok(());
        };
        let undone = writing.changes.undo(mark);
        self.used_row_ids.note_used(&undone);
        match &mut self.writer {
            // Otherwise the changes are not in the backend's transaction now, and will not be
            // written again.
            Some(writer) if !writing.must_be_replayed && writing.lost.is_none() => {
                let known = (&mut self.prepared, &mut self.schemas);
                replay(writer.as_mut(), known, &undone.inverse())
            }
            _ => Ok(()),
        }
    }
}
