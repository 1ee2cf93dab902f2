//! Looking for damage, mending it, and saving what can be read.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::callback;
use dflat_engine::storage::{
    Backend, CloseOptions, IndexEntry, Row, RowWrite, ScanPlan, Source, View, WriteError,
};
use dflat_engine::transaction::{Derived, derive};
use dflat_model::{RowId, Table, ValueRef};
use dflat_sqlite::{Problem, ProblemKind, Progress, SqliteBackend, SqliteOptions};

use crate::maintenance::with_progress;
use crate::{Dictionary, Error, ErrorKind, Result, Workspace};

/// The most problems that a report lists.
const PROBLEMS_MAX: usize = 10_000;

/// How many row ids are looked up in turn where pages are damaged.
const ALONE_MAX: usize = 1000;

/// The rows of a transaction that saves them.
const ROWS_MAX: usize = 1000;

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

/// What was saved of a damaged file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The objects in the new file.
    pub saved: u64,
    /// The rows that can't be read: their bytes, or the pages they are on. Where pages are damaged
    /// it is not known which rows there were, and this is about how many may have been.
    pub lost: u64,
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
        match self.sqlite() {
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
        callback::forbid_blocking("repair")?;
        let Some(sqlite) = self.sqlite() else {
            return Ok(RepairReport::default());
        };
        repair(self, sqlite, &with_dictionary(types))
    }

    /// Saves what can be read of these types, and of the dictionary, from a damaged file into a new
    /// one, which must not exist. Objects keep their row ids; indexes are built anew. The damaged
    /// file is not changed, and may not be open.
    ///
    /// # Errors
    /// - [`NotADatabase`](ErrorKind::NotADatabase) or [`Corrupt`](ErrorKind::Corrupt) if not even
    ///   the list of the tables can be read.
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if there is something at `to`, or the log
    ///   or journal of an earlier file beside it.
    /// - Else as reading the one and writing the other can fail.
    pub fn salvage(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        types: impl IntoIterator<Item = Table>,
    ) -> Result<SalvageReport> {
        callback::forbid_blocking("salvage")?;
        let to = to.as_ref();
        if let Some(by) = dflat_sqlite::in_the_way(to) {
            let (to, by) = (to.display(), by.display());
            let message = format!("cannot salvage into {to}: there is a {by}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let source = SqliteBackend::open(from, SqliteOptions::default())?;
        let target = SqliteBackend::open(to, SqliteOptions::default())?;
        let mut report = SalvageReport::default();
        let saved = with_dictionary(types)
            .iter()
            .try_for_each(|table| Salvage::new(&source, &target, table).run(&mut report));
        // What was read is what counts.
        let _ = source.close(CloseOptions::default());
        let closed = target.close(CloseOptions::default());
        saved.and(closed).map(|()| report)
    }
}

/// The dictionary's values are checked and mended with all types.
fn with_dictionary(types: impl IntoIterator<Item = Table>) -> Vec<Table> {
    let mut tables: Vec<Table> = types.into_iter().collect();
    if !tables.iter().any(|t| t.name == Dictionary::TABLE.name) {
        tables.push(Dictionary::TABLE);
    }
    tables
}

fn check(
    sqlite: &SqliteBackend,
    tables: &[Table],
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
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

fn repair(workspace: &Workspace, sqlite: &SqliteBackend, tables: &[Table]) -> Result<RepairReport> {
    let mut never = |_| ControlFlow::Continue(());
    let before = check(sqlite, tables, &mut never)?;
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
    if !before.is_sound() {
        workspace.build_indexes(tables.iter().cloned())?;
        workspace.indexes_ready().wait()?;
    }
    let after = check(sqlite, tables, &mut never)?;
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

/// Reading met damage.
struct Damaged;

/// Saves the rows of a table.
struct Salvage<'s> {
    source: &'s Arc<SqliteBackend>,
    target: &'s Arc<SqliteBackend>,
    table: &'s Table,
    /// The rows that were read.
    met: HashSet<RowId>,
    /// Those that may have been there, and were not.
    unreadable: HashSet<RowId>,
    /// Rows that wait to be written.
    rows: Vec<(RowId, Vec<u8>, Derived)>,
}

impl<'s> Salvage<'s> {
    fn new(
        source: &'s Arc<SqliteBackend>,
        target: &'s Arc<SqliteBackend>,
        table: &'s Table,
    ) -> Self {
        Self {
            source,
            target,
            table,
            met: HashSet::new(),
            unreadable: HashSet::new(),
            rows: Vec::new(),
        }
    }

    fn run(mut self, report: &mut SalvageReport) -> Result<()> {
        if self.read(Source::RowsAfter(RowId(0)), report)?.is_err() {
            self.sweep(report)?;
        }
        // By itself a row may be another than where damage has led.
        for row_id in Vec::from_iter(self.unreadable.iter().copied()) {
            let _ = self.read(Source::RowIds(&[row_id]), report)?;
        }
        report.lost += self.unreadable.len() as u64;
        self.write(report)
    }

    /// Looks up every row id that was not met: where reading one row after the other meets damage,
    /// those behind it may lie elsewhere.
    fn sweep(&mut self, report: &mut SalvageReport) -> Result<()> {
        let last = self.source.last_row_id(self.table)?;
        let (mut next, mut misses) = (RowId(0), 0);
        while next < last {
            next = RowId(next.0 + 1);
            if !self.met.contains(&next) {
                let outcome = self.read(Source::RowIds(&[next]), report)?;
                if outcome.is_err() {
                    self.unreadable.insert(next);
                }
                misses += 1;
            }
            if self.met.contains(&next) {
                misses = 0;
            } else if misses >= ALONE_MAX {
                next = self.look_far(next, last)?;
                misses = 0;
            }
        }
        Ok(())
    }

    /// The row id before the next row that can be read, or `last`: many rows may be lost together,
    /// or the last row id be damaged itself.
    fn look_far(&self, from: RowId, last: RowId) -> Result<RowId> {
        let (mut bad, mut step) = (from.0, 1_i64);
        let (mut good, mut found) = loop {
            let probe = bad.saturating_add(step);
            if probe >= last.0 {
                return Ok(last);
            }
            if let Some(row_id) = self.first_after(RowId(probe), last)? {
                break (probe, row_id);
            }
            (bad, step) = (probe, step.saturating_mul(2));
        };
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            match self.first_after(RowId(middle), last)? {
                Some(row_id) => (good, found) = (middle, row_id),
                None => bad = middle,
            }
        }
        Ok(RowId(found.0 - 1))
    }

    /// The next row after a row id, or the one after `last` if there is none; `None` if damage is
    /// before it.
    fn first_after(&self, after: RowId, last: RowId) -> Result<Option<RowId>> {
        let mut snapshot = Arc::clone(self.source).snapshot(View::Latest)?;
        let plan = ScanPlan {
            table: self.table,
            source: Source::RowsAfter(after),
            payload: true,
        };
        let mut found = RowId(last.0.saturating_add(1));
        let scanned = snapshot.scan(&plan, &mut |row| {
            found = row.row_id;
            ControlFlow::Break(())
        });
        match scanned {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            scanned => scanned.map(|()| Some(found).filter(|found| *found > after)),
        }
    }

    /// Reads rows in ascending order; an error inside is damage.
    fn read(
        &mut self,
        source: Source<'_>,
        report: &mut SalvageReport,
    ) -> Result<std::result::Result<(), Damaged>> {
        let mut snapshot = Arc::clone(self.source).snapshot(View::Latest)?;
        let plan = ScanPlan {
            table: self.table,
            source,
            payload: true,
        };
        let (mut reached, mut in_order) = (RowId(0), true);
        let mut written = Ok(());
        let mut visit = |row: Row<'_>| {
            // Damage may lead in a circle.
            in_order = row.row_id > reached;
            if !in_order {
                return ControlFlow::Break(());
            }
            reached = row.row_id;
            if !self.met.contains(&reached) {
                if let Ok(derived) = derive(self.table, row.payload) {
                    self.rows.push((reached, row.payload.to_vec(), derived));
                    self.met.insert(reached);
                    self.unreadable.remove(&reached);
                } else {
                    self.unreadable.insert(reached);
                }
            }
            if self.rows.len() >= ROWS_MAX {
                written = self.write(report);
            }
            match &written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        let scanned = snapshot.scan(&plan, &mut visit);
        written?;
        match scanned {
            Ok(()) if !in_order => Ok(Err(Damaged)),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Err(Damaged)),
            scanned => scanned.map(Ok),
        }
    }

    fn write(&mut self, report: &mut SalvageReport) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let mut writer = Arc::clone(self.target).begin()?;
        writer.create(self.table)?;
        for (row_id, payload, derived) in &rows {
            let key: Vec<ValueRef<'_>> = derived.key.iter().map(|part| part.as_ref()).collect();
            let entries = derived.entries.iter().enumerate();
            let entries: Vec<IndexEntry<'_>> = entries
                .map(|(index, value)| IndexEntry {
                    index,
                    value: value.as_ref(),
                })
                .collect();
            let row = RowWrite {
                key: Some(&key),
                payload,
                entries: &entries,
            };
            match writer.restore(self.table, *row_id, &row) {
                Ok(()) => report.saved += 1,
                // Damage may show a row twice.
                Err(WriteError::Conflict(_)) => report.lost += 1,
                Err(WriteError::Failed(error)) => return Err(error),
            }
        }
        writer.commit()
    }
}
