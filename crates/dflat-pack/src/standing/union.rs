//! Scans of a pack's objects and of a file's, in one order.
//!
//! The scan of the file is the driver: before each row of the file, the objects of the pack that
//! come before it are visited.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{Key, KeyScan, Row, ScanPlan, Snapshot, Source};
use dflat_engine::transaction::derive;
use dflat_model::{Direction, RowId, Table, Value, ValueRef, key};

use super::hidden::Rows;
use super::left::{Left, VisitAt, Visited};
use crate::backend::{Entries, bounds, index_in, positions_behind, row_id};
use crate::read::{Held, Reach, ReadType, RecordReader, Sought};

pub(super) type Visit<'v> = &'v mut dyn FnMut(Row<'_>) -> ControlFlow<()>;

const GOES_ON: Visited = Ok(ControlFlow::Continue(()));

/// The objects of a type: those of the pack that are not hidden, and those of the file.
pub(super) struct Union<'s> {
    pub(super) stored: &'s ReadType,
    pub(super) hidden: Option<&'s Rows>,
    pub(super) reader: &'s mut RecordReader,
    pub(super) check_blocks: bool,
}

impl Union<'_> {
    pub(super) fn scan(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        visit: Visit<'_>,
    ) -> Result<()> {
        match &plan.source {
            Source::Rows => self.rows(file, plan, 0, visit),
            Source::RowsAfter(after) => self.rows(file, plan, positions_behind(*after), visit),
            Source::RowIds(row_ids) => self.row_ids(file, plan, row_ids, visit),
            Source::PrimaryKey(parts) => self.primary_key(file, plan, parts, visit),
            Source::Key(scan) | Source::Entries(scan) => match scan.key {
                Key::Primary => self.key_range(file, plan, scan, visit),
                Key::Index(number) => self.index_range(file, plan, scan, number, visit),
            },
        }
    }

    /// Whether the object of the pack with a row id is not hidden.
    pub(super) fn is_shown(&self, row_id: RowId) -> bool {
        let is_of_pack = u64::try_from(row_id.0).is_ok_and(|at| 0 < at && at <= self.stored.len());
        is_of_pack && !self.hidden.is_some_and(|rows| rows.contains(row_id))
    }

    /// The position of the object of the pack with a key, if it is not hidden.
    pub(super) fn find(&mut self, key: &[u8]) -> Result<Option<(u64, Held)>> {
        let found = self.stored.find(self.reader, &Sought::from(key))?;
        Ok(found.filter(|(position, _)| self.is_shown(row_id(*position))))
    }

    /// The payload of the object of the pack at a position.
    pub(super) fn payload(&mut self, position: u64) -> Result<&[u8]> {
        self.stored.record(self.reader, position, Reach::Record)
    }

    /// Visits objects of the pack that are not hidden.
    pub(super) fn visit(
        &mut self,
        positions: impl Iterator<Item = u64>,
        (payload, reach): (bool, Reach),
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Visited {
        for position in positions {
            let row_id = row_id(position);
            if !self.is_shown(row_id) {
                continue;
            }
            let payload = match payload {
                true => self.stored.record(self.reader, position, reach)?,
                false => &[],
            };
            let row = Row {
                row_id,
                payload,
                entry: None,
            };
            if visit(row).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        GOES_ON
    }

    /// Scans the file, and calls `before` before each of its rows. Returns `Break` if a visit has
    /// ended the scan.
    fn merged(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        visit: Visit<'_>,
        before: &mut dyn FnMut(&mut Self, &Row<'_>, Visit<'_>) -> Visited,
    ) -> Visited {
        let mut ended = GOES_ON;
        file.scan(plan, &mut |row| {
            // Another program has written a row in the place of an object of the pack.
            if self.is_shown(row.row_id) {
                return ControlFlow::Continue(());
            }
            ended = before(self, &row, visit);
            if matches!(ended, Ok(ControlFlow::Continue(()))) {
                ended = Ok(visit(row));
            }
            match ended {
                Ok(flow) => flow,
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        ended
    }

    /// The rows by their row ids, from a position of the pack on.
    fn rows(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        first: u64,
        visit: Visit<'_>,
    ) -> Result<()> {
        let (mut next, len) = (first, self.stored.len());
        let how = (plan.payload, Reach::Ahead);
        let flow = self.merged(file, plan, visit, &mut |union, row, visit| {
            let before = next..len.min(positions_behind(row.row_id).saturating_sub(1));
            next = next.max(before.end);
            union.visit(before, how, visit)
        })?;
        if flow.is_continue() {
            let _ended = self.visit(next..len, how, visit)?;
        }
        Ok(())
    }

    fn row_ids(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        row_ids: &[RowId],
        visit: Visit<'_>,
    ) -> Result<()> {
        let runs: Vec<&[RowId]> = row_ids
            .chunk_by(|a, b| self.is_shown(*a) == self.is_shown(*b))
            .collect();
        for run in runs {
            let is_of_pack = run.first().is_some_and(|first| self.is_shown(*first));
            let flow = if is_of_pack {
                let positions = run.iter().map(|row_id| positions_behind(*row_id) - 1);
                self.visit(positions, (plan.payload, Reach::Record), visit)?
            } else {
                let plan = ScanPlan {
                    source: Source::RowIds(run),
                    ..plan.clone()
                };
                self.merged(file, &plan, visit, &mut |_, _, _| GOES_ON)?
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn primary_key(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        parts: &[ValueRef<'_>],
        visit: Visit<'_>,
    ) -> Result<()> {
        if let Some((position, held)) = self.find(&key::encode(parts.iter().copied()))? {
            let _ended = visit(Row {
                row_id: row_id(position),
                payload: self.stored.held(self.reader, held),
                entry: None,
            });
            return Ok(());
        }
        let scanned = self.merged(file, plan, visit, &mut |_, _, _| GOES_ON);
        scanned.map(drop)
    }

    fn key_range(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        scan: &KeyScan<'_>,
        visit: Visit<'_>,
    ) -> Result<()> {
        let (start, end) = bounds(scan);
        let first = scan.after.map_or(0, positions_behind);
        let start = self.stored.below(self.reader, &start)?.max(first);
        let end = self.stored.below(self.reader, &end)?;
        let mut left = start..end.max(start);
        let payload = plan.payload || matches!(plan.source, Source::Entries(_));
        let how = match scan.direction {
            Direction::Ascending => (payload, Reach::Ahead),
            Direction::Descending => (payload, Reach::Behind),
        };
        let table = plan.table;
        let plan = with_payload(plan, !left.is_empty());
        let flow = self.merged(file, &plan, visit, &mut |union, row, visit| {
            if left.is_empty() {
                return GOES_ON;
            }
            let Some(key) = values(table, Key::Primary, row) else {
                return GOES_ON;
            };
            let at = union.stored.below(union.reader, &key)?;
            let at = at.clamp(left.start, left.end);
            match scan.direction {
                Direction::Ascending => {
                    let before = left.start..at;
                    left.start = at;
                    union.visit(before, how, visit)
                }
                Direction::Descending => {
                    let before = at..left.end;
                    left.end = at;
                    union.visit(before.rev(), how, visit)
                }
            }
        })?;
        if flow.is_continue() {
            let _ended = match scan.direction {
                Direction::Ascending => self.visit(left, how, visit)?,
                Direction::Descending => self.visit(left.rev(), how, visit)?,
            };
        }
        Ok(())
    }

    fn index_range(
        &mut self,
        file: &mut dyn Snapshot,
        plan: &ScanPlan<'_>,
        scan: &KeyScan<'_>,
        number: usize,
        visit: Visit<'_>,
    ) -> Result<()> {
        let index = plan.table.indexes.get(number);
        let index = index.and_then(|index| index_in(self.stored.table(), index));
        let stored = self.stored;
        let entries = index.and_then(|index| Entries::new(stored, index, self.check_blocks));
        let Some(mut entries) = entries else {
            let scanned = self.merged(file, plan, visit, &mut |_, _, _| GOES_ON);
            return scanned.map(drop);
        };
        let (start, end) = bounds(scan);
        let mut left = Left {
            span: entries.span(&start, &end, None)?,
            equal: None,
            from: scan.after.map_or(0, positions_behind),
        };
        let payload = plan.payload || matches!(plan.source, Source::Entries(_));
        let how = (payload, Reach::Record);
        let table = plan.table;
        let plan = with_payload(plan, !left.span.is_empty());
        let flow = self.merged(file, &plan, visit, &mut |union, row, visit| {
            if left.is_empty() {
                return GOES_ON;
            }
            let Some(values) = values(table, Key::Index(number), row) else {
                return GOES_ON;
            };
            let visit: VisitAt<'_> =
                &mut |position| union.visit([position].into_iter(), how, visit);
            match scan.direction {
                Direction::Ascending => {
                    let before = entries.split_off_before(
                        &mut left.span,
                        &values,
                        position_of(row.row_id),
                    )?;
                    left.ascending(&mut entries, &before, visit)
                }
                Direction::Descending => {
                    left.descend_to(&mut entries, (values, position_of(row.row_id)), visit)
                }
            }
        })?;
        if flow.is_break() {
            return Ok(());
        }
        let visit: VisitAt<'_> = &mut |position| self.visit([position].into_iter(), how, visit);
        let _ended = match scan.direction {
            Direction::Ascending => {
                let rest = left.span.clone();
                left.ascending(&mut entries, &rest, visit)?
            }
            Direction::Descending => left.descend(&mut entries, visit)?,
        };
        Ok(())
    }
}

/// The plan, with payloads if they are needed to compare rows. A plan for entries gives their
/// values.
fn with_payload<'p>(plan: &ScanPlan<'p>, is_needed: bool) -> ScanPlan<'p> {
    let is_needed = is_needed && !matches!(plan.source, Source::Entries(_));
    ScanPlan {
        payload: plan.payload || is_needed,
        ..plan.clone()
    }
}

/// The encoded values of a key of a row of the file. `None` if its payload is damaged.
fn values(table: &Table, key: Key, row: &Row<'_>) -> Option<Vec<u8>> {
    if let Some(entry) = row.entry {
        return Some(key::encode(entry.values.iter().copied()));
    }
    let derived = derive(table, row.payload).ok()?;
    let values = match key {
        Key::Primary => derived.key,
        Key::Index(number) => derived.entries.into_iter().nth(number)??,
    };
    Some(key::encode(values.iter().map(Value::as_ref)))
}

/// The position that an object of the pack with a row id has.
pub(super) fn position_of(row_id: RowId) -> u64 {
    positions_behind(row_id).saturating_sub(1)
}
