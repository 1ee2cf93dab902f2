//! Repairing damage in place.

use std::sync::mpsc;
use std::time::Duration;

use dflat_model::{RowId, Table};
use dflat_sqlite::{Mending, Problem, ProblemKind, Progress, SqliteBackend};

use super::check::{CheckReport, check, with_dictionary};
use super::progress::{OnProgress, with_progress};
use crate::{Error, ErrorKind, Result, Workspace};

/// The time between two progress reports while indexes are built.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// The problems of rows that are moved.
const UNREADABLE: [ProblemKind; 2] = [ProblemKind::Payload, ProblemKind::Key];

/// The result of a repair.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// The problems before the repair.
    pub before: CheckReport,
    /// The rows that could not be read and were moved to `dflat__unreadable`, with the reason.
    pub unreadable: Vec<Problem>,
    /// The problems after the repair. Few remain, such as objects with a
    /// [missing key](ProblemKind::MissingKey) and damaged
    /// [descriptions](ProblemKind::Description) of other types.
    pub after: CheckReport,
}

impl Workspace {
    /// Repairs the file as far as possible: builds indexes anew, and moves rows that can't be read
    /// into the table `dflat__unreadable` of the file, with their bytes. A row whose key differs
    /// from the key of its object is moved, too. A row with a
    /// [missing key](ProblemKind::MissingKey) stays in its table.
    /// Transactions wait during parts of the repair. In memory, nothing is repaired.
    ///
    /// `progress` is called on this thread with the number of rows of the current table that were
    /// checked, and, while indexes are built, with the number of rows that were processed. If it
    /// returns `Break`, the repair ends: finished parts remain, and indexes that are being built
    /// are still completed.
    ///
    /// Subscribers are not notified of a repair.
    ///
    /// # Errors
    /// - [`Corrupt`](ErrorKind::Corrupt) if pages are damaged in a way that can't be repaired in
    ///   place: [`salvage`](super::salvage()) saves the readable rows.
    /// - Otherwise, the errors of [`check`](Self::check) and of writing.
    pub fn repair(
        &self,
        tables: impl IntoIterator<Item = Table>,
        progress: OnProgress<'_>,
    ) -> Result<RepairReport> {
        self.on_sqlite("repair", |sqlite| {
            with_progress("repair", progress, |progress| {
                repair(self, sqlite, &with_dictionary(tables), progress)
            })
        })
    }
}

fn repair(
    workspace: &Workspace,
    sqlite: &SqliteBackend,
    tables: &[Table],
    progress: OnProgress<'_>,
) -> Result<RepairReport> {
    let before = check(sqlite, tables, progress)?;
    let mut unreadable = mend(sqlite, tables, &before)?;
    let (mut left, mut has_more) = (before.problems_count, before.omits(&UNREADABLE));
    // Order: all of them are moved before the indexes are built, which reads each row.
    while has_more {
        let found = check(sqlite, tables, progress)?;
        unreadable.extend(mend(sqlite, tables, &found)?);
        has_more = found.omits(&UNREADABLE) && found.problems_count < left;
        left = found.problems_count;
    }
    if !before.is_sound() {
        build(workspace, tables, progress)?;
    }
    let after = check(sqlite, tables, progress)?;
    refuse_pages(&after)?;
    Ok(RepairReport {
        before,
        unreadable,
        after,
    })
}

/// Drops indexes with wrong entries, and moves unreadable rows to `dflat__unreadable`. Returns the
/// problems of the moved rows.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if pages would still be damaged afterwards, and nothing is
/// changed then; otherwise the errors of writing.
fn mend(sqlite: &SqliteBackend, tables: &[Table], before: &CheckReport) -> Result<Vec<Problem>> {
    let (mut moved, mut rows, mut indexes) = (Vec::new(), Vec::new(), Vec::new());
    for table in tables {
        let of_table = || {
            let problems = before.problems.iter();
            problems.filter(|problem| problem.table.as_deref() == Some(&*table.name))
        };
        let is_of_index = |p: &Problem| matches!(p.kind, ProblemKind::Index | ProblemKind::Orphan);
        if of_table().any(is_of_index) {
            indexes.push(table);
        }
        let unreadable = of_table().filter(|p| UNREADABLE.contains(&p.kind));
        let of_rows: Vec<(RowId, String)> = unreadable
            .filter_map(|p| {
                moved.push(p.clone());
                Some((p.row_id?, p.message.clone()))
            })
            .collect();
        if !of_rows.is_empty() {
            rows.push((table, of_rows));
        }
    }
    let has_damaged_pages = before.has(&[ProblemKind::Pages]);
    if rows.is_empty() && indexes.is_empty() && !has_damaged_pages {
        return Ok(moved);
    }
    let mended = sqlite.repair_in_place(&Mending {
        rows: &rows,
        indexes: &indexes,
        has_damaged_pages,
    });
    match has_damaged_pages {
        true => mended.map_err(beyond_repair)?,
        false => mended?,
    }
    Ok(moved)
}

/// Fails if pages are damaged.
fn refuse_pages(report: &CheckReport) -> Result<()> {
    if !report.has(&[ProblemKind::Pages]) {
        return Ok(());
    }
    let first = report.problems.first();
    let why = first.map_or("", |problem| problem.message.as_str());
    Err(beyond_repair(Error::new(ErrorKind::Corrupt, why)))
}

/// Builds the indexes of these tables, and reports the progress.
fn build(workspace: &Workspace, tables: &[Table], progress: OnProgress<'_>) -> Result<()> {
    workspace.engine().build_indexes(tables)?;
    let (done, ready) = mpsc::channel();
    let done = Box::new(move |outcome| {
        // The caller may have given up waiting.
        let _ = done.send(outcome);
    });
    workspace.engine().when_indexes_are_ready(done);
    loop {
        match ready.recv_timeout(REPORT_EVERY) {
            Ok(outcome) => return outcome,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let message = "cannot repair: the workspace was shut down";
                return Err(Error::new(ErrorKind::ShutDown, message));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let indexes = workspace.engine().index_progress();
        let flow = progress(Progress {
            done: indexes.iter().map(|index| index.rows_done).sum(),
            total: indexes.iter().map(|index| index.rows_total).sum(),
        });
        if flow.is_break() {
            let message = "cannot repair: the repair was cancelled";
            return Err(Error::new(ErrorKind::Cancelled, message));
        }
    }
}

fn beyond_repair(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => {
            let message = "cannot repair the file in place, because pages are damaged: \
                           Workspace::salvage saves what can be read into a new one";
            Error::with_source(ErrorKind::Corrupt, message, error)
        }
        _ => error,
    }
}
