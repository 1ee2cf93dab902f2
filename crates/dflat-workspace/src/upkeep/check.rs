//! Looking for damage.

use dflat_engine::dictionary;
use dflat_engine::transaction::derive;
use dflat_model::Table;
use dflat_sqlite::{Problem, ProblemKind, SqliteBackend};

use super::progress::{OnProgress, with_progress};
use crate::{Result, Workspace};

/// The most problems that a report lists.
const PROBLEMS_MAX: usize = 10_000;

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// The pages of the file.
    pub pages: u64,
    /// The objects that were looked at, values of the dictionary included.
    pub rows: u64,
    /// What is damaged: the first 10,000.
    pub problems: Vec<Problem>,
    /// How many there are.
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

/// The dictionary's values are checked and mended with all types.
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
