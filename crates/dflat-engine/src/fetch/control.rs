//! Ending a read before it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dflat_model::Table;

use crate::error::{Error, ErrorKind, Result};

/// Cancels reads. Clones cancel the same.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Cancels nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels all reads that were given this, those that run and those to come.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When a read ends before it is done, or goes another way.
#[derive(Clone, Debug)]
pub struct Control {
    /// The time after which it fails.
    pub deadline: Option<Instant>,
    /// What makes it fail.
    pub cancellation: Option<Cancellation>,
    /// The rows that it reaches by a key before it asks how many there are.
    pub rows_before_count: usize,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            deadline: None,
            cancellation: None,
            rows_before_count: ROWS_BEFORE_COUNT,
        }
    }
}

/// So many that to ask takes little beside them.
const ROWS_BEFORE_COUNT: usize = 512;

/// Rows between two looks at the clock.
const ROWS_PER_CHECK: u32 = 64;

/// Looks at a control now and then.
pub(super) struct ControlChecker<'c> {
    control: &'c Control,
    table: &'c Table,
    rows: u32,
}

impl<'c> ControlChecker<'c> {
    pub(super) const fn new(control: &'c Control, table: &'c Table) -> Self {
        Self {
            control,
            table,
            rows: 0,
        }
    }

    /// Notes a row that was visited.
    #[inline]
    pub(super) fn row(&mut self) -> Result<()> {
        if self.rows.is_multiple_of(ROWS_PER_CHECK) {
            self.check()?;
        }
        self.rows = self.rows.wrapping_add(1);
        Ok(())
    }

    /// Fails if it is over.
    pub(super) fn check(&self) -> Result<()> {
        let cancellation = self.control.cancellation.as_ref();
        let (kind, reason) = if cancellation.is_some_and(Cancellation::is_cancelled) {
            (ErrorKind::Cancelled, "it was cancelled")
        } else if self
            .control
            .deadline
            .is_some_and(|end| Instant::now() >= end)
        {
            (ErrorKind::DeadlineExceeded, "its time is up")
        } else {
            return Ok(());
        };
        let message = format!("cannot fetch {}: {reason}", self.table.type_name);
        Err(Error::new(kind, message))
    }
}
