//! Looking for damage, and mending it in place.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::time::Duration;

use dflat_engine::callback;
use dflat_engine::transaction::derive;
use dflat_model::{RowId, Table};
use dflat_sqlite::{Problem, ProblemKind, Progress, SqliteBackend};

use crate::maintenance::{Tell, with_progress};
use crate::{Dictionary, Error, ErrorKind, Result, Workspace};

/// The most problems that a report lists.
const PROBLEMS_MAX: usize = 10_000;

/// How often it is told how far indexes are that are built anew.
const TELL_EVERY: Duration = Duration::from_millis(50);

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

    fn has(&self, kinds: &[ProblemKind]) -> bool {
        self.problems.iter().any(|p| kinds.contains(&p.kind))
    }
}

/// What a repair did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was damaged before.
    pub before: CheckReport,
    /// The objects that could not be read, and were moved aside, with the reason.
    pub set_aside: Vec<Problem>,
    /// What is damaged still: values of the dictionary or objects that nobody can tell the key of
    /// are set aside, so that as a rule there is nothing.
    pub after: CheckReport,
}

impl Workspace {
    /// Looks for damage in the file: of its pages; of each object of these types and each value of
    /// the dictionary; of their primary keys and indexes; and for index entries without an object.
    /// Types that are not named are covered by the check of the pages only. Transactions and reads
    /// go on meanwhile. In memory there is nothing to check.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(
    /// #         env!("CARGO_MANIFEST_DIR"),
    /// #         "/../dflat-codegen/tests/data/post/rust.rs"
    /// #     ));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// # let path = directory.path().join("posts.db");
    /// let workspace = Workspace::open(path)?;
    /// let report = workspace.check([Post::TABLE])?;
    /// assert!(report.is_sound(), "{:?}", report.problems);
    /// # workspace.shutdown()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As reading can fail for another reason than damage, which is what the report is for;
    /// [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
    ///
    /// # Cost
    /// Reads the whole file twice, and looks up each index entry. Until it ends the write-ahead log
    /// can't be cut back.
    pub fn check(&self, types: impl IntoIterator<Item = Table>) -> Result<CheckReport> {
        self.check_with(types, |_| ControlFlow::Continue(()))
    }

    /// Checks as [`check`](Self::check) does. `progress` is told, on this thread, how many objects
    /// of the type at hand were looked at; if it breaks, the check is given up. It is a callback:
    /// what waits, as for a shutdown, is refused inside.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`Cancelled`](ErrorKind::Cancelled) if `progress` breaks, and
    /// [`Panicked`](ErrorKind::Panicked) if it panics.
    pub fn check_with(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        callback::forbid_blocking("check")?;
        match self.untyped().sqlite() {
            None => Ok(CheckReport::default()),
            Some(sqlite) => with_progress("check", &mut progress, |progress| {
                check(sqlite, &with_dictionary(types), progress)
            }),
        }
    }

    /// Mends what can be: builds indexes anew, those of SQLite and ours, and moves objects that
    /// can't be read into the table `dflat__unreadable` of the file, with their bytes. Nothing that
    /// can be read is lost. Transactions wait for parts of it.
    ///
    /// Call it before subscribing: subscribers are not told what it does.
    ///
    /// # Errors
    /// - [`Corrupt`](ErrorKind::Corrupt) if pages are damaged in a way that can't be mended in
    ///   place: [`salvage`](Self::salvage) saves what can be read.
    /// - Else as [`check`](Self::check), and as writing can fail.
    pub fn repair(&self, types: impl IntoIterator<Item = Table>) -> Result<RepairReport> {
        self.repair_with(types, |_| ControlFlow::Continue(()))
    }

    /// Repairs as [`repair`](Self::repair) does. `progress` is told, on this thread, how many
    /// objects of the type at hand were looked at, before and after, and while indexes are built
    /// how many they have passed; if it breaks, the repair is given up: what was mended stays so,
    /// and indexes that are being built are built to the end. It is a callback: what waits, as for
    /// a shutdown, is refused inside.
    ///
    /// # Errors
    /// As [`repair`](Self::repair); [`Cancelled`](ErrorKind::Cancelled) if `progress` breaks, and
    /// [`Panicked`](ErrorKind::Panicked) if it panics.
    pub fn repair_with(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RepairReport> {
        callback::forbid_blocking("repair")?;
        match self.untyped().sqlite() {
            None => Ok(RepairReport::default()),
            Some(sqlite) => with_progress("repair", &mut progress, |progress| {
                repair(self, sqlite, &with_dictionary(types), progress)
            }),
        }
    }
}

/// The dictionary's values are checked and mended with all types.
pub(crate) fn with_dictionary(types: impl IntoIterator<Item = Table>) -> Vec<Table> {
    let mut tables: Vec<Table> = types.into_iter().collect();
    if !tables.iter().any(|t| t.name == Dictionary::TABLE.name) {
        tables.push(Dictionary::TABLE);
    }
    tables
}

fn check(sqlite: &SqliteBackend, tables: &[Table], progress: Tell<'_>) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    report.pages = sqlite.check_pages(&mut |problem| report.note(problem))?;
    for table in tables {
        let found = &mut |problem| report.note(problem);
        let rows = sqlite.check_rows(table, &derive, found, progress)?;
        report.rows += rows;
    }
    Ok(report)
}

fn repair(
    workspace: &Workspace,
    sqlite: &SqliteBackend,
    tables: &[Table],
    progress: Tell<'_>,
) -> Result<RepairReport> {
    let before = check(sqlite, tables, progress)?;
    let set_aside = mend(sqlite, tables, &before)?;
    if !before.is_sound() {
        build(workspace, tables, progress)?;
    }
    let after = check(sqlite, tables, progress)?;
    if after.has(&[ProblemKind::Pages]) {
        let first = after.problems.first();
        let why = first.map_or("", |problem| problem.message.as_str());
        return Err(beyond_repair(Error::new(ErrorKind::Corrupt, why)));
    }
    Ok(RepairReport {
        before,
        set_aside,
        after,
    })
}

/// Moves aside what can't be read, which it gives, and drops indexes that lie.
fn mend(sqlite: &SqliteBackend, tables: &[Table], before: &CheckReport) -> Result<Vec<Problem>> {
    let mut set_aside = Vec::new();
    for table in tables {
        let of_table = |problem: &&Problem| problem.table.as_deref() == Some(&*table.name);
        let found: Vec<&Problem> = before.problems.iter().filter(of_table).collect();
        let unreadable = found
            .iter()
            .filter(|p| matches!(p.kind, ProblemKind::Payload | ProblemKind::Key));
        let rows: Vec<(RowId, String)> = unreadable
            .filter_map(|p| {
                set_aside.push((*p).clone());
                Some((p.row_id?, p.message.clone()))
            })
            .collect();
        if !rows.is_empty() {
            sqlite.set_aside(table, &rows)?;
        }
        if found
            .iter()
            .any(|p| matches!(p.kind, ProblemKind::Index | ProblemKind::Orphan))
        {
            sqlite.drop_indexes(table)?;
        }
    }
    if before.has(&[ProblemKind::Pages]) {
        sqlite.reindex().map_err(beyond_repair)?;
    }
    Ok(set_aside)
}

/// Builds indexes, and tells how far they are.
fn build(workspace: &Workspace, tables: &[Table], progress: Tell<'_>) -> Result<()> {
    workspace.build_indexes(tables.iter().cloned())?;
    let (done, ready) = mpsc::channel();
    let done = Box::new(move |outcome| {
        // Who waited may have given up.
        let _ = done.send(outcome);
    });
    workspace.engine().when_indexes_are_ready(done);
    loop {
        match ready.recv_timeout(TELL_EVERY) {
            Ok(outcome) => return outcome,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let message = "cannot repair: the workspace was shut down";
                return Err(Error::new(ErrorKind::ShutDown, message));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let indexes = workspace.index_progress();
        let told = progress(Progress {
            done: indexes.iter().map(|index| index.rows_done).sum(),
            total: indexes.iter().map(|index| index.rows_total).sum(),
        });
        if told.is_break() {
            let message = "cannot repair: it was cancelled";
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
