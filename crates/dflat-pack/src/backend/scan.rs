//! Scans of a pack.

use std::ops::{Bound, ControlFlow, Range};
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{Key, KeyScan, Row, ScanPlan, Source};
use dflat_model::{Direction, IndexDescriptor, RowId, Table, Value, ValueRef, key};

use super::entries::Entries;
use crate::read::{Pack, Reach, ReadType, RecordReader, Sought};

/// The position among a pack's indexes of the one with this definition.
pub(crate) fn index_in(stored: &Table, index: &IndexDescriptor) -> Option<usize> {
    let definition = index.definition();
    stored
        .indexes
        .iter()
        .position(|other| other.definition() == definition)
}

type Visit<'v> = &'v mut dyn FnMut(Row<'_>) -> ControlFlow<()>;

/// Scans the types of a pack, with buffers for the type that was scanned last.
#[derive(Default)]
pub(super) struct Scanner {
    buffers: Option<(ReadType, RecordReader)>,
}

impl Scanner {
    pub(super) fn scan(
        &mut self,
        pack: &Pack,
        plan: &ScanPlan<'_>,
        visit: Visit<'_>,
    ) -> Result<()> {
        let Some(stored) = pack.stored(plan.table)? else {
            return Ok(());
        };
        let check_blocks = pack.options().checks_blocks();
        let (stored, objects) = self.buffers(stored, check_blocks);
        // An index entry has its values in a form that is compared only, so the payload is lent.
        let payload = plan.payload || matches!(plan.source, Source::Entries(_));
        let mut rows = Rows {
            stored,
            objects,
            check_blocks,
            payload,
            visit,
        };
        rows.source(plan).map(drop)
    }

    /// The number of rows in a range, found by two searches of a key; `None` if the rows must be
    /// visited.
    pub(super) fn count(
        &mut self,
        pack: &Pack,
        table: &Table,
        scan: &KeyScan<'_>,
    ) -> Result<Option<u64>> {
        let Some(stored) = pack.stored(table)? else {
            return Ok(Some(0));
        };
        let check_blocks = pack.options().checks_blocks();
        let (stored, objects) = self.buffers(stored, check_blocks);
        match scan.key {
            Key::Primary => {
                let positions = positions(stored, objects, scan)?;
                Ok(Some(positions.end.saturating_sub(positions.start)))
            }
            Key::Index(position) => {
                let index = table.indexes.get(position);
                let index = index.and_then(|index| index_in(stored.table(), index));
                let new = |number| Entries::new(stored, number, check_blocks);
                match index.and_then(new) {
                    Some(mut entries) if scan.after.is_none() => {
                        let (start, end) = bounds(scan);
                        entries.count(&start, &end)
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// The buffers for a type. Those of another type are dropped.
    fn buffers(&mut self, stored: &ReadType, check_blocks: bool) -> &mut (ReadType, RecordReader) {
        let is_same =
            |held: &(ReadType, RecordReader)| Arc::ptr_eq(held.0.stored(), stored.stored());
        if !self.buffers.as_ref().is_some_and(is_same) {
            self.buffers = None;
        }
        let new = || (stored.clone(), RecordReader::new(check_blocks));
        self.buffers.get_or_insert_with(new)
    }
}

/// A scan that is under way.
struct Rows<'s, 'v> {
    stored: &'s ReadType,
    objects: &'s mut RecordReader,
    check_blocks: bool,
    /// Whether the payloads are needed.
    payload: bool,
    visit: Visit<'v>,
}

type Visited = Result<ControlFlow<()>>;

impl Rows<'_, '_> {
    fn source(&mut self, plan: &ScanPlan<'_>) -> Visited {
        let len = self.stored.len();
        match &plan.source {
            Source::Rows => self.positions(0..len, Reach::Ahead),
            Source::RowsAfter(after) => self.positions(positions_behind(*after)..len, Reach::Ahead),
            Source::RowIds(row_ids) => {
                let position = |row_id: &RowId| u64::try_from(row_id.0).ok()?.checked_sub(1);
                let positions = row_ids.iter().filter_map(position);
                self.positions(positions.filter(|at| *at < len), Reach::Record)
            }
            Source::PrimaryKey(parts) => self.primary_key(parts),
            Source::Key(scan) | Source::Entries(scan) => match scan.key {
                Key::Primary => self.key_range(scan),
                Key::Index(position) => {
                    let index = plan.table.indexes.get(position);
                    let index = index.and_then(|index| index_in(self.stored.table(), index));
                    let new = |number| Entries::new(self.stored, number, self.check_blocks);
                    let fields = plan.table.indexes.get(position);
                    let fields = fields.map_or(0, |index| index.fields.len());
                    match index.and_then(new) {
                        Some(mut entries) => self.index_range(&mut entries, scan, fields),
                        None => Ok(ControlFlow::Continue(())),
                    }
                }
            },
        }
    }

    fn positions(&mut self, positions: impl Iterator<Item = u64>, reach: Reach) -> Visited {
        for position in positions {
            if self.row(position, reach)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Lends a row.
    fn row(&mut self, position: u64, reach: Reach) -> Visited {
        let payload = match self.payload {
            true => self.stored.record(self.objects, position, reach)?,
            false => &[],
        };
        Ok((self.visit)(Row {
            row_id: row_id(position),
            payload,
            entry: None,
        }))
    }

    fn primary_key(&mut self, parts: &[ValueRef<'_>]) -> Visited {
        let mut key = Vec::new();
        key::append_all(parts.iter().copied(), &mut key);
        match self.stored.find(self.objects, &Sought::from(&key))? {
            Some((position, held)) => Ok((self.visit)(Row {
                row_id: row_id(position),
                payload: self.stored.held(self.objects, held),
                entry: None,
            })),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// The rows of a range of the primary key: one range of positions, as no two keys are equal.
    fn key_range(&mut self, scan: &KeyScan<'_>) -> Visited {
        if scan.prefix.len() == self.stored.table().primary_key.len() {
            let parts: Vec<ValueRef<'_>> = scan.prefix.iter().map(Value::as_ref).collect();
            let mut key = Vec::new();
            key::append_all(parts, &mut key);
            let found = self.stored.find(self.objects, &Sought::from(&key))?;
            let position = found.map(|(position, _)| position);
            let position = position.filter(|position| is_after(*position, scan.after));
            return self.positions(position.into_iter(), Reach::Record);
        }
        let positions = positions(self.stored, self.objects, scan)?;
        match scan.direction {
            Direction::Ascending => self.positions(positions, Reach::Ahead),
            Direction::Descending => self.positions(positions.rev(), Reach::Behind),
        }
    }

    /// The rows of a range of an index: entries with equal values by ascending row id, in both
    /// directions.
    fn index_range(
        &mut self,
        entries: &mut Entries<'_>,
        scan: &KeyScan<'_>,
        fields: usize,
    ) -> Visited {
        let (start, end) = bounds(scan);
        let from = scan.after.map_or(0, positions_behind);
        // If all values are equal, the entries behind the row are found at once.
        let is_equal = scan.prefix.len() == fields && scan.after.is_some();
        let span = entries.span(&start, &end, is_equal.then_some(from))?;
        let mut visit = |position| self.row(position, Reach::Record);
        match scan.direction {
            Direction::Ascending => entries.ascending(&span, from, Reach::Ahead, &mut visit),
            Direction::Descending => entries.descending(span, from, &mut visit),
        }
    }
}

/// The positions of the objects in a range of the primary key that does not fix all its parts.
fn positions(
    stored: &ReadType,
    objects: &mut RecordReader,
    scan: &KeyScan<'_>,
) -> Result<Range<u64>> {
    let (start, end) = bounds(scan);
    let start = stored.below(objects, &start)?;
    let end = stored.below(objects, &end)?;
    let first = scan.after.map_or(0, positions_behind);
    Ok(start.max(first)..end)
}

/// The encoded bounds of a range: all keys from the first bound to below the second are in it.
pub(crate) fn bounds(scan: &KeyScan<'_>) -> (Vec<u8>, Vec<u8>) {
    let mut prefix = Vec::new();
    key::append_all(scan.prefix.iter().map(Value::as_ref), &mut prefix);
    let at = |value: &Value| {
        let mut key = prefix.clone();
        key::append(value.as_ref(), &mut key);
        key
    };
    let start = match scan.lower {
        Bound::Unbounded => prefix.clone(),
        Bound::Included(value) => at(value),
        Bound::Excluded(value) => behind(at(value)),
    };
    let end = match scan.upper {
        Bound::Unbounded => behind(prefix),
        Bound::Included(value) => behind(at(value)),
        Bound::Excluded(value) => at(value),
    };
    (start, end)
}

/// The row id of the object at a position.
pub(crate) fn row_id(position: u64) -> RowId {
    RowId(position as i64 + 1)
}

/// The position of the first object with a larger row id.
pub(crate) fn positions_behind(row_id: RowId) -> u64 {
    u64::try_from(row_id.0).unwrap_or(0)
}

/// The bound behind all keys that begin with encoded values.
pub(crate) fn behind(mut values: Vec<u8>) -> Vec<u8> {
    values.push(key::BEHIND);
    values
}

fn is_after(position: u64, after: Option<RowId>) -> bool {
    after.is_none_or(|after| row_id(position) > after)
}
