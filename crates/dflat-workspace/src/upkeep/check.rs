//! Looking for damage.

use dflat_engine::dictionary;
use dflat_engine::transaction::derive;
use dflat_model::Table;
use dflat_sqlite::{Problem, ProblemKind, SqliteBackend};

use super::progress::{OnProgress, with_progress};
use crate::{Result, Workspace};

/// The most problems that a report lists.
const PROBLEMS_MAX: usize = 10_000;

/// The result of a check.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// The pages of the file.
    pub pages: u64,
    /// The objects that were checked, values of the dictionary included.
    pub rows: u64,
    /// The first 10,000 problems.
    pub problems: Vec<Problem>,
    /// The number of all problems.
    pub problems_count: u64,
}

impl CheckReport {
    /// Whether nothing is damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems_count == 0
    }

    fn note(&mut self, problem: Problem) {
        self.problems_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    pub(super) fn has(&self, kinds: &[ProblemKind]) -> bool {
        self.problems.iter().any(|p| kinds.contains(&p.kind))
    }
}

impl Workspace {
    /// Looks for damage in the file: of its pages; of each row of these tables and of the
    /// dictionary; of their primary keys and indexes; and for index entries without a row.
    /// Transactions and reads go on meanwhile. In memory there is nothing to check.
    ///
    /// `progress` is called on this thread with the rows of the current table that were checked; if
    /// it breaks, the check ends.
    ///
    /// # Errors
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) if `progress` breaks, and
    ///   [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    /// - Else as reading can fail for other reasons than damage.
    pub fn check(
        &self,
        tables: impl IntoIterator<Item = Table>,
        progress: OnProgress<'_>,
    ) -> Result<CheckReport> {
        self.on_sqlite("check", |sqlite| {
            with_progress("check", progress, |progress| {
                check(sqlite, &with_dictionary(tables), progress)
            })
        })
    }
}

/// Adds the dictionary to the tables: its values are always checked and mended with them.
pub(super) fn with_dictionary(types: impl IntoIterator<Item = Table>) -> Vec<Table> {
    let mut tables: Vec<Table> = types.into_iter().collect();
    if !tables.iter().any(|t| t.name == dictionary::TABLE.name) {
        tables.push(dictionary::TABLE);
    }
    tables
}

pub(super) fn check(
    sqlite: &SqliteBackend,
    tables: &[Table],
    progress: OnProgress<'_>,
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    report.pages = sqlite.check_pages(&mut |problem| report.note(problem))?;
    for table in tables {
        let found = &mut |problem| report.note(problem);
        let rows = sqlite.check_rows(table, &derive, found, progress)?;
        report.rows += rows;
    }
    Ok(report)
}
