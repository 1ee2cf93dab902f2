//! Scans: the rows of a plan, a number of them at a time.

use std::collections::HashMap;
use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{Key, KeyScan, ScanPlan, Source};
use dflat_model::{Field, RowId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::lend::{Lender, Visit};
use super::query::{RangeQuery, Wanted, row_by_key, rows_after, rows_by_id};
use crate::failure::failed;
use crate::layout::{StoredKey, StoredTable};
use crate::server::{Connection, FETCHES};

/// Rows are fetched by a larger number at once only if as many rows of the size so far have at most
/// this many bytes. A scan that ends early has the server send few bytes in vain.
const FETCH_BYTES: usize = 1 << 20;

/// The most row ids of one query.
const IDS_MAX: usize = 256;

/// Whether a transaction is open on the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is, and stays open.
    Open,
    /// It is not: a scan of one statement needs none, and any other scan opens one.
    Closed,
}

/// The statement that opens a transaction that reads.
pub(crate) const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A scan that failed.
pub(crate) struct ScanFailure {
    pub(crate) error: dflat_engine::Error,
    /// Whether another connection may succeed, because no row was lent and this one has ended.
    pub(crate) may_retry: bool,
    /// Whether a table of an index was removed.
    pub(crate) is_removed: bool,
    /// Whether the server's transaction has ended with it.
    pub(crate) ends_transaction: bool,
}

/// A scan under way.
struct Scan<'a, 'v> {
    connection: &'a mut Connection,
    access: Access,
    plan: &'a ScanPlan<'a>,
    lender: Lender<'a, 'v>,
}

/// Calls `visit` with each row of a plan.
pub(crate) fn scan(
    connection: &mut Connection,
    access: Access,
    stored: &StoredTable,
    plan: &ScanPlan<'_>,
    visit: Visit<'_>,
) -> std::result::Result<(), ScanFailure> {
    let mut range = None;
    let mut fields = None;
    let exact: Vec<dflat_model::Value>;
    let scan = match &plan.source {
        Source::Key(scan) => Some(scan.clone()),
        Source::Entries(scan) => {
            fields = Some(fields_of(plan, scan.key));
            Some(scan.clone())
        }
        Source::PrimaryKey(parts) if parts.iter().any(|part| part.is_null()) => {
            exact = parts.iter().map(|part| part.to_value()).collect();
            Some(KeyScan {
                key: Key::Primary,
                prefix: &exact,
                lower: std::ops::Bound::Unbounded,
                upper: std::ops::Bound::Unbounded,
                direction: dflat_model::Direction::Ascending,
                after: None,
            })
        }
        _ => None,
    };
    if let Some(scan) = &scan {
        let wanted = Wanted {
            payload: plan.payload && fields.is_none(),
            key: fields.is_some(),
        };
        // An index that is not stored has no rows. The engine scans none that is not ready.
        let Some(query) = RangeQuery::new(stored, &plan.table.indexes, scan, wanted) else {
            return Ok(());
        };
        range = Some(query);
    }
    let mut lender = Lender::new(visit, fields);
    if let Some(query) = &range {
        lender = lender.of_range(&query.range, query.is_descending);
    }
    let mut scan = Scan {
        connection,
        access,
        plan,
        lender,
    };
    let mut is_removed = false;
    let mut is_disconnected = false;
    let mut ends_transaction = false;
    let scanned = scan.run(stored, range.as_ref(), &mut |error| {
        ends_transaction = true;
        is_removed |= crate::failure::is_removed_table(error);
        is_disconnected |= crate::failure::is_disconnected(error);
    });
    scanned.map_err(|error| ScanFailure {
        error,
        may_retry: is_disconnected && !scan.lender.has_lent,
        is_removed,
        ends_transaction,
    })
}

/// The fields of a key.
fn fields_of<'a>(plan: &ScanPlan<'a>, key: Key) -> &'a [Field] {
    match key {
        Key::Primary => &plan.table.primary_key,
        Key::Index(position) => {
            let index = plan.table.indexes.get(position);
            index.map_or(&[], |index| &index.fields)
        }
    }
}

type Note<'n> = &'n mut dyn FnMut(&tokio_postgres::Error);

impl Scan<'_, '_> {
    fn run(
        &mut self,
        stored: &StoredTable,
        range: Option<&RangeQuery>,
        note: Note<'_>,
    ) -> Result<()> {
        let payload = self.plan.payload;
        if let Some(query) = range {
            let (from, to) = (query.range.from(), query.range.to());
            return self.cursor(&query.text, &[&from, &to, &query.after], note);
        }
        match &self.plan.source {
            Source::Rows => self.cursor(&rows_after(stored, payload), &[&0_i64], note),
            Source::RowsAfter(RowId(after)) => {
                self.cursor(&rows_after(stored, payload), &[after], note)
            }
            Source::RowIds(ids) => self.by_ids(&rows_by_id(stored, payload), ids, note),
            Source::PrimaryKey(parts) => {
                let key = StoredKey::new(parts);
                let tie = key.tie(RowId(0));
                let params: [&(dyn ToSql + Sync); 2] = [&key.key(), &tie];
                let rows = self.connection.query(&row_by_key(stored, payload), &params);
                let rows = self.answer(rows, note)?;
                self.lend_all(rows)
            }
            Source::Key(_) | Source::Entries(_) => Ok(()),
        }
    }

    fn lend_all(&mut self, rows: Vec<Row>) -> Result<()> {
        if self.lender.take(rows)?.is_continue() {
            let _ = self.lender.finish()?;
        }
        Ok(())
    }

    fn answer<T>(
        &self,
        answer: std::result::Result<T, tokio_postgres::Error>,
        note: Note<'_>,
    ) -> Result<T> {
        answer.map_err(|error| {
            note(&error);
            failed(format_args!("read {}", self.plan.table.type_name), error)
        })
    }

    /// Lends the rows of a query, through a cursor.
    fn cursor(
        &mut self,
        query: &str,
        params: &[&(dyn ToSql + Sync)],
        note: Note<'_>,
    ) -> Result<()> {
        let begin = match self.access {
            Access::Open => "",
            Access::Closed => BEGIN_READ,
        };
        let rows = self.connection.open_cursor(begin, query, params);
        let lent = self
            .answer(rows, note)
            .and_then(|rows| self.lend_from_cursor(rows, note));
        // The answer is not waited for: the next statement comes after it.
        self.connection.send(match self.access {
            Access::Open => "CLOSE c",
            Access::Closed => "ROLLBACK",
        });
        lent
    }

    fn lend_from_cursor(&mut self, first: Vec<Row>, note: Note<'_>) -> Result<()> {
        let mut count = first.len();
        let mut bytes: usize = first.iter().map(Row::raw_size_bytes).sum();
        let mut lent = self.lender.take(first);
        let mut step = 0;
        while lent?.is_continue() {
            if count < FETCHES[step].0 {
                let _ = self.lender.finish()?;
                return Ok(());
            }
            step = next_step(step, bytes / count.max(1));
            (count, bytes) = (0, 0);
            lent = Ok(ControlFlow::Continue(()));
            let fetched = self.connection.fetch_each(FETCHES[step].1, &mut |row| {
                count += 1;
                bytes += row.raw_size_bytes();
                lent = self.lender.take_one(row);
                match lent {
                    Ok(lent) => lent,
                    Err(_) => ControlFlow::Break(()),
                }
            });
            self.answer(fetched, note)?;
        }
        Ok(())
    }

    /// Lends rows by their ids, in the order of the ids.
    fn by_ids(&mut self, query: &str, ids: &[RowId], note: Note<'_>) -> Result<()> {
        // All rows are of one state, so several queries need a transaction.
        let opens = self.access == Access::Closed && ids.len() > IDS_MAX;
        if opens {
            let begun = self.connection.batch(BEGIN_READ);
            self.answer(begun, note)?;
        }
        let mut lent = Ok(ControlFlow::Continue(()));
        for ids in ids.chunks(IDS_MAX) {
            lent = self.lend_by_ids(query, ids, note);
            if !matches!(lent, Ok(ControlFlow::Continue(()))) {
                break;
            }
        }
        if opens {
            self.connection.send("ROLLBACK");
        }
        lent.map(drop)
    }

    fn lend_by_ids(
        &mut self,
        query: &str,
        ids: &[RowId],
        note: Note<'_>,
    ) -> Result<ControlFlow<()>> {
        let numbers: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let rows = self.connection.query(query, &[&numbers]);
        let rows = self.answer(rows, note)?;
        if let [_] = ids {
            return self.lender.take(rows);
        }
        let by_id = rows.into_iter().map(|row| {
            let id: i64 = row.try_get(0).unwrap_or(0);
            (id, row)
        });
        let mut by_id: HashMap<i64, Row> = by_id.collect();
        let ordered = numbers.iter().filter_map(|id| by_id.remove(id));
        self.lender.take(ordered.collect())
    }
}

/// The next number of rows to fetch, for rows of a size.
fn next_step(step: usize, row_bytes: usize) -> usize {
    let next = (step + 1).min(FETCHES.len() - 1);
    let mut fitting = (0..=next).rev();
    let fits = |step: &usize| FETCHES[*step].0.saturating_mul(row_bytes) <= FETCH_BYTES;
    fitting.find(fits).unwrap_or(0)
}
