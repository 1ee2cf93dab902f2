//! Checking a file for damage.

use dflat_engine::dictionary;
use dflat_engine::transaction::derive;
use dflat_model::Table;
use dflat_sqlite::{Problem, ProblemKind, SqliteBackend};

use super::progress::{OnProgress, with_progress};
use super::stored_tables::described_table;
use crate::{ErrorKind, Result, Workspace};

/// The maximum number of problems of one kind in one table that a report lists.
const PROBLEMS_MAX: usize = 10_000;

/// The result of a check.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// The number of pages of the file.
    pub pages: u64,
    /// The number of objects that were checked, including values of the dictionary.
    pub rows: u64,
    /// The first 10,000 problems of each kind in each table.
    pub problems: Vec<Problem>,
    /// The number of all problems.
    pub problems_count: u64,
    /// The number of listed problems of each kind in each table.
    listed: Vec<(ProblemKind, Option<String>, usize)>,
}

impl CheckReport {
    /// Whether no damage was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems_count == 0
    }

    fn note(&mut self, problem: Problem) {
        self.problems_count += 1;
        let known = |(kind, table, _): &(ProblemKind, Option<String>, usize)| {
            *kind == problem.kind && *table == problem.table
        };
        let position = self.listed.iter().position(known);
        let position = position.unwrap_or_else(|| {
            self.listed.push((problem.kind, problem.table.clone(), 0));
            self.listed.len() - 1
        });
        // The place was found or made above.
        if let Some((.., count)) = self.listed.get_mut(position)
            && *count < PROBLEMS_MAX
        {
            *count += 1;
            self.problems.push(problem);
        }
    }

    /// Whether there may be more problems of one of these kinds than are listed.
    pub(super) fn omits(&self, kinds: &[ProblemKind]) -> bool {
        let is_full = |(kind, _, count): &(ProblemKind, Option<String>, usize)| {
            kinds.contains(kind) && *count >= PROBLEMS_MAX
        };
        self.listed.iter().any(is_full)
    }

    pub(super) fn has(&self, kinds: &[ProblemKind]) -> bool {
        self.problems.iter().any(|p| kinds.contains(&p.kind))
    }
}

impl Workspace {
    /// Checks the file for damage: its pages; the stored descriptions of its types; each row of
    /// these tables and of the dictionary; their primary keys and indexes; and index entries
    /// without a row. Transactions and reads go on meanwhile. In memory, nothing is checked.
    ///
    /// `progress` is called on this thread with the number of rows of the current table that were
    /// checked. If it returns `Break`, the check ends.
    ///
    /// # Errors
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) if `progress` returns `Break`, and
    ///   [`Panicked`](crate::ErrorKind::Panicked) if it panics.
    /// - Otherwise, errors of reading that have other causes than damage.
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

/// Adds the dictionary to the tables. Its values are always checked and repaired, too.
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
    sqlite.check_descriptions(&damage_of, &mut |problem| report.note(problem))?;
    for table in tables {
        let found = &mut |problem| report.note(problem);
        let rows = sqlite.check_rows(table, &derive, found, progress)?;
        report.rows += rows;
    }
    Ok(report)
}

/// The damage of a stored description. One of a later release is not damaged.
fn damage_of(name: &str, bytes: &[u8]) -> Option<String> {
    let error = described_table(name, bytes).err()?;
    (error.kind() == ErrorKind::Corrupt).then(|| error.to_string())
}
