//! The entries of an index: those of the file, merged with those of the layers.

use std::ops::{ControlFlow, Range};

use dflat_engine::Result;

use crate::read::{Reach, ReadType, RecordReader, Run};

/// The bytes of a row's position at the end of an index entry.
const POSITION_BYTES: usize = size_of::<u64>();

/// Is called with the position of each row.
pub(crate) type VisitPosition<'v> = &'v mut dyn FnMut(u64) -> Result<ControlFlow<()>>;

/// The entries of one index.
pub(crate) struct Entries<'s> {
    stored: &'s ReadType,
    run: &'s Run,
    /// Those of the layers.
    changed: &'s [Box<[u8]>],
    reader: RecordReader,
    /// An entry of the file, as one of the layers.
    head: Vec<u8>,
}

/// Some entries, one behind the other in the order of the index.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    in_file: Range<u64>,
    in_layers: Range<usize>,
}

impl Span {
    pub(crate) const fn is_empty(&self) -> bool {
        self.in_file.start >= self.in_file.end && self.in_layers.start >= self.in_layers.end
    }

    /// Removes the entries from these places on, and returns them.
    fn split_off(&mut self, in_file: u64, in_layers: usize) -> Self {
        let in_file = in_file.clamp(self.in_file.start, self.in_file.end);
        let in_layers = in_layers.clamp(self.in_layers.start, self.in_layers.end);
        let rest = Self {
            in_file: in_file..self.in_file.end,
            in_layers: in_layers..self.in_layers.end,
        };
        self.in_file.end = in_file;
        self.in_layers.end = in_layers;
        rest
    }
}

impl<'s> Entries<'s> {
    /// The index with this number; `None` if there is none.
    pub(crate) fn new(stored: &'s ReadType, number: usize, check_blocks: bool) -> Option<Self> {
        let (run, changed) = stored.index(number)?;
        Some(Self {
            stored,
            run,
            changed,
            reader: RecordReader::new(check_blocks),
            head: Vec::new(),
        })
    }

    /// The entries between encoded values. If all of them are equal, the entries of rows before the
    /// position `from` are left out.
    pub(crate) fn span(&mut self, start: &[u8], end: &[u8], from: Option<u64>) -> Result<Span> {
        let bound = |position: Option<u64>| {
            let mut bound = start.to_vec();
            bound.extend(position.iter().flat_map(|position| position.to_be_bytes()));
            bound
        };
        let in_file = from.map(|from| self.stored.stored_before(from));
        let first = self.below(&bound(in_file))?;
        let last = self.below(end)?;
        Ok(Span {
            in_file: first..last.max(first),
            in_layers: self.changed_below(&bound(from))..self.changed_below(end),
        })
    }

    /// The number of entries between encoded values; `None` if layers change some objects.
    pub(crate) fn count(&mut self, start: &[u8], end: &[u8]) -> Result<Option<u64>> {
        if self.stored.has_changes() {
            return Ok(None);
        }
        let span = self.span(start, end, None)?;
        Ok(Some(span.in_file.end - span.in_file.start))
    }

    /// Removes the entries from encoded values on, and returns them.
    pub(crate) fn split_off(&mut self, span: &mut Span, values: &[u8]) -> Result<Span> {
        let in_file = self.below(values)?;
        Ok(span.split_off(in_file, self.changed_below(values)))
    }

    /// Removes the entries before those of a position with encoded values, and returns them.
    pub(crate) fn split_off_before(
        &mut self,
        span: &mut Span,
        values: &[u8],
        position: u64,
    ) -> Result<Span> {
        let bound = |position: u64| [values, &position.to_be_bytes()].concat();
        let in_file = self.below(&bound(self.stored.stored_before(position)))?;
        let rest = span.split_off(in_file, self.changed_below(&bound(position)));
        Ok(std::mem::replace(span, rest))
    }

    /// The number of entries of the layers below a bound.
    fn changed_below(&self, bound: &[u8]) -> usize {
        self.changed.partition_point(|entry| **entry < *bound)
    }

    /// Visits the rows of some entries, those behind the position `from` or at it.
    pub(crate) fn ascending(
        &mut self,
        span: &Span,
        from: u64,
        reach: Reach,
        visit: VisitPosition<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut changed = self.changed.get(span.in_layers.clone()).unwrap_or_default();
        for number in span.in_file.clone() {
            let (values, at) = entry(self.run, &mut self.reader, number, reach)?;
            if at >= self.stored.stored().objects.len() {
                return Err(self.run.damaged("an index has a row that does not exist"));
            }
            // An entry of an object that layers change is left out.
            let Some(position) = self.stored.shown(at) else {
                continue;
            };
            if !changed.is_empty() {
                self.head.clear();
                self.head.extend_from_slice(values);
                self.head.extend_from_slice(&position.to_be_bytes());
            }
            while let Some((first, rest)) = changed.split_first()
                && **first < *self.head
            {
                changed = rest;
                if visited(position_in(first), from, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if visited(position, from, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        for entry in changed {
            if visited(position_in(entry), from, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// As [`ascending`](Self::ascending), from the last values to the first. Rows with equal values
    /// come by ascending position.
    pub(crate) fn descending(
        &mut self,
        mut span: Span,
        from: u64,
        visit: VisitPosition<'_>,
    ) -> Result<ControlFlow<()>> {
        while let Some(values) = self.last_values(&span)? {
            let first = self.below(&values)?;
            let group = span.split_off(first, self.changed_below(&values));
            let is_one = group.in_file.end - group.in_file.start <= 1;
            let reach = if is_one { Reach::Behind } else { Reach::Ahead };
            if self.ascending(&group, from, reach, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The encoded values of the last of some entries.
    fn last_values(&mut self, span: &Span) -> Result<Option<Vec<u8>>> {
        let changed = self.changed.get(span.in_layers.clone());
        let changed = changed.and_then(<[_]>::last);
        let changed = changed.and_then(|entry| entry.split_last_chunk::<POSITION_BYTES>());
        let changed = changed.map(|(values, _)| values.to_vec());
        if span.in_file.is_empty() {
            return Ok(changed);
        }
        let last = span.in_file.end - 1;
        let (values, _) = entry(self.run, &mut self.reader, last, Reach::Behind)?;
        Ok(changed.max(Some(values.to_vec())))
    }

    /// The number of entries of the file below encoded values.
    fn below(&mut self, bound: &[u8]) -> Result<u64> {
        self.reader.below(self.run, bound, &|record, out| {
            out.extend_from_slice(record);
            Ok(())
        })
    }
}

/// The encoded values of an entry of the file, and the position of its row there.
fn entry<'r>(
    run: &'r Run,
    reader: &'r mut RecordReader,
    number: u64,
    reach: Reach,
) -> Result<(&'r [u8], u64)> {
    let record = reader.record(run, number, reach)?;
    let parts = record.split_last_chunk::<POSITION_BYTES>();
    let (values, position) = parts.ok_or_else(|| run.damaged("an entry is too short"))?;
    Ok((values, u64::from_be_bytes(*position)))
}

/// The position of the row of an entry of the layers.
fn position_in(entry: &[u8]) -> u64 {
    let position = entry.last_chunk::<POSITION_BYTES>();
    position.map_or(0, |position| u64::from_be_bytes(*position))
}

fn visited(position: u64, from: u64, visit: VisitPosition<'_>) -> Result<ControlFlow<()>> {
    match position < from {
        true => Ok(ControlFlow::Continue(())),
        false => visit(position),
    }
}
