//! Reads steps from the latest one back.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use dflat_engine::engine::Engine;
use dflat_engine::storage::{Snapshot, StepId, StepRow};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::record::{ChangeRecord, Part, RecordError};

use super::Note;

/// A batch has no more rows than this, and ends with the row that exceeds these bytes.
const ROWS_MAX: usize = 64;
const BYTES_MAX: usize = 256 << 10;

/// A row of the table of steps: its id, its note and its record.
type OwnedRow = (StepId, Vec<u8>, Vec<u8>);

/// The steps of a state.
pub trait StepSource {
    /// Visits steps as [`Snapshot::steps`] does.
    ///
    /// # Errors
    /// The errors of reading.
    fn visit(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()>;
}

impl StepSource for &Engine {
    fn visit(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.steps(below, visit)
    }
}

impl StepSource for dyn Snapshot + '_ {
    fn visit(
        &mut self,
        below: Option<StepId>,
        visit: &mut dyn FnMut(StepRow<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.steps(below, visit)
    }
}

/// A step as it is stored: the change record of its transaction, in parts if that was large.
#[derive(Clone, Debug)]
pub struct StoredStep {
    /// The number of the step.
    pub id: StepId,
    /// How it came about.
    pub note: Note,
    /// The records of its parts, the last part first.
    parts: Vec<Vec<u8>>,
}

impl StoredStep {
    /// The time of the commit, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for a record that cannot be read.
    pub(crate) fn time(&self) -> Result<u64> {
        let record = self.records().next().transpose()?;
        Ok(record.map_or(0, |record| record.head.time))
    }

    /// The bytes of its parts, the last part first.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(Vec::as_slice)
    }

    /// The records of its parts, the last part first; never empty. The first record has the label,
    /// the author and all tables.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for a record that cannot be read.
    pub fn records(&self) -> impl Iterator<Item = Result<ChangeRecord<'_>>> {
        self.parts.iter().map(|part| {
            let record = ChangeRecord::decode(part);
            record.map_err(|error| unreadable(self.id, &error))
        })
    }
}

/// Reads steps from the latest one back, in batches.
#[derive(Debug)]
pub struct Backwards {
    below: Option<StepId>,
    batch: VecDeque<OwnedRow>,
    /// The number of rows of the next batch.
    rows: usize,
    is_done: bool,
}

impl Backwards {
    /// Begins before a step; with the latest one if there is none given.
    #[must_use]
    pub const fn below(below: Option<StepId>) -> Self {
        Self {
            below,
            batch: VecDeque::new(),
            rows: 1,
            is_done: false,
        }
    }

    /// The next step; `None` after the first step of the history.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for a step that cannot be read; otherwise the errors of reading.
    pub fn next(&mut self, source: &mut (impl StepSource + ?Sized)) -> Result<Option<StoredStep>> {
        let Some((id, note, record)) = self.row(source)? else {
            return Ok(None);
        };
        let malformed = || unreadable(id, &RecordError::Malformed);
        let note = Note::from_bytes(&note).ok_or_else(malformed)?;
        let part = part_of(id, &record)?;
        let mut step = StoredStep {
            id,
            note,
            parts: vec![record],
        };
        let early = match part {
            Part::Whole => 0,
            Part::Final { early, .. } => early,
            Part::Early { .. } => return Err(malformed()),
        };
        for number in (0..early).rev() {
            let (id, _, record) = self.row(source)?.ok_or_else(malformed)?;
            if part_of(id, &record)? != (Part::Early { number }) {
                return Err(malformed());
            }
            step.parts.push(record);
        }
        Ok(Some(step))
    }

    fn row(&mut self, source: &mut (impl StepSource + ?Sized)) -> Result<Option<OwnedRow>> {
        if self.batch.is_empty() && !self.is_done {
            let (batch, mut bytes) = (&mut self.batch, 0);
            source.visit(self.below, &mut |row| {
                batch.push_back((row.id, row.note.to_vec(), row.record.to_vec()));
                bytes += row.record.len();
                match batch.len() < self.rows && bytes < BYTES_MAX {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            self.is_done = self.batch.is_empty();
            self.rows = ROWS_MAX.min(4 * self.rows);
        }
        let row = self.batch.pop_front();
        self.below = row.as_ref().map(|(id, ..)| *id).or(self.below);
        Ok(row)
    }
}

fn part_of(id: StepId, record: &[u8]) -> Result<Part> {
    let record = ChangeRecord::decode(record).map_err(|error| unreadable(id, &error))?;
    Ok(record.head.part)
}

/// The error of a step that cannot be read.
pub(crate) fn unreadable(id: StepId, error: &RecordError) -> Error {
    let message = format!("cannot read step {} of the history: {error}", id.0);
    Error::new(ErrorKind::Corrupt, message)
}
