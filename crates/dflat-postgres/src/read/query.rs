//! The query of a scan. All queries have three columns: the row id, the payload, and the key.

use std::fmt::Write as _;

use dflat_engine::storage::{Key, KeyScan};
use dflat_model::{Direction, RowId};

use crate::layout::{KEY_MAX, Range, StoredTable};

/// The columns that a scan needs, beside row ids.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The payload.
    pub(super) payload: bool,
    /// The whole key of each row. Otherwise only keys that may be cut are read.
    pub(super) key: bool,
}

/// A range of a key, as a query.
pub(super) struct RangeQuery {
    pub(super) text: String,
    pub(super) range: Range,
    /// The row id above which rows are read.
    pub(super) after: i64,
    pub(super) is_descending: bool,
}

impl RangeQuery {
    /// The query of a scan; `None` if its index is not stored.
    pub(super) fn new(
        stored: &StoredTable,
        indexes: &[dflat_model::IndexDescriptor],
        scan: &KeyScan<'_>,
        wanted: Wanted,
    ) -> Option<Self> {
        let range = Range::of(scan);
        let is_descending = scan.direction == Direction::Descending;
        let direction = if is_descending { "DESC" } else { "ASC" };
        let main = &stored.relation;
        let key = key_column(wanted.key);
        let mut text = match scan.key {
            Key::Primary => {
                let payload = if wanted.payload { "k.p" } else { "NULL::bytea" };
                format!("SELECT k.rowid, {payload}, {key} FROM {main} k WHERE ")
            }
            Key::Index(position) => {
                let index = &stored.index(indexes.get(position)?)?.relation;
                if wanted.payload {
                    format!(
                        "SELECT k.rowid, m.p, {key} FROM {index} k \
                         JOIN {main} m ON m.rowid = k.rowid WHERE "
                    )
                } else {
                    format!("SELECT k.rowid, NULL::bytea, {key} FROM {index} k WHERE ")
                }
            }
        };
        let operator = range.upper_operator();
        // Writing to a string cannot fail.
        let _ = write!(text, "k.key >= $1::bytea AND k.key {operator} $2::bytea");
        let _ = match scan.after {
            Some(_) => write!(text, " AND k.rowid > $3::bigint"),
            None => write!(text, " AND $3::bigint IS NOT NULL"),
        };
        let second = match scan.key {
            Key::Primary => "tie",
            Key::Index(_) => "rowid",
        };
        let _ = write!(text, " ORDER BY k.key {direction}, k.{second}");
        Some(Self {
            text,
            range,
            after: scan.after.map_or(0, |RowId(after)| after),
            is_descending,
        })
    }
}

/// The third column: the whole key, of all rows or of those whose key may be cut.
fn key_column(is_wanted: bool) -> String {
    let whole = "k.key || coalesce(k.rest, ''::bytea)";
    if is_wanted {
        whole.to_owned()
    } else {
        format!("CASE WHEN length(k.key) = {KEY_MAX} THEN {whole} END")
    }
}

/// The query of all rows above a row id.
pub(super) fn rows_after(stored: &StoredTable, payload: bool) -> String {
    let payload = if payload { "p" } else { "NULL::bytea" };
    format!(
        "SELECT rowid, {payload}, NULL::bytea FROM {} WHERE rowid > $1::bigint ORDER BY rowid",
        stored.relation
    )
}

/// The query of rows by their ids, in any order.
pub(super) fn rows_by_id(stored: &StoredTable, payload: bool) -> String {
    let payload = if payload { "p" } else { "NULL::bytea" };
    format!(
        "SELECT rowid, {payload}, NULL::bytea FROM {} WHERE rowid = ANY ($1::bigint[])",
        stored.relation
    )
}

/// The query of the row with a key that has no NULL.
pub(super) fn row_by_key(stored: &StoredTable, payload: bool) -> String {
    let payload = if payload { "k.p" } else { "NULL::bytea" };
    format!(
        "SELECT k.rowid, {payload}, {} FROM {} k WHERE k.key = $1::bytea AND k.tie = $2::bytea",
        key_column(false),
        stored.relation
    )
}

/// The query of the rows with keys that have no NULL. It has one more column than others: the
/// position of the key, counted from 1.
pub(super) fn rows_by_keys(stored: &StoredTable) -> String {
    format!(
        "SELECT k.rowid, k.p, NULL::bytea, v.n \
         FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS v(key, tie, n) \
         JOIN {} k ON k.key = v.key AND k.tie = v.tie",
        stored.relation
    )
}
