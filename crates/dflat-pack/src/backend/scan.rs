//! Scans of a pack.

use std::ops::{Bound, ControlFlow, Range};
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{Key, KeyScan, Row, ScanPlan, Source};
use dflat_model::{Direction, IndexDescriptor, RowId, Table, Value, ValueRef, key};

use crate::read::{Pack, Reach, RecordReader, Run, StoredType};

/// The position among a pack's indexes of the one with this definition.
pub(super) fn position_in(stored: &Table, index: &IndexDescriptor) -> Option<usize> {
    let definition = index.definition();
    stored
        .indexes
        .iter()
        .position(|other| other.definition() == definition)
}

/// The bytes of a row's position at the end of an index entry.
const POSITION_BYTES: usize = size_of::<u64>();

type Visit<'v> = &'v mut dyn FnMut(Row<'_>) -> ControlFlow<()>;

/// Scans the types of a pack, with buffers for the type that was scanned last.
#[derive(Default)]
pub(super) struct Scanner {
    buffers: Option<(Arc<StoredType>, RecordReader)>,
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
        let is_same = |held: &(Arc<StoredType>, RecordReader)| Arc::ptr_eq(&held.0, stored);
        if !self.buffers.as_ref().is_some_and(is_same) {
            self.buffers = None;
        }
        let check_blocks = pack.options().checks_blocks();
        let new = || (Arc::clone(stored), RecordReader::new(check_blocks));
        let (stored, objects) = self.buffers.get_or_insert_with(new);
        // An index entry has its values in a form that is compared only, so the payload is lent.
        let payload = plan.payload || matches!(plan.source, Source::Entries(_));
        let mut rows = Rows {
            stored,
            objects,
            entries: RecordReader::new(check_blocks),
            payload,
            visit,
        };
        rows.source(plan).map(drop)
    }
}

/// A scan that is under way.
struct Rows<'s, 'v> {
    stored: &'s StoredType,
    objects: &'s mut RecordReader,
    /// Reads the entries of an index.
    entries: RecordReader,
    /// Whether the payloads are needed.
    payload: bool,
    visit: Visit<'v>,
}

type Visited = Result<ControlFlow<()>>;

impl Rows<'_, '_> {
    fn source(&mut self, plan: &ScanPlan<'_>) -> Visited {
        let len = self.stored.objects.len();
        match &plan.source {
            Source::Rows => self.positions(0..len, Reach::Ahead),
            Source::RowsAfter(after) => {
                let start = u64::try_from(after.0).unwrap_or(0);
                self.positions(start..len, Reach::Ahead)
            }
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
                    let index = index.and_then(|index| position_in(&self.stored.table, index));
                    let stored = self.stored;
                    match index.and_then(|position| stored.indexes.get(position)) {
                        Some(run) => self.index_range(run, scan, plan.table, position),
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
            true => self.objects.record(&self.stored.objects, position, reach)?,
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
        match self.stored.find(self.objects, &key)? {
            Some((position, held)) => Ok((self.visit)(Row {
                row_id: row_id(position),
                payload: self.objects.held(held),
                entry: None,
            })),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// The rows of a range of the primary key: one range of positions, as no two keys are equal.
    fn key_range(&mut self, scan: &KeyScan<'_>) -> Visited {
        if scan.prefix.len() == self.stored.table.primary_key.len() {
            let parts: Vec<ValueRef<'_>> = scan.prefix.iter().map(Value::as_ref).collect();
            let mut key = Vec::new();
            key::append_all(parts, &mut key);
            let found = self.stored.find(self.objects, &key)?;
            let position = found.map(|(position, _)| position);
            let position = position.filter(|position| is_after(*position, scan.after));
            return self.positions(position.into_iter(), Reach::Record);
        }
        let (start, end) = bounds(scan);
        let stored = self.stored;
        let start = stored.below(self.objects, &start)?;
        let end = stored.below(self.objects, &end)?;
        let first = scan
            .after
            .map_or(0, |after| u64::try_from(after.0).unwrap_or(0));
        let positions = start.max(first)..end;
        match scan.direction {
            Direction::Ascending => self.positions(positions, Reach::Ahead),
            Direction::Descending => self.positions(positions.rev(), Reach::Behind),
        }
    }

    /// The rows of a range of an index: entries with equal values by ascending row id, in both
    /// directions.
    fn index_range(
        &mut self,
        run: &Run,
        scan: &KeyScan<'_>,
        table: &Table,
        index: usize,
    ) -> Visited {
        let (mut start, end) = bounds(scan);
        let fields = table
            .indexes
            .get(index)
            .map_or(0, |index| index.fields.len());
        if scan.prefix.len() == fields
            && let Some(after) = scan.after
        {
            // All values are equal, so the entries behind the row are found at once.
            start.extend_from_slice(&u64::try_from(after.0).unwrap_or(0).to_be_bytes());
        }
        let start = self.entries_below(run, &start)?;
        let end = self.entries_below(run, &end)?;
        match scan.direction {
            Direction::Ascending => self.entry_range(run, start..end, scan.after, Reach::Ahead),
            Direction::Descending => self.entries_backwards(run, start..end, scan.after),
        }
    }

    fn entries_backwards(
        &mut self,
        run: &Run,
        mut entries: Range<u64>,
        after: Option<RowId>,
    ) -> Visited {
        while let Some(last) = entries
            .end
            .checked_sub(1)
            .filter(|last| *last >= entries.start)
        {
            let (values, _) = self.entry(run, last, Reach::Behind)?;
            let values = values.to_vec();
            let first = self
                .entries_below(run, &values)?
                .max(entries.start)
                .min(last);
            let reach = if first == last {
                Reach::Behind
            } else {
                Reach::Ahead
            };
            if self
                .entry_range(run, first..entries.end, after, reach)?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            entries.end = first;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn entry_range(
        &mut self,
        run: &Run,
        entries: Range<u64>,
        after: Option<RowId>,
        reach: Reach,
    ) -> Visited {
        for entry in entries {
            let (_, position) = self.entry(run, entry, reach)?;
            if position >= self.stored.objects.len() {
                return Err(run.damaged("an index has a row that does not exist"));
            }
            if is_after(position, after) && self.row(position, Reach::Record)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The encoded values of an entry, and the position of its row.
    fn entry(&mut self, run: &Run, entry: u64, reach: Reach) -> Result<(&[u8], u64)> {
        let record = self.entries.record(run, entry, reach)?;
        let parts = record.split_last_chunk::<POSITION_BYTES>();
        let (values, position) = parts.ok_or_else(|| run.damaged("an entry is too short"))?;
        Ok((values, u64::from_be_bytes(*position)))
    }

    /// The number of entries below encoded values.
    fn entries_below(&mut self, run: &Run, bound: &[u8]) -> Result<u64> {
        run.below(&mut self.entries, bound, &|record, out| {
            out.extend_from_slice(record);
            Ok(())
        })
    }
}

/// The encoded bounds of a range: all keys from the first bound to below the second are in it.
fn bounds(scan: &KeyScan<'_>) -> (Vec<u8>, Vec<u8>) {
    let mut prefix = Vec::new();
    key::append_all(scan.prefix.iter().map(Value::as_ref), &mut prefix);
    let at = |value: &Value| {
        let mut key = prefix.clone();
        key::append(value.as_ref(), &mut key);
        key
    };
    let behind = |mut key: Vec<u8>| {
        key.push(key::BEHIND);
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

fn row_id(position: u64) -> RowId {
    RowId(position as i64 + 1)
}

fn is_after(position: u64, after: Option<RowId>) -> bool {
    after.is_none_or(|after| row_id(position) > after)
}
