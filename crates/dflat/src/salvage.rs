//! Saving what can be read of a damaged file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::callback;
use dflat_engine::storage::{
    Backend, CloseOptions, EntryValues, IndexEntry, Row, RowWrite, ScanPlan, Source, View,
    WriteError,
};
use dflat_engine::transaction::{Derived, derive};
use dflat_model::{RowId, Table, ValueRef};
use dflat_sqlite::{Progress, SqliteBackend, SqliteOptions};

use crate::check::with_dictionary;
use crate::maintenance::{Tell, with_progress};
use crate::{Error, ErrorKind, Result, Workspace};

/// How many row ids are looked up in turn where pages are damaged, and how many rows that are known
/// are read in turn.
const ALONE_MAX: usize = 1000;

/// The rows of a transaction that saves them.
const ROWS_MAX: usize = 1000;

/// It is told how far it has come where this many row ids end.
const TELL_EVERY: i64 = 256;

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
    /// Saves what can be read of these types, and of the dictionary, from a damaged file into a new
    /// one, which must not exist. Objects keep their row ids, unless damage shows several with the
    /// same one; indexes are built anew. The damaged file may not be open. It is not changed, and
    /// nothing is written beside it, unless a rollback journal is there: what that holds is taken
    /// back first.
    ///
    /// # Errors
    /// - [`NotADatabase`](ErrorKind::NotADatabase) or [`Corrupt`](ErrorKind::Corrupt) if not even
    ///   the list of the tables can be read.
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if there is something at `to`, or the log
    ///   or journal of an earlier file beside it.
    /// - Else as reading the one and writing the other can fail. Nothing is left of the new file
    ///   then.
    pub fn salvage(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        types: impl IntoIterator<Item = Table>,
    ) -> Result<SalvageReport> {
        Self::salvage_with(from, to, types, |_| ControlFlow::Continue(()))
    }

    /// Saves as [`salvage`](Self::salvage) does. `progress` is told, on this thread, which row id
    /// of the type at hand was reached, and about which is the last; where damage is met, it
    /// begins again. If it breaks, all is given up. It is a callback: what waits, as for a
    /// shutdown, is refused inside.
    ///
    /// # Errors
    /// As [`salvage`](Self::salvage); [`Cancelled`](ErrorKind::Cancelled) if `progress` breaks,
    /// and [`Panicked`](ErrorKind::Panicked) if it panics.
    pub fn salvage_with(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        types: impl IntoIterator<Item = Table>,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<SalvageReport> {
        callback::forbid_blocking("salvage")?;
        let to = to.as_ref();
        if let Some(by) = dflat_sqlite::in_the_way(to) {
            let (to, by) = (to.display(), by.display());
            let message = format!("cannot salvage into {to}: there is a {by}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let source = SqliteBackend::open(from.as_ref(), source_options(from.as_ref()))?;
        let target = SqliteBackend::open(to, SqliteOptions::default())?;
        let mut report = SalvageReport::default();
        let tables = with_dictionary(types);
        let saved = with_progress("salvage", &mut progress, |tell| {
            tables.iter().try_for_each(|table| {
                Salvage::new(&source, &target, table, &mut *tell).run(&mut report)
            })
        });
        // What was read is what counts.
        let _ = source.close(CloseOptions::default());
        let closed = target.close(CloseOptions::default());
        let saved = saved.and(closed);
        if saved.is_err() {
            // A part would pass for all there was. What can't be deleted is in the way next time.
            while let Some(part) = dflat_sqlite::in_the_way(to) {
                if fs::remove_file(part).is_err() {
                    break;
                }
            }
        }
        saved.map(|()| report)
    }
}

/// Nothing is written to the source, nor beside it, unless a rollback journal says that a
/// transaction was not finished, which only who writes can take back.
fn source_options(from: &Path) -> SqliteOptions {
    let mut journal = from.as_os_str().to_owned();
    journal.push("-journal");
    SqliteOptions {
        read_only: !fs::metadata(journal).is_ok_and(|journal| journal.len() > 0),
        ..SqliteOptions::default()
    }
}

/// Reading met damage.
struct Damaged;

/// Saves the rows of a table.
struct Salvage<'s> {
    source: &'s Arc<SqliteBackend>,
    target: &'s Arc<SqliteBackend>,
    table: &'s Table,
    tell: Tell<'s>,
    /// About the largest row id; at least that of any row so far.
    last: RowId,
    /// Where it was told, in [`TELL_EVERY`] row ids.
    told: Option<i64>,
    /// The rows that were read, and a hash of their bytes.
    met: HashMap<RowId, u64>,
    /// The hashes of those that were given another row id.
    strays: HashSet<u64>,
    /// From here on a row that was met may not be the one with that row id, which was not read
    /// then.
    doubtful_from: RowId,
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
        tell: Tell<'s>,
    ) -> Self {
        Self {
            source,
            target,
            table,
            tell,
            last: RowId(0),
            told: None,
            met: HashMap::new(),
            strays: HashSet::new(),
            doubtful_from: RowId(i64::MAX),
            unreadable: HashSet::new(),
            rows: Vec::new(),
        }
    }

    fn run(mut self, report: &mut SalvageReport) -> Result<()> {
        // Only told: where it is needed, an error is one.
        self.last = self.source.last_row_id(self.table).unwrap_or(RowId(0));
        self.reach(RowId(0))?;
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

    /// Tells that a row id was reached, if it is far from the last one that was told.
    fn reach(&mut self, row_id: RowId) -> Result<()> {
        let part = Some(row_id.0 / TELL_EVERY);
        // Not every row id is there.
        if std::mem::replace(&mut self.told, part) == part {
            return Ok(());
        }
        let told = (self.tell)(Progress {
            done: row_id.0.unsigned_abs(),
            total: self.last.0.max(row_id.0).unsigned_abs(),
        });
        match told {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                let name = &self.table.name;
                let message = format!("cannot salvage {name}: it was cancelled");
                Err(Error::new(ErrorKind::Cancelled, message))
            }
        }
    }

    /// Looks up every row id that was not met: where reading one row after the other meets damage,
    /// those behind it may lie elsewhere.
    fn sweep(&mut self, report: &mut SalvageReport) -> Result<()> {
        let last = self.source.last_row_id(self.table)?;
        let (mut next, mut misses) = (RowId(0), 0);
        while next < last {
            next = RowId(next.0 + 1);
            self.reach(next)?;
            if !self.met.contains_key(&next) || next >= self.doubtful_from {
                let outcome = self.read(Source::RowIds(&[next]), report)?;
                if outcome.is_err() && !self.met.contains_key(&next) {
                    self.unreadable.insert(next);
                }
                misses += 1;
            }
            if self.met.contains_key(&next) {
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
        let (mut reached, mut in_order, mut known) = (RowId(0), true, 0);
        let mut written = Ok(());
        let mut visit = |row: Row<'_>| {
            known = if self.keep(&row) { 0 } else { known + 1 };
            if row.row_id <= reached {
                // Damage may lead elsewhere, or have given a row the id of another.
                in_order = false;
                self.doubtful_from = self.doubtful_from.min(row.row_id);
            }
            reached = row.row_id;
            if known > ALONE_MAX {
                // It may lead in a circle, too.
                return ControlFlow::Break(());
            }
            if self.rows.len() >= ROWS_MAX {
                written = self.write(report);
            }
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
        match scanned {
            Ok(()) if !in_order => Ok(Err(Damaged)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                if reached > RowId(0) {
                    // Nothing has come behind it that would have told.
                    self.doubtful_from = self.doubtful_from.min(reached);
                }
                Ok(Err(Damaged))
            }
            scanned => scanned.map(Ok),
        }
    }

    /// Keeps a row to be written, unless it can't be read; false if all that is known already.
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
        let Ok(derived) = derive(self.table, row.payload) else {
            return is_free && self.unreadable.insert(row_id);
        };
        let place = if is_free {
            Some(row_id)
        } else {
            // No other row will be read with that.
            let next = self.last.0.checked_add(1).map(RowId);
            next.filter(|_| self.strays.insert(hash))
        };
        let Some(place) = place else {
            return false;
        };
        self.rows.push((place, row.payload.to_vec(), derived));
        self.met.insert(place, hash);
        self.last = self.last.max(place);
        self.unreadable.remove(&row_id);
        true
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
                .filter_map(|(index, values)| {
                    let values = EntryValues::from(values.as_deref()?);
                    Some(IndexEntry { index, values })
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
