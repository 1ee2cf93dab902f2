//! The open group: its members, who writes, and what became of the groups before.

use std::time::Instant;

use dflat_model::{RowId, Table};

use super::super::newest::NewestSchemas;
use super::super::replay::{overtaken, replay};
use super::super::row::{Prepared, Reach};
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
    pub(super) pen: Option<Pen>,
    /// Transactions that wait for the pen.
    pub(super) waiting: usize,
    /// Counts the backend's transactions, so that a reader notices when one has ended.
    generation: u64,
    fate: Fate,
    /// When the first member finished, and the latest.
    pub(super) first: Option<Instant>,
    pub(super) latest: Option<Instant>,
    spent: SpentRowIds,
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
pub(in super::super) struct SpentRowIds(Vec<(String, RowId)>);

impl SpentRowIds {
    /// Notes the objects that these changes inserted.
    fn spend(&mut self, changes: &WriteSet) {
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
/// group keeps its fate.
#[derive(Clone, Default)]
pub(in super::super) struct Fate {
    failed: Arc<Mutex<Vec<(String, Error)>>>,
}

impl Fate {
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
pub(super) struct Pen {
    pub(super) tables: Tables,
    pub(super) changes: WriteSet,
    /// As that of a [`Member`]; `None` until it has read or written.
    pub(super) basis: Option<StateId>,
    pub(super) durability: Durability,
    /// How many tables were prepared before it.
    pub(super) prepared: usize,
    /// What it wrote was undone, and is to be written again before it goes on. No transaction of
    /// the backend is open then.
    pub(super) parked: bool,
    /// What it wrote is lost, for this reason.
    pub(super) lost: Option<Error>,
}

impl Pen {
    /// A member that has written nothing.
    pub(super) fn new(tables: &Tables, basis: Option<StateId>, durability: Durability) -> Self {
        Self {
            tables: tables.clone(),
            changes: WriteSet::default(),
            basis,
            durability,
            prepared: 0,
            parked: false,
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
pub(in super::super) enum Footing {
    /// What is committed: no member has changed its tables.
    Committed,
    /// The open group of this generation, which may fail, and which stands on this state.
    Group(u64, Fate, StateId),
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
    pub(super) fn end(&mut self) -> (Option<Box<dyn WriteTransaction>>, Vec<Member>, Fate) {
        self.dirty.clear();
        self.arenas.clear();
        self.rows = 0;
        self.prepared.clear();
        self.schemas.trim();
        self.generation += 1;
        (self.first, self.latest) = (None, None);
        let members = std::mem::take(&mut self.members);
        (self.writer.take(), members, std::mem::take(&mut self.fate))
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
    pub(super) fn spend(&mut self, changes: &WriteSet) {
        self.spent.spend(changes);
    }

    pub(super) fn fate(&self) -> Fate {
        self.fate.clone()
    }

    /// Why changes to one of these tables were not committed that a transaction has seen.
    pub(super) fn failure(&self, seen: Option<&Fate>, tables: &[Table]) -> Option<Error> {
        // Most see those of the open group, which has not failed.
        let ended = seen.filter(|seen| !seen.is_same(&self.fate));
        ended.and_then(|seen| seen.failure(tables))
    }

    /// Notes what a transaction has seen from here on.
    pub(super) fn follow(&self, tables: &[Table], seen: &mut Option<Fate>) {
        if self.writer.is_some()
            && self.is_dirty(tables)
            && !seen.as_ref().is_some_and(|seen| seen.is_same(&self.fate))
        {
            *seen = Some(self.fate());
        }
    }

    /// Whether a member has changed one of these tables.
    pub(super) fn is_dirty(&self, tables: &[Table]) -> bool {
        tables
            .iter()
            .any(|table| self.dirty.iter().any(|dirty| dirty.is_stored_as(table)))
    }

    /// Where a transaction over these tables has to read.
    pub(in super::super) fn footing(&self, tables: &[Table]) -> Footing {
        match &self.writer {
            Some(writer) if self.is_dirty(tables) => {
                Footing::Group(self.generation, self.fate.clone(), writer.base().id)
            }
            _ => Footing::Committed,
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

    /// What the commit of the pen's holder is to survive.
    pub(super) fn asked(&self) -> Durability {
        self.pen
            .as_ref()
            .map_or(self.durability, |pen| pen.durability)
    }

    /// Whether what is open would survive less than a transaction asks for.
    pub(super) fn is_weaker(&self, asked: Durability) -> bool {
        self.writer.is_some() && self.durability < asked
    }

    /// Whether what the pen's holder wrote has to be written again before it goes on.
    pub(super) fn is_parked(&self) -> bool {
        let pen = self.pen.as_ref();
        pen.is_some_and(|pen| pen.parked && pen.lost.is_none())
    }

    /// Writes again what the pen's holder had written, in the backend's next transaction.
    pub(super) fn unpark(&mut self, begun: Result<Box<dyn WriteTransaction>>) {
        let Some(pen) = &mut self.pen else { return };
        pen.parked = false;
        let written = begun.and_then(|mut writer| {
            self.prepared.clear();
            pen.stand_on(writer.as_ref())?;
            // A failure drops the writer, and so what it has written by then.
            replay(writer.as_mut(), &mut self.prepared, &pen.changes).map(|()| writer)
        });
        match written {
            Ok(writer) => {
                self.writer = Some(writer);
                self.durability = pen.durability;
                self.generation += 1;
            }
            Err(error) => {
                self.prepared.clear();
                pen.lost = Some(error);
            }
        }
    }

    /// What the pen's holder has just become too large for, if anything.
    #[inline]
    pub(in super::super) fn outgrown(&self) -> Option<Outgrown> {
        let listed = self.pen.as_ref()?.changes.listed();
        if listed == ROWS_TOGETHER && !self.members.is_empty() {
            return Some(Outgrown::Group);
        }
        (listed > 0 && listed % LISTED_MAX == 0).then_some(Outgrown::List)
    }

    /// Keeps only ranges of the rows that the pen's holder has inserted, if it is alone in its
    /// commit, but for tables whose list is `kept`.
    pub(in super::super) fn extend_ranges(&mut self, kept: impl Fn(&Table) -> bool) {
        // With others, its changes may have to be undone or to be written again.
        let alone = self.members.is_empty() && self.dirty.is_empty();
        let pen = self.pen.as_mut().filter(|pen| alone && pen.lost.is_none());
        if let Some(pen) = pen {
            pen.changes.extend_ranges(kept);
        }
    }

    /// Whether the changes of the pen's holder are all listed, or can be: marks count listed rows.
    pub(super) fn can_list_ranges(&self) -> bool {
        let changes = self.pen.as_ref().map(|pen| &pen.changes);
        changes.is_none_or(|changes| !changes.is_marked() || !changes.has_ranges())
    }

    /// Lists all changes of the pen's holder, so that they can be written again.
    pub(super) fn list_ranges(&mut self) -> Result<()> {
        let (Some(pen), Some(writer)) = (&mut self.pen, &mut self.writer) else {
            return Ok(());
        };
        let origin = self.origin;
        let read = |table: &Table, range: RowRange| range.read(writer.as_mut(), table, origin);
        pen.changes.list_ranges(read)
    }

    /// Undoes what the pen's holder has written in the backend's transaction, if that can be done
    /// without ending it.
    pub(super) fn unwrite(&mut self) -> bool {
        let (Some(pen), Some(writer)) = (&self.pen, &mut self.writer) else {
            return true;
        };
        // Storage that was made for it has to go, too; before the first member all goes with the
        // backend's transaction.
        let is_reversible = self.prepared.len() == pen.prepared
            && !self.dirty.is_empty()
            && !pen.changes.has_ranges();
        is_reversible
            && writer.is_whole()
            && replay(writer.as_mut(), &mut self.prepared, &pen.changes.inverse()).is_ok()
    }

    /// What the pen's holder has changed so far.
    #[inline]
    pub(in super::super) fn changes(&self) -> Result<&WriteSet> {
        match &self.pen {
            Some(pen) => pen.lost.clone().map_or(Ok(&pen.changes), Err),
            None => Err(no_transaction()),
        }
    }

    /// Marks what the pen's holder has changed so far.
    pub(in super::super) fn mark(&mut self) -> Option<Mark> {
        self.pen.as_mut().map(|pen| pen.changes.mark())
    }

    /// Keeps what the pen's holder has changed since the latest mark.
    pub(in super::super) fn release_mark(&mut self) {
        if let Some(pen) = &mut self.pen {
            pen.changes.release();
        }
    }

    /// Undoes what the pen's holder has changed since a mark.
    pub(in super::super) fn undo_to(&mut self, mark: &Mark) -> Result<()> {
        let Some(pen) = &mut self.pen else {
            return Ok(());
        };
        let undone = pen.changes.undo(mark);
        self.spent.spend(&undone);
        match &mut self.writer {
            // Else it is not written now, and will not be written again.
            Some(writer) if !pen.parked && pen.lost.is_none() => {
                replay(writer.as_mut(), &mut self.prepared, &undone.inverse())
            }
            _ => Ok(()),
        }
    }

    /// What the holder of the pen writes with.
    #[inline]
    pub(in super::super) fn pen(&mut self) -> Result<PenGrip<'_>> {
        match (&mut self.pen, &mut self.writer) {
            (Some(Pen { lost: Some(e), .. }), _) => Err(e.clone()),
            (Some(pen), Some(writer)) => Ok(PenGrip {
                writer: writer.as_mut(),
                prepared: &mut self.prepared,
                reach: Reach::default(),
                changes: &mut pen.changes,
                spent: &self.spent,
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

/// What the holder of the pen writes with.
pub(in super::super) struct PenGrip<'o> {
    pub(in super::super) writer: &'o mut dyn WriteTransaction,
    pub(in super::super) prepared: &'o mut Vec<Prepared>,
    /// How far the indexes of the table are built that is written to.
    pub(in super::super) reach: Reach,
    pub(in super::super) changes: &'o mut WriteSet,
    pub(in super::super) spent: &'o SpentRowIds,
    pub(in super::super) schemas: &'o mut NewestSchemas,
    pub(in super::super) arenas: &'o mut ObjectArenas,
    /// That of what is not committed yet.
    pub(in super::super) origin: Origin,
}
