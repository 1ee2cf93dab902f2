//! Cancellation and deadlines of reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dflat_model::Table;

use crate::error::{Error, ErrorKind, Result};

/// Cancels reads. Clones cancel the same reads.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// A cancellation that has not been called.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels all reads that were given this cancellation, running and later ones.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl From<Arc<AtomicBool>> for Cancellation {
    /// A cancellation that is called by setting a flag, as a signal handler may do. If the flag is
    /// cleared, later reads are not cancelled.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// The bounds of a read.
#[derive(Clone, Debug)]
pub struct Control {
    /// The time after which the read fails.
    pub deadline: Option<Instant>,
    /// A cancellation that makes the read fail.
    pub cancellation: Option<Cancellation>,
    /// A cancellation by the library, because nothing waits for the result any more.
    pub abandonment: Option<Cancellation>,
    /// The number of rows reached by a key before the rows of the table are counted. Defaults to
    /// 512.
    pub rows_before_count: usize,
    /// Whether objects that lack required fields are read. Otherwise, they are an error.
    pub incomplete: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            deadline: None,
            cancellation: None,
            abandonment: None,
            rows_before_count: ROWS_BEFORE_COUNT,
            incomplete: false,
        }
    }
}

impl Control {
    /// Whether the caller has set a time limit or may cancel the read.
    pub(super) const fn is_bounded(&self) -> bool {
        self.deadline.is_some() || self.cancellation.is_some()
    }
}

/// Estimating the number of rows visits fewer than 400 row ids, without payloads, which costs
/// little compared with reading 512 rows by a key.
const ROWS_BEFORE_COUNT: usize = 512;

/// The number of rows between two checks of the clock and the cancellation, so that a cancelled
/// scan visits at most 64 more rows.
const ROWS_PER_CHECK: u32 = 64;

/// Checks a control every few rows.
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

    /// Counts a visited row, and checks the control every [`ROWS_PER_CHECK`] rows.
    #[inline]
    pub(super) fn row(&mut self) -> Result<()> {
        if self.rows.is_multiple_of(ROWS_PER_CHECK) {
            self.check()?;
        }
        self.rows = self.rows.wrapping_add(1);
        Ok(())
    }

    /// Fails if the read was cancelled or its deadline has passed.
    pub(super) fn check(&self) -> Result<()> {
        let is_cancelled = |cancellation: &Option<Cancellation>| {
            let cancellation = cancellation.as_ref();
            cancellation.is_some_and(Cancellation::is_cancelled)
        };
        let control = self.control;
        let cancelled = is_cancelled(&control.cancellation) || is_cancelled(&control.abandonment);
        let (kind, reason) = if cancelled {
            (ErrorKind::Cancelled, "it was cancelled")
        } else if self
            .control
            .deadline
            .is_some_and(|end| Instant::now() >= end)
        {
            (ErrorKind::DeadlineExceeded, "the deadline has passed")
        } else {
            return Ok(());
        };
        let message = format!("cannot fetch {}: {reason}", self.table.type_name);
        Err(Error::new(kind, message))
    }
}
