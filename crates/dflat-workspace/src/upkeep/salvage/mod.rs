//! Saving the readable rows of a damaged file.

mod saved;
mod source;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use dflat_engine::callback;
use dflat_engine::storage::{Backend, CloseOptions, Row, ScanPlan, Snapshot, Source, View};
use dflat_engine::transaction::derive;
use dflat_model::{RowId, Table};
use dflat_sqlite::{PartialDatabase, Progress, SqliteBackend, SqliteOptions};

use super::check::with_dictionary;
use super::progress::{OnProgress, with_progress};
use crate::{Error, ErrorKind, Result};
use saved::{Saved, SavedRow};
pub use source::open_damaged;
use source::source_options;

/// The maximum number of missing row ids that are looked up in sequence where pages are damaged,
/// and of known rows that are read in sequence.
const ALONE_MAX: usize = 1000;

/// The number of row ids between two progress reports.
const REPORT_EVERY: i64 = 256;

/// The result of a salvage.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The number of objects in the new file.
    pub saved: u64,
    /// The number of rows that do not decode, or whose key belongs to another object. They are in
    /// the table `dflat__unreadable` of the new file, as
    /// [`Workspace::repair`](crate::Workspace::repair) keeps them.
    pub unreadable: u64,
    /// The number of rows on pages that can't be read. This is an estimate, because it is not known
    /// which rows were on damaged pages.
    pub lost: u64,
}

/// Saves all readable rows of these tables, and of the dictionary, from a damaged file into a new
/// file, which must not exist. Rows keep their row ids, unless damage shows several rows with the
/// same row id; indexes are built anew. Of several rows with the same primary key, one is kept. The
/// other rows, and rows that do not decode, are kept in `dflat__unreadable`.
///
/// The damaged file must not be open. It is not changed, unless a rollback journal is beside it:
/// its unfinished transaction is rolled back first.
///
/// If the file stands on a pack, the new file stands on the same pack. The history of the file is
/// not saved.
///
/// `progress` is called on this thread with the row id that was reached in the current table and,
/// approximately, the table's last row id. It starts again where damage is met. If it returns
/// `Break`, the new file is deleted. The new file gets its name when it is complete and on the
/// device.
///
/// # Errors
/// - [`NotFound`](ErrorKind::NotFound) if there is no file at `from`.
/// - [`NotADatabase`](ErrorKind::NotADatabase) or [`Corrupt`](ErrorKind::Corrupt) if the list of
///   the tables can't be read.
/// - [`InvalidArgument`](ErrorKind::InvalidArgument) if there is a file at `to`, or a log or
///   journal beside it, or if a file of this name would belong to another database.
/// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback.
/// - [`Cancelled`](ErrorKind::Cancelled) if `progress` returns `Break`, and
///   [`Panicked`](ErrorKind::Panicked) if it panics.
/// - Otherwise, the errors of reading the damaged file and of writing the new one. The new file is
///   deleted then.
pub fn salvage(
    from: &Path,
    to: &Path,
    tables: impl IntoIterator<Item = Table>,
    progress: OnProgress<'_>,
) -> Result<SalvageReport> {
    callback::forbid_blocking("salvage")?;
    if let Some(obstacle) = dflat_sqlite::obstacle(to) {
        let message = format!("cannot salvage into {}: {obstacle}", to.display());
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    check_exists(from)?;
    let source = SqliteBackend::open(from, source_options(from))?;
    let part = PartialDatabase::create("cannot salvage into", to)?;
    let target = SqliteBackend::open(part.path(), SqliteOptions::default())?;
    // The idle connection of the writer has a lock on the file, so that no other process takes the
    // file for one that was left.
    let writer = Arc::clone(&target).begin(target.durability())?;
    writer.commit()?;
    let tables = with_dictionary(tables);
    let saved = with_progress("salvage", progress, |progress| {
        let mut report = SalvageReport::default();
        for table in &tables {
            let saved = Saved::new(&source, &target, table);
            Salvage::new(&source, saved, &mut *progress).run(&mut report)?;
        }
        report.lost += source.copy_base(&target, &tables)?;
        Ok(report)
    });
    // The rows are saved already, so that an error of closing the damaged file is ignored.
    let _ = source.close(CloseOptions::default());
    // The result is one file. An error of moving the log into it is one of the salvage.
    let closed = target.close(CloseOptions {
        truncate: saved.is_ok(),
        ..CloseOptions::default()
    });
    let report = saved.and_then(|report| closed.map(|()| report))?;
    part.publish()?;
    Ok(report)
}

fn check_exists(from: &Path) -> Result<()> {
    let Err(error) = fs::metadata(from) else {
        return Ok(());
    };
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    let message = format!("cannot salvage {}", from.display());
    Err(Error::with_source(kind, message, error))
}

/// The error of a read that met damage.
struct Damaged;

/// Saves the rows of a table.
struct Salvage<'s> {
    source: &'s Arc<SqliteBackend>,
    table: &'s Table,
    saved: Saved<'s>,
    progress: OnProgress<'s>,
    /// The snapshot of the last read, if that read met no damage.
    snapshot: Option<Box<dyn Snapshot>>,
    /// The largest row id, approximately: no less than the row id of any row so far.
    last: RowId,
    /// The row id that was reported last, divided by [`REPORT_EVERY`].
    reported: Option<i64>,
    /// The row ids of rows that were read, with a hash of their bytes.
    met: HashMap<RowId, u64>,
    /// The hashes of rows that were given another row id.
    strays: HashSet<u64>,
    /// From this row id on, a row in `met` may have another row id in the file, because the row was
    /// not looked up by the row id itself.
    doubtful_from: RowId,
    /// Row ids of rows that may exist but could not be read.
    unread: HashSet<RowId>,
    /// Row ids of rows that do not decode, with a hash of their bytes.
    undecodable: HashMap<RowId, u64>,
}

impl<'s> Salvage<'s> {
    fn new(source: &'s Arc<SqliteBackend>, saved: Saved<'s>, progress: OnProgress<'s>) -> Self {
        Self {
            source,
            table: saved.table(),
            saved,
            progress,
            snapshot: None,
            last: RowId(0),
            reported: None,
            met: HashMap::new(),
            strays: HashSet::new(),
            doubtful_from: RowId(i64::MAX),
            unread: HashSet::new(),
            undecodable: HashMap::new(),
        }
    }

    fn run(mut self, report: &mut SalvageReport) -> Result<()> {
        // This value is used for the progress only: `sweep` reads it again and returns the error.
        self.last = self.source.last_row_id(self.table).unwrap_or(RowId(0));
        self.reach(RowId(0))?;
        if self.read(Source::RowsAfter(RowId(0)))?.is_err() {
            self.sweep()?;
        }
        // A look-up by row id may find another row than the scan that met damage.
        for row_id in Vec::from_iter(self.unread.iter().copied()) {
            let _ = self.read(Source::RowIds(&[row_id]))?;
        }
        let is_lost = |row_id: &&RowId| !self.undecodable.contains_key(row_id);
        report.lost += self.unread.iter().filter(is_lost).count() as u64;
        self.saved.finish(report)
    }

    /// Reports that a row id was reached, if it is in another part than the last reported one.
    fn reach(&mut self, row_id: RowId) -> Result<()> {
        let part = Some(row_id.0 / REPORT_EVERY);
        // Row ids have gaps.
        if std::mem::replace(&mut self.reported, part) == part {
            return Ok(());
        }
        let reported = (self.progress)(Progress {
            done: row_id.0.unsigned_abs(),
            total: self.last.0.max(row_id.0).unsigned_abs(),
        });
        match reported {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                let name = &self.table.name;
                let message = format!("cannot salvage {name}: the salvage was cancelled");
                Err(Error::new(ErrorKind::Cancelled, message))
            }
        }
    }

    /// Looks up every row id that was not met: if a scan meets damage, the rows after the damage
    /// may be readable by their row ids.
    fn sweep(&mut self) -> Result<()> {
        let given = self.source.last_row_id(self.table)?;
        let (mut next, mut misses) = (RowId(0), 0);
        // The loop goes beyond the last known row id, because the source of that row id may be
        // damaged, too.
        while next < RowId(i64::MAX) {
            next = RowId(next.0 + 1);
            if next <= given.max(self.last) {
                self.reach(next)?;
            }
            if !self.met.contains_key(&next) || next >= self.doubtful_from {
                let outcome = self.read(Source::RowIds(&[next]))?;
                if outcome.is_err() && !self.met.contains_key(&next) {
                    self.unread.insert(next);
                }
                misses += 1;
            }
            if self.met.contains_key(&next) {
                misses = 0;
            } else if misses >= ALONE_MAX {
                next = self.look_far(next)?;
                misses = 0;
            }
        }
        // Any number of rows may have been lost after the last known row; they are counted as one.
        let end = RowId(given.max(self.last).0.saturating_add(1));
        self.unread.retain(|row_id| *row_id <= end);
        Ok(())
    }

    /// The row id before the next readable row, or the largest possible row id if there is none. It
    /// searches in growing steps, because many neighbouring rows may be lost.
    fn look_far(&self, from: RowId) -> Result<RowId> {
        // Order: the search starts one row id lower, because the next row may have the next row id.
        let (mut bad, mut step) = (from.0 - 1, 1_i64);
        let (mut good, mut found) = loop {
            let probe = bad.saturating_add(step);
            if probe == i64::MAX {
                return Ok(RowId(probe));
            }
            if let Some(row_id) = self.first_after(RowId(probe))? {
                break (probe, row_id);
            }
            (bad, step) = (probe, step.saturating_mul(2));
        };
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            match self.first_after(RowId(middle))? {
                Some(row_id) => (good, found) = (middle, row_id),
                None => bad = middle,
            }
        }
        Ok(RowId(found.0 - 1))
    }

    /// The next row after a row id, or the largest possible row id if there is none; `None` if
    /// damage comes first.
    fn first_after(&self, after: RowId) -> Result<Option<RowId>> {
        let mut snapshot = Arc::clone(self.source).snapshot(View::Latest)?;
        let plan = ScanPlan {
            table: self.table,
            source: Source::RowsAfter(after),
            payload: true,
        };
        let mut found = RowId(i64::MAX);
        let scanned = snapshot.scan(&plan, &mut |row| {
            found = row.row_id;
            ControlFlow::Break(())
        });
        match scanned {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            scanned => scanned.map(|()| Some(found).filter(|found| *found > after)),
        }
    }

    /// Reads rows in ascending order. The inner error says that reading met damage.
    fn read(&mut self, source: Source<'_>) -> Result<std::result::Result<(), Damaged>> {
        let mut snapshot = match self.snapshot.take() {
            Some(snapshot) => snapshot,
            None => Arc::clone(self.source).snapshot(View::Pinned)?,
        };
        let plan = ScanPlan {
            table: self.table,
            source,
            payload: true,
        };
        let (mut reached, mut in_order, mut known) = (RowId(0), true, 0);
        let mut written = Ok(());
        let mut visit = |row: Row<'_>| {
            known = if self.keep(&row) { 0 } else { known + 1 };
            if row.row_id <= reached {
                // Damage may lead to other pages, or give a row the row id of another row.
                in_order = false;
                self.doubtful_from = self.doubtful_from.min(row.row_id);
            }
            reached = row.row_id;
            if known > ALONE_MAX {
                // Damaged pages may also form a cycle.
                return ControlFlow::Break(());
            }
            written = self.saved.write_if_many();
            if written.is_ok() {
                written = self.reach(reached.max(RowId(0)));
            }
            match &written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        let scanned = snapshot.scan(&plan, &mut visit);
        written?;
        if scanned.is_ok() {
            self.snapshot = Some(snapshot);
        }
        match scanned {
            Ok(()) if !in_order => Ok(Err(Damaged)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                if reached > RowId(0) {
                    // No later row shows whether this row was in order.
                    self.doubtful_from = self.doubtful_from.min(reached);
                }
                Ok(Err(Damaged))
            }
            scanned => scanned.map(Ok),
        }
    }

    /// Keeps a row to be written, or adds it to `dflat__unreadable` if it does not decode. Returns
    /// false if the row is known already.
    fn keep(&mut self, row: &Row<'_>) -> bool {
        let row_id = row.row_id;
        let mut hasher = DefaultHasher::new();
        row.payload.hash(&mut hasher);
        let hash = hasher.finish();
        self.last = self.last.max(row_id);
        let met = self.met.get(&row_id);
        if met == Some(&hash) {
            return false;
        }
        let is_free = met.is_none() && row_id > RowId(0);
        let derived = match derive(self.table, row.payload) {
            Ok(derived) => derived,
            Err(error) => {
                // A look-up by row id may find another row.
                let is_new = is_free && self.unread.insert(row_id);
                if self.undecodable.insert(row_id, hash) != Some(hash) {
                    self.saved
                        .put_unreadable(row_id, error.to_string(), row.payload);
                }
                return is_new;
            }
        };
        let place = if is_free {
            Some(row_id)
        } else {
            // No other row will be read with the row id chosen here.
            let next = self.last.0.checked_add(1).map(RowId);
            next.filter(|_| self.strays.insert(hash))
        };
        let Some(place) = place else {
            return false;
        };
        self.saved.put(SavedRow {
            found: row_id,
            row_id: place,
            payload: row.payload.to_vec(),
            derived,
        });
        self.met.insert(place, hash);
        self.last = self.last.max(place);
        self.unread.remove(&row_id);
        true
    }
}
